#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test/run itself: a runner that counts a crash, a time-out or a missing plan as success
# would make every other test worthless.
. "$(dirname "$0")/../tap.sh"

fake() { # name, text of the script's body
	printf '#!/bin/bash\n%s\n' "$2" >"$SCRATCH/$1"
	chmod +x "$SCRATCH/$1"
}
fake good 'echo ok 1 - a; echo "ok 2 - b # SKIP no root"; echo 1..2'
fake fails 'echo ok 1 - a; echo not ok 2 - b; echo 1..2; exit 1'
fake crashes 'echo 1..1; echo ok 1 - a; kill -SEGV $$'
fake silent 'exit 0'
fake short 'echo 1..3; echo ok 1 - a'
fake slow $'# timeout 1\necho ok 1 - a; echo 1..1; sleep 60'
fake skips 'echo "1..0 # SKIP no network"'
fake quiet_failure 'echo ok 1 - a; echo 1..1; exit 3'

run() { # name...: the last line
	local args=() n
	for n in "$@"; do args+=("$SCRATCH/$n"); done
	BUILD=$SCRATCH/b test/run "${args[@]}" >"$SCRATCH/out" 2>&1
	rc=$?
	last=$(tail -1 "$SCRATCH/out")
}

run good
is "passes and skips are counted" "$last $rc" "1 passed, 0 failed, 1 skipped 0"
run good fails
is "a failed test is counted and ends in status 1" "$last $rc" "2 passed, 1 failed, 1 skipped 1"
run crashes
is "a crash after the last test is a failure" "$last $rc" "1 passed, 1 failed, 0 skipped 1"
run silent
is "a program that prints no plan is a failure" "$last $rc" "0 passed, 1 failed, 0 skipped 1"
run short
is "fewer tests than planned are a failure" "$last $rc" "1 passed, 1 failed, 0 skipped 1"
run slow
is "a program over its time is a failure" "$last $rc" "1 passed, 1 failed, 0 skipped 1"
run quiet_failure
is "an exit status without a failed test is a failure" "$last $rc" "1 passed, 1 failed, 0 skipped 1"
run good skips
is "a whole program can be skipped" "$last $rc" "1 passed, 0 failed, 2 skipped 0"
like "the reason of a skip is shown" "$(cat "$SCRATCH/out")" "no network"
run skips
is "nothing but skips is no success" "$rc" 1

# who runs beside whom: scripts wait, and overlap; what is busy does not; who is alone is alone
mark='echo "begin $(basename "$0")" >>"$MARKS"; sleep 0.3; echo "end $(basename "$0")" >>"$MARKS"; echo ok 1 - a; echo 1..1'
for n in waits1 waits2; do fake $n "$mark"; done
for n in busy1 busy2; do fake $n "# busy"$'\n'"$mark"; done
fake lonely "# alone"$'\n'"$mark"
together() { # name...: who began and ended, in this order
	: >"$SCRATCH/marks"
	MARKS=$SCRATCH/marks TEST_JOBS=1 run "$@"
	paste -sd' ' "$SCRATCH/marks"
}
like "two scripts that wait share a processor" "$(together waits1 waits2)" '^begin waits. begin waits. end waits. end waits.$'
like "two that are busy do not" "$(together busy1 busy2)" '^begin busy. end busy. begin busy. end busy.$'
like "who is alone comes last and has nobody beside" "$(together lonely waits1 waits2)" 'end waits. begin lonely end lonely$'
mkdir -p "$SCRATCH/mk/e2e" && cp test/run "$SCRATCH/mk/run"
is "what took longest begins first" "$(cd "$SCRATCH/mk" && for n in short1 short2 long1; do cp "$SCRATCH/waits1" e2e/$n; done
	echo '9 e2e-long1' >times; : >"$SCRATCH/marks"
	MARKS=$SCRATCH/marks TEST_JOBS=1 BUILD=$SCRATCH/mk/b ./run e2e/short1 e2e/short2 e2e/long1 >/dev/null; grep -c . "$SCRATCH/marks"; head -2 "$SCRATCH/marks" | grep -c long1)" $'6\n1'
is "UPDATE_TIMES=1 writes the times anew" "$(cd "$SCRATCH/mk" && MARKS=/dev/null UPDATE_TIMES=1 BUILD=$SCRATCH/mk/b ./run e2e/short1 >/dev/null; wc -l <times)" 0

# what test/bench/run promises
mkdir -p "$SCRATCH/bb/bench"
printf '#!/bin/bash\necho "{\\"bench\\":\\"x\\",\\"metric\\":\\"m\\",\\"value\\":3,\\"unit\\":\\"ns\\",\\"reach\\":\\"< 2\\",\\"ok\\":false}"\n' >"$SCRATCH/bb/bench/not_met"
printf '#!/bin/bash\nexit 3\n' >"$SCRATCH/bb/bench/broken"
chmod +x "$SCRATCH/bb/bench/"*
BUILD=$SCRATCH/bb test/bench/run not_met >"$SCRATCH/b1"
is "a figure that is not met is a measurement, not an error" $? 0
like "the table says that it is not met" "$(cat "$SCRATCH/b1")" "NOT MET"
is "results.jsonl has one line per result" "$(wc -l <"$SCRATCH/bb/bench/results.jsonl")" 1
BUILD=$SCRATCH/bb test/bench/run not_met broken >/dev/null 2>&1
is "a bench that crashes is an error" $? 1
tap_done
