#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The ring protocol, model checked: all interleavings of the sizes below, and then the
# model without each of the things that make it right, which must give a counterexample.
. "$(dirname "$0")/../tap.sh"

command -v spin >/dev/null || skip_all "spin is not installed (apt install spin)"
model=$TOP/test/model/ring.pml
free_mb=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
[ "$free_mb" -ge 1500 ] || skip_all "needs 1500 MB of free memory"

# check DEFINES...: runs the verifier; its report is left in $report
check() {
	local dir
	dir=$(mktemp -d "$SCRATCH/spin.XXXXXX")
	report=$dir/report
	(cd "$dir" && spin -a "$@" "$model" &&
		gcc -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=1400 -o pan pan.c &&
		./pan -m20000) >"$report" 2>&1
}
holds() {
	check "$@"
	sed -n 's/^ *\([0-9]*\) states, stored.*/# states: \1/p; s/^pan: elapsed time/# time:/p' "$report"
	grep -q 'errors: 0$' "$report" &&
		! grep -Eq 'out of memory|max search depth|reached -DMEMLIM' "$report" ||
		{ sed 's/^/# /' "$report" | grep -v Depth=; return 1; }
}
# fails WHAT DEFINES...: the verifier must find that WHAT (a part of an assertion) fails
fails() {
	local what=$1
	shift
	check "$@"
	grep -E '^pan:1: ' "$report" | sed 's/^/# /'
	grep -E '^pan:1: assertion violated' "$report" | grep -qF "$what" ||
		{ sed 's/^/# /' "$report" | grep -v Depth=; return 1; }
}

ok "2 producers, 2 records each, 2 slots, 1 death, 1 restart of the consumer" \
	holds -DPRODUCERS=2 -DRECORDS=2 -DSLOTS=2 -DDEATHS=1 -DRESTARTS=1
ok "3 producers, 1 record each, 2 slots, 1 death" \
	holds -DPRODUCERS=3 -DRECORDS=1 -DSLOTS=2 -DDEATHS=1 -DRESTARTS=0
ok "1 producer, 5 records, 2 slots: laps, 1 death, 2 restarts" \
	holds -DPRODUCERS=1 -DRECORDS=5 -DSLOTS=2 -DDEATHS=1 -DRESTARTS=2
if [ "${CHECK_LONG:-0}" = 1 ]; then
	ok "3 producers, 1 record each, 2 slots, 1 death, 1 restart of the consumer" \
		holds -DPRODUCERS=3 -DRECORDS=1 -DSLOTS=2 -DDEATHS=1 -DRESTARTS=1
	ok "2 producers, 3 records each, 2 slots" \
		holds -DPRODUCERS=2 -DRECORDS=3 -DSLOTS=2 -DDEATHS=1 -DRESTARTS=1
	ok "2 producers, 2 records each, 4 slots, 2 deaths, 2 restarts" \
		holds -DPRODUCERS=2 -DRECORDS=2 -DSLOTS=4 -DDEATHS=2 -DRESTARTS=2
fi

ok "skipping by time-out lets two write one slot" \
	fails 'writer[' -DBREAK_SKIP_BY_TIMEOUT
ok "reserving without compare-and-swap gives a slot to two" \
	fails '' -DBREAK_PLAIN_RESERVE
ok "skipping without compare-and-swap loses a published record" \
	fails 'consumed[i]==published[i]' -DBREAK_PLAIN_SKIP
ok "moving tail before the slot is freed jams the ring" \
	fails 'l>=(pos' -DBREAK_TAIL_FIRST
ok "an effect that does not remember its position happens twice" \
	fails 'consumed[d]==0' -DBREAK_EFFECT_WITHOUT_POSITION
ok "releasing before the effect loses a record" \
	fails 'consumed[i]==published[i]' -DBREAK_RELEASE_BEFORE_EFFECT
ok "without helping, a dead producer holds up the others" \
	fails 'head>pos' -DBREAK_NO_HELP
tap_done
