#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check_slurm_rig.sh in Slurm 24.11, from the Debian 13 chroot.
exec "$(dirname "$0")/check_slurm_rig.sh" 24.11
