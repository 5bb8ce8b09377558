#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program on a file system whose server stands still is profiled without its names; others beside it have theirs, and the
# profiler ends when it should.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/profiler_group.sh"
[ -c /dev/fuse ] || skip_all "there is no /dev/fuse"
mkdir "$SCRATCH/mount"
test_cleanup() {
	umount -l "$SCRATCH/mount" 2>/dev/null
	remove_group
}
profiler_group || skip_all "$why"
for n in good hung; do
	printf '#include <math.h>\nvolatile double s;\n__attribute__((noinline)) void leaf_of_%s(void) { for (int i = 0; i < 100000; i++) s += sqrt(i); }\nint main(void) { for (;;) leaf_of_%s(); }\n' $n $n >"$SCRATCH/$n.c"
	# names far behind the code: they are read when it hangs already
	gcc -O2 -g -o "$SCRATCH/$n" "$SCRATCH/$n.c" -lm || skip_all "gcc cannot do it here"
done
truncate -s 64M "$SCRATCH/gap" && objcopy --add-section .gap="$SCRATCH/gap" "$SCRATCH/hung" 2>"$SCRATCH/log"
run() { # program: sets pid
	(echo $BASHPID >"$group/cgroup.procs" && exec "$1") </dev/null >/dev/null 2>&1 &
	pid=$!
	started $pid
}
try() { # what is not answered
	rm -f "$SCRATCH/trigger"
	"$BUILD/hung_fuse" "$SCRATCH/hung" "$SCRATCH/mount" "$SCRATCH/trigger" >"$SCRATCH/said" 2>"$SCRATCH/log" &
	server=$!
	started $server
	wait_for 20 grep -q ready "$SCRATCH/said" || { skip "$1" "no FUSE here: $(tail -n 1 "$SCRATCH/log")"; return; }
	run "$SCRATCH/mount/program"
	hung=$pid
	wait_for 20 grep -q mount/program "/proc/$hung/maps"
	sleep 0.5
	echo "$1" >"$SCRATCH/trigger"
	run "$SCRATCH/good"
	good=$pid
	SECONDS=0
	timeout 120 "$BUILD/ceems-profiler" --cgroup="$group" --duration=6s --profile.hz=97 >"$SCRATCH/stacks" 2>"$SCRATCH/summary"
	is "$1 hangs: the profile is made" "$?" 0
	ok "$1 hangs: in the end it waits for nothing ($SECONDS s)" test "$SECONDS" -lt 60
	like "$1 hangs: no sample is lost" "$(cat "$SCRATCH/summary")" '; lost 0;'
	like "$1 hangs: the other program has its names" "$(cat "$SCRATCH/stacks")" '_start;.*main;leaf_of_good [0-9]'
	like "$1 hangs: the program's stacks are there" "$(cat "$SCRATCH/stacks")" '\[program\]|\[unknown\]'
	is "$1 hangs: the program's functions have no names" "$(grep -c leaf_of_hung "$SCRATCH/stacks")" 0
	kill -9 $good $server 2>/dev/null
	kill -9 $hung 2>/dev/null
	wait $good $server $hung 2>/dev/null
	umount -l "$SCRATCH/mount" 2>/dev/null
	wait_for 20 test -z "$(cat "$group/cgroup.procs")"
}
try open
try read
tap_done
