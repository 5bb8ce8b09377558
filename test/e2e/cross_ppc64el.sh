#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 3600
# cross.sh for ppc64el.
exec "$(dirname "$0")/cross.sh" ppc64el
