#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_federation.sh in Slurm 24.11, from the Debian 13 chroot.
exec "$(dirname "$0")/slurm_federation.sh" 24.11
