#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# faults.sh for an hour, with a thousand jobs.
# timeout 5400
FAULTS_SECONDS=3600 exec "$(dirname "$0")/faults.sh"
