#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same as faults.sh for an hour: thousands of jobs, each part killed hundreds of times,
# slurmctld among running jobs.
# timeout 4300
LETTERS=${LETTERS:-PADcCS} JOBS=${JOBS:-4000} FAULT_S=${FAULT_S:-3600} exec "$(dirname "$0")/faults.sh"
