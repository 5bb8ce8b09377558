#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm 24.11 on cgroup v2 with every controller, in a virtual machine: jobs, their records
# and their metrics (test/vm/cgroup2_guest.sh). Debian's own Slurm on cgroup v2, too.
# timeout 2000
# alone
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh

vm "24.11" 24.11
if [ "${CHECK_LONG:-0}" = 1 ]; then
	vm "this machine's" --host "$(slurmd -V 2>/dev/null | sed 's/.* \([0-9]*\.[0-9]*\)\..*/\1/')"
fi
tap_done
