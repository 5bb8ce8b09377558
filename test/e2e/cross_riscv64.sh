#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 3600
# cross.sh for riscv64.
exec "$(dirname "$0")/cross.sh" riscv64
