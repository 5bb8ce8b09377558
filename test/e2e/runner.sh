#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test/run itself: a runner that counts a crash, a time-out or a missing plan as success
# would make every other test worthless.
. "$(dirname "$0")/../tap.sh"
unset TEST_AGAIN KEEP QUICK UPDATE_TIMES # of the run that this is a part of

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

tap='. "$TOP/test/tap.sh"; cd "$SCRATCH"'
fake says "$tap"$'\nok a false || echo "# why a"; is b 1 2 || echo "# why b"; like c x y || echo "# why c"; ok d true || echo "# why d"\ntap_done'
is "a test that fails says why in a script that goes on" "$(TOP=$TOP "$SCRATCH/says" | grep -E '^(not )?ok|why|^1' | paste -sd,)" \
	"not ok 1 - a,# why a,not ok 2 - b,# why b,not ok 3 - c,# why c,ok 4 - d,1..4"
is "no script ends where a test fails" "$(grep -rl 'tap[.]sh' test/e2e test/vm test/*.sh | xargs grep -lE '^[[:space:]]*set -[a-z]*e|^#!.* -[a-z]*e|errex''it')" ""

# who runs beside whom: scripts wait, and overlap; what is busy does not; who is alone is alone
mark() { echo 'echo "begin $(basename "$0")" >>"$MARKS"; '"$1"'; echo "end $(basename "$0")" >>"$MARKS"; echo ok 1 - a; echo 1..1'; }
# until another has begun, however long it takes here; or long enough that another would have
both='for i in $(seq 600); do [ "$(grep -c begin "$MARKS")" -ge 2 ] && break; sleep 0.1; done'
for n in waits1 waits2; do fake $n "$(mark "$both")"; done
for n in busy1 busy2; do fake $n "# busy"$'\n'"$(mark 'sleep 0.3')"; done
fake lonely "# alone"$'\n'"$(mark 'sleep 0.3')"
together() { # name...: who began and ended, in this order
	: >"$SCRATCH/marks"
	MARKS=$SCRATCH/marks TEST_JOBS=1 run "$@"
	paste -sd' ' "$SCRATCH/marks"
}
like "two scripts that wait share a processor" "$(together waits1 waits2)" '^begin waits. begin waits. end waits. end waits.$'
like "two that are busy do not" "$(together busy1 busy2)" '^begin busy. end busy. begin busy. end busy.$'
like "who is alone comes last and has nobody beside" "$(together lonely waits1 waits2)" 'end waits. begin lonely end lonely$'
mkdir -p "$SCRATCH/mk/e2e" && cp test/{run,reach,quick.sh} "$SCRATCH/mk/"
is "what took longest begins first" "$(cd "$SCRATCH/mk" && for n in short1 short2 long1; do cp "$SCRATCH/waits1" e2e/$n; done
	echo '9 60 e2e-long1' >times; : >"$SCRATCH/marks"
	MARKS=$SCRATCH/marks TEST_JOBS=1 BUILD=$SCRATCH/mk/b ./run e2e/short1 e2e/short2 e2e/long1 >/dev/null; grep -c . "$SCRATCH/marks"; head -2 "$SCRATCH/marks" | grep -c long1)" $'6\n1'
# four that mostly wait share one processor, as measured; two with a rig do, and a third waits for one to end
meet4='for i in $(seq 600); do [ "$(grep -c begin "$MARKS")" -ge 4 ] && break; sleep 0.1; done'
for n in share1 share2 share3 share4 share5; do fake $n "$(mark "$meet4")" && cp "$SCRATCH/$n" "$SCRATCH/mk/e2e/"; done
for n in rig1 rig2 rig3; do fake $n "# in test/rig/slurm"$'\n'"$(mark "$both")" && cp "$SCRATCH/$n" "$SCRATCH/mk/e2e/"; done
shared() { # name...: what began and ended, with the times file there
	: >"$SCRATCH/marks"
	(cd "$SCRATCH/mk" && MARKS=$SCRATCH/marks TEST_JOBS=1 BUILD=$SCRATCH/mk/b ./run "${@/#/e2e/}" >/dev/null)
	sed 's/ .*//' "$SCRATCH/marks" | paste -sd' '
}
printf '%s\n' '9 10 e2e-share'{1,2,3,4,5} '9 10 e2e-rig'{1,2,3} >"$SCRATCH/mk/times"
like "four scripts that were measured to wait share a processor, a fifth begins when one has ended" "$(shared share1 share2 share3 share4 share5)" '^begin begin begin begin end '
like "of those with a rig two do" "$(shared rig1 rig2 rig3)" '^begin begin end '
printf '%s\n' '9 90 e2e-share'{1,2,3} >"$SCRATCH/mk/times"
for n in share1 share2; do fake $n "$(mark 'sleep 0.3')" && cp "$SCRATCH/$n" "$SCRATCH/mk/e2e/"; done
is "two that were measured to keep a processor busy do not" "$(shared share1 share2)" "begin end begin end"
# the same by what they say themselves; and two that share a processor do not where all before took twice their time
rm "$SCRATCH/mk/times"
for n in share1 share2; do fake $n "# share 90"$'\n'"$(mark 'sleep 0.3')" && cp "$SCRATCH/$n" "$SCRATCH/mk/e2e/"; done
is "two that say so do not" "$(shared share1 share2)" "begin end begin end"
for n in share1 share2; do fake $n "# share 60"$'\n'"$(mark "$both")" && cp "$SCRATCH/$n" "$SCRATCH/mk/e2e/"; done
like "two that say less do" "$(shared share1 share2)" '^begin begin '
slow=(slow{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20})
for n in "${slow[@]}"; do printf '#!/bin/bash\nsleep 3\necho ok 1 - a\necho 1..1\n' >"$SCRATCH/mk/e2e/$n"; done
chmod +x "$SCRATCH"/mk/e2e/slow*
printf '1 10 e2e-%s\n' "${slow[@]}" >"$SCRATCH/mk/times"
for n in share1 share2; do fake $n "# share 60"$'\n'"$(mark 'sleep 0.3')" && cp "$SCRATCH/$n" "$SCRATCH/mk/e2e/"; done
is "unless all before them took three times what they should" "$(shared "${slow[@]}" share1 share2)" "begin end begin end"
cp "$SCRATCH/good" "$SCRATCH/mk/e2e/quick"
is "UPDATE_TIMES=1 writes the times anew" "$(cd "$SCRATCH/mk" && MARKS=/dev/null UPDATE_TIMES=1 BUILD=$SCRATCH/mk/b ./run e2e/quick >/dev/null; wc -l <times)" 0

# ---- QUICK=1: what passed and is as it was is left out
mkdir -p "$SCRATCH/quick/test/e2e" "$SCRATCH/quick/build" && cp test/{run,reach,quick.sh} "$SCRATCH/quick/test/"
quick() { # what passed, failed, was skipped, and what was said of the rest
	(cd "$SCRATCH/quick" && "$@" BUILD=build test/run test/e2e/{names,plain,red}.sh) >"$SCRATCH/out" 2>&1
	sed -n '$p; s/^quick: \([0-9]* of [0-9]*\) .*/\1/p' "$SCRATCH/out" | paste -sd' '
}
put() { printf '#!/bin/bash\n%s\n' "$2" >"$SCRATCH/quick/$1" && chmod +x "$SCRATCH/quick/$1"; }
one='echo "ok 1 - a"; echo 1..1'
put build/tool 'true'
put test/helper.sh 'true'
put test/e2e/names.sh "# \$BUILD/tool and test/helper.sh"$'\n'"$one"
put test/e2e/plain.sh "$one"
put test/e2e/red.sh 'echo "not ok 1 - a"; echo 1..1; exit 1'
quick env QUICK=1 >/dev/null
is "QUICK=1 leaves out what passed, not what failed, and says how many" "$(quick env QUICK=1)" "2 of 3 0 passed, 1 failed, 0 skipped"
is "without it all is run" "$(quick env)" "2 passed, 1 failed, 0 skipped"
put build/tool 'false'
is "a program that is built anew is run by what names it" "$(quick env QUICK=1)" "1 of 3 1 passed, 1 failed, 0 skipped"
put test/helper.sh 'false'
is "a helper that changes, too" "$(quick env QUICK=1)" "1 of 3 1 passed, 1 failed, 0 skipped"
put test/e2e/plain.sh "$one # other"
is "a test that changes, too" "$(quick env QUICK=1)" "1 of 3 1 passed, 1 failed, 0 skipped"
is "make takes QUICK from its command line, not from the environment" \
	"$(for q in 'env QUICK=1 MAKEFLAGS= make' 'env MAKEFLAGS= make QUICK=1'; do $q -n check-run 2>/dev/null | grep -o 'QUICK=[^ ]* test/run'; done)" $'QUICK= test/run\nQUICK=1 test/run'
is "make check check-more is one run of both" \
	"$(make -n check-both-run 2>/dev/null | grep -c 'test/run.*e2e/api\.sh.*e2e/other_release\.sh') $(make -n check-run 2>/dev/null | grep -c 'other_release\.sh')" "1 0"

# ---- once more: a script, which failed while others ran beside it; two of them at most
meet='echo begin >>"$MARKS"; for i in $(seq 600); do [ "$(grep -c begin "$MARKS")" -ge "$MEET" ] && break; sleep 0.1; done'
fails_beside='echo ok 1 - a; echo not ok 2 - b of $n; echo 1..2; exit 1'
for n in once1 once2 once3; do
	fake $n "n=$n; $meet; [ ! -e \$0.ran ] || { echo ok 1 - a; echo ok 2 - b; echo 1..2; exit; }; touch \$0.ran; $fails_beside"
done
fake never1 "n=never1; $meet; echo ran >>\$0.ran; $fails_beside"
fake never2 "n=never2; $meet; echo ran >>\$0.ran; $fails_beside"
cat >"$SCRATCH/program.c" <<-'END'
	#include <stdio.h>
	int main(int argc, char *argv[])
	{
		char name[4096];
		(void)argc;
		(void)snprintf(name, sizeof(name), "%s.ran", argv[0]);
		FILE *f = fopen(name, "a");
		if (f && fputs("ran\n", f) >= 0 && fclose(f) == 0)
			puts("not ok 1 - c\n1..1");
		return 1;
	}
END
again() { # MEET name...: they run beside each other, or alone
	local meet=$1
	shift
	rm -f "$SCRATCH"/*.ran
	: >"$SCRATCH/marks"
	MEET=$meet MARKS=$SCRATCH/marks TEST_JOBS=${JOBS:-2} run "$@"
}
ran() { cat "$SCRATCH/$1.ran" | wc -l; }
again 2 once1 waits1
is "a script that failed beside others and passes alone counts by that" "$last $rc" "3 passed, 0 failed, 0 skipped 0"
like "which is said, with its first log and what failed" "$(tail -n +3 "$SCRATCH/out")" \
	"^FLAKY [^ ]*once1: failed beside others, passed alone: first log ([^ ]*)"$'\n'"    not ok 2 - b of once1"
like "that is kept" "$(cat "$(sed -n 's/^FLAKY.*first log //p' "$SCRATCH/out")")" 'not ok 2 - b of once1'
again 2 once1 once2
is "so do two" "$last $rc $(grep -c ^FLAKY "$SCRATCH/out")" "4 passed, 0 failed, 0 skipped 0 2"
JOBS=3 again 3 once1 once2 once3
is "three are a fault: none of them runs again" "$last $rc $(grep -c ^FLAKY "$SCRATCH/out")" "3 passed, 3 failed, 0 skipped 1 0"
quick=()
for n in {1..72}; do
	printf '#!/bin/bash\nprintf "ok 1\\n1..1\\n"\n' >"$SCRATCH/quick$n"
	chmod +x "$SCRATCH/quick$n"
	quick+=("quick$n")
done
JOBS=3 again 3 once1 once2 once3 "${quick[@]}"
is "unless they are three of 75" "$last $rc $(grep -c ^FLAKY "$SCRATCH/out")" "78 passed, 0 failed, 0 skipped 0 3"
again 2 never1 waits1
is "one that fails alone as well is red, and ran twice" "$last $rc $(ran never1)" "2 passed, 1 failed, 0 skipped 1 2"
like "both logs are named" "$(grep ^FAIL "$SCRATCH/out")" 'never1\.log, the second time: first log .*never1\.first\.log'
again 2 once1 never1
is "one of two may pass" "$last $rc $(grep -c ^FLAKY "$SCRATCH/out")" "3 passed, 1 failed, 0 skipped 1 1"
again 1 never1
is "who ran alone does not run again" "$last $rc $(ran never1)" "1 passed, 1 failed, 0 skipped 1 1"
TEST_AGAIN=0 again 2 once1 waits1
is "TEST_AGAIN=0: nobody does" "$last $rc $(grep -c ^FLAKY "$SCRATCH/out")" "2 passed, 1 failed, 0 skipped 1 0"
if "${CC:-cc}" -o "$SCRATCH/program" "$SCRATCH/program.c" 2>/dev/null; then
	again 1 program waits1 waits2
	is "nor does a C program ever" "$last $rc $(ran program)" "2 passed, 1 failed, 0 skipped 1 1"
else
	skip "nor does a C program ever" "no compiler"
fi

# ---- Ctrl-C, or a time limit over the whole run: tests end what they started, and nothing goes on
lasting='trap "echo ended >>\$0.ended; exit 1" TERM; echo $$ >>$0.began; sleep 300 & wait'
fake lasts1 "$lasting"
fake lasts2 "$lasting"
fake lasts3 "# alone"$'\n'"$lasting"
interrupt() { # name...: "exit status, how many had begun, how many were told"
	local args=("${@/#/$SCRATCH/}") runner
	rm -f "$SCRATCH"/*.{began,ended}
	BUILD=$SCRATCH/b test/run "${args[@]}" >"$SCRATCH/out" 2>&1 &
	runner=$!
	wait_for 60 eval '[ "$(cat "$SCRATCH"/*.began | wc -l)" = '$#' ]'
	kill $runner
	wait $runner
	echo "$? $(cat "$SCRATCH"/*.began | wc -l) $(cat "$SCRATCH"/*.ended | wc -l)"
}
is "an interrupted run ends the tests that run" "$(interrupt lasts1 lasts2)" "130 2 2"
is "one that runs alone, too" "$(interrupt lasts3)" "130 1 1"
like "the run says so" "$(cat "$SCRATCH/out")" 'interrupted: ending the tests'

# ---- names of tests can be read alone
cat >"$SCRATCH/names" <<END
#!/bin/bash
. "$TOP/test/tap.sh"
ok "and nothing is before it" true
ok "a job ends well" true
ok "and has its rows" false
skip "which are all there" "no sacct"
is "a second job does not" 1 1
is "nor a third" 1 1
tap_done
END
chmod +x "$SCRATCH/names"
is "a name that goes on from another is printed with it" "$("$SCRATCH/names" | sed -n 's/^\(not \)*ok [0-9]* - //p')" "and nothing is before it
a job ends well
a job ends well: and has its rows
a job ends well: which are all there # SKIP no sacct
a second job does not
a second job does not: nor a third"

# ---- what a script leaves: a daemon in a session of its own, a scratch folder that it could not remove
fake leaves '. "$LEAVES_TOP/test/tap.sh"; setsid sleep 1000 & echo $! >"$LEAVES/pid"; echo "$SCRATCH" >"$LEAVES/scratch"; ok "a" true; echo 1..1; kill -9 $$'
fake forgets '. "$LEAVES_TOP/test/tap.sh"; setsid sleep 1000 & echo $! >"$LEAVES/pid"; ok "a" true; tap_done'
gone() { local pid; pid=$(cat "$LEAVES/pid") && [ -z "$(tap_begin "$pid")" ]; }
mkdir "$SCRATCH/left"
export LEAVES=$SCRATCH/left LEAVES_TOP=$TOP
run leaves
is "a script that is killed is a failure" "$last" "1 passed, 1 failed, 0 skipped"
ok "its daemon does not live on" wait_for 10 gone
ok "its folder is gone" [ ! -d "$(cat "$LEAVES/scratch")" ]
run forgets
like "a daemon that a script forgets is ended, and named" "$(cat "$SCRATCH/out")" "left running, ended now: $(cat "$LEAVES/pid") sleep 1000"
ok "and is gone" wait_for 10 gone

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
