#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_arm64.sh: unit tests that need a kernel of their own processor's.
#   emulated_guest.sh TEST...
. "$(dirname "$0")/../tap.sh"
for t; do
	ok "$t passes" eval 'CMOCKA_MESSAGE_OUTPUT=TAP "$BUILD/test/$t" >"$SCRATCH/$t" 2>&1' || sed 's/^/# /' "$SCRATCH/$t"
done
tap_done
