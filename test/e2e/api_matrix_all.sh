#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# api_matrix.sh with any two parameters of each endpoint and any three that say of whom.
# timeout 1800
exec "$(dirname "$0")/api_matrix.sh" all
