#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cacct_slurm.sh in Slurm 24.11, from the Debian 13 chroot.
exec "$(dirname "$0")/cacct_slurm.sh" 24.11
