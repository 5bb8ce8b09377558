#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CgroupSlice= (Slurm 25.11) in a real Slurm on cgroup v2, in a virtual machine: jobs of a slurmd below
# another slice than system.slice, by their records and found without one. Needs such a Slurm in PATH
# (Debian has none) and its plugins (make SLURM_SRC=).
# timeout 1500
# alone
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/vm/lines.sh
version=$(rig_version 2>/dev/null)
case $version in
'') skip_all "no Slurm is installed here" ;;
2[0-4].* | 25.05) skip_all "Slurm $version does not know CgroupSlice: needs 25.11 or later in PATH" ;;
esac
slice=hpc.slice
vm "$version below $slice" --host "$version"
tap_done
