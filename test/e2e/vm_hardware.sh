#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hardware events on a processor that has them: an emulated arm64 one, whose instructions can be counted by hand.
# The programs are built for it here.
# timeout 1500
# alone
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
command -v jq >/dev/null || skip_all "jq is not installed"
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$(test/vm/run possible --arm64) || skip_all "$why"
test/vm/sysroot build arm64 "$BUILD/arm64" ceemsd ceems-opener known_loop >"$SCRATCH/build" 2>&1
is "ceemsd and its opener can be built for arm64" "$? $(grep -c error "$SCRATCH/build")" "0 0"
sed 's/^/# /' "$SCRATCH/build" | grep -i 'error\|warning' | head -20
host=$BUILD
BUILD=$BUILD/arm64 vm_guest "arm64" --arm64 -- test/vm/hardware_guest.sh
if [ -s "$SCRATCH/out" ]; then
	sed -n 's/^# spool //p' "$SCRATCH/out" | base64 -d | tar xz -C "$SCRATCH"
	"$host/ceems_tool" spool "$SCRATCH/spool" >"$SCRATCH/records"
	final() { jq -sc "[.[] | select(.kind == \"final\")][-1].counts | $1" "$SCRATCH/records"; }
	is "the final report has its instructions" "$(final .instructions)" "$(sed -n 's/^# counted //p' "$SCRATCH/out")"
	is "and no event that the processor does not have" "$(final '[has("cpu_cycles", "branches", "llc_reads", "cache_misses")]')" "[true,false,false,false]"
	ok "it was covered in part of its CPU time" [ "$(final '.events_running_ns > 0 and .events_running_ns < .events_enabled_ns')" = true ]
fi
tap_done
