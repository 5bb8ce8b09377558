#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2400
# alone
# first_job.sh on Debian 13, with the packages of this Debian and Slurm 24.11.
exec "$(dirname "$0")/first_job.sh" trixie
