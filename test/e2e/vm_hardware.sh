#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hardware events on a processor that has them: an emulated arm64 one, whose instructions can be counted by hand.
# The programs are built for it here.
# timeout 900
# alone
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$(test/vm/run possible --arm64) || skip_all "$why"
test/vm/sysroot build "$BUILD/arm64" ceemsd ceems-opener known_loop >"$SCRATCH/build" 2>&1
is "ceemsd and its opener can be built for arm64" "$? $(grep -c error "$SCRATCH/build")" "0 0"
sed 's/^/# /' "$SCRATCH/build" | grep -i 'error\|warning' | head -20
BUILD=$BUILD/arm64 vm_guest "arm64" --arm64 -- test/vm/hardware_guest.sh
tap_done
