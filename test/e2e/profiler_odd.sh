#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What programs do to their profile: recursion 100000 deep, files that are deleted or replaced as they run,
# a home that is closed to others, private mounts, another root, processes that come and go by the thousand.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/profiler_group.sh"
command -v gcc >/dev/null || skip_all "gcc is not installed"
profiler_group || skip_all "$why"

cat >"$SCRATCH/a.c" <<'C'
#include <math.h>
#include <stdlib.h>
#define OWN __attribute__((noinline))
volatile double sink;
OWN double NAME(leaf)(double x) { for (int i = 0; i < 100000; i++) x += sqrt(x + i); return x; }
OWN double NAME(down)(int n) { volatile double r = n ? NAME(down)(n - 1) : 0; if (!n) for (;;) r = NAME(leaf)(r); return r + 1; }
int main(int argc, char **argv) { sink = NAME(down)(argc > 1 ? atoi(argv[1]) : 3); return 0; }
C
build() { # names file [options]
	gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-ipa-cp "-DNAME(x)=$1_##x" -o "$2" "${@:3}" "$SCRATCH/a.c" -lm
}
run_in_group() { # program...
	(ulimit -s unlimited; echo $BASHPID >"$group/cgroup.procs" && exec "$@") </dev/null >/dev/null 2>&1 &
	program=$!
	started $program
	wait_for 20 executes "$1"
}
executes() { [ "$(readlink "/proc/$program/exe")" = "$(readlink -f "$(command -v "$1")")" ]; }
profile() { "$BUILD/ceems-profiler" --cgroup="$group" --duration="$1" --profile.hz=97 "${@:2}" >"$SCRATCH/stacks" 2>"$SCRATCH/summary"; }

build deep "$SCRATCH/deep" && build first "$SCRATCH/first" && build second "$SCRATCH/second" || { ok "programs are built" false; tap_done; }
run_in_group "$SCRATCH/deep" 100000
profile 2s
end_program
ok "a recursion 100000 deep is sampled ($(samples))" test "$(samples)" -ge 10
ok "its stacks are cut, which is counted ($(number 'too deep'))" test "$(number 'too deep')" -ge $(($(samples) * 9 / 10))
like "and have their innermost frames" "$(cat "$SCRATCH/stacks")" ';deep_down;deep_leaf [0-9]'

cp "$SCRATCH/first" "$SCRATCH/gone"
run_in_group "$SCRATCH/gone"
rm "$SCRATCH/gone"
profile 2s
end_program
like "a program whose file is deleted has its names" "$(cat "$SCRATCH/stacks")" '_start;.*main;(first_down;)+first_leaf [0-9]'

cp "$SCRATCH/first" "$SCRATCH/program"
run_in_group "$SCRATCH/program"
old=$program
cp "$SCRATCH/second" "$SCRATCH/new" && mv "$SCRATCH/new" "$SCRATCH/program"
run_in_group "$SCRATCH/program"
profile 3s
kill $old
wait $old 2>/dev/null
end_program
like "one whose file is replaced as it runs has its own" "$(cat "$SCRATCH/stacks")" 'main;(first_down;)+first_leaf [0-9]'
like "another one that runs the new file has those of that" "$(cat "$SCRATCH/stacks")" 'main;(second_down;)+second_leaf [0-9]'
is "no name is of the other" "$(grep -cE 'first_.*second_|second_.*first_' "$SCRATCH/stacks")" 0

mkdir -m 700 "$SCRATCH/home"
cp "$SCRATCH/first" "$SCRATCH/home/program"
chown -R nobody "$SCRATCH/home"
run_in_group "$SCRATCH/home/program"
profile 2s
end_program
like "a program in a home that is closed to others has its names" "$(cat "$SCRATCH/stacks")" 'main;(first_down;)+first_leaf [0-9]'

# file systems that its namespace alone has, over a folder where another program has that name, and a root of its own
mkdir "$SCRATCH/private"
cp "$SCRATCH/second" "$SCRATCH/private/program"
build first "$SCRATCH/static" -static
for how in 'in a private mount:"$1/program"' 'that has another root:chroot "$1" /program'; do
	(echo $BASHPID >"$group/cgroup.procs" && exec unshare -m bash -c \
		'mount -t tmpfs none "$1" && cp "$2" "$1/program" && exec '"${how#*:}" - "$SCRATCH/private" "$SCRATCH/static") </dev/null >/dev/null 2>&1 &
	program=$!
	started $program
	wait_for 20 grep -qx program "/proc/$program/comm"
	profile 2s
	end_program
	like "a program ${how%%:*} has its names" "$(cat "$SCRATCH/stacks")" '_start;.*main;(first_down;)+first_leaf [0-9]'
	is "a program ${how%%:*} has none of the one that lies there for others" "$(grep -c second_ "$SCRATCH/stacks")" 0
done

cp "$SCRATCH/first" "$SCRATCH/cut"
run_in_group "$SCRATCH/cut"
strip "$SCRATCH/cut" -o "$SCRATCH/stripped" 2>/dev/null
end_program
run_in_group "$SCRATCH/stripped"
profile 2s
end_program
like "a stripped program is its file" "$(cat "$SCRATCH/stacks")" '\[stripped\];\[stripped\] [0-9]'

run_in_group bash -c 'while :; do /bin/true; done'
profile 5s
end_program
ok "of processes that come and go as fast as they can there are samples ($(samples))" test "$(samples)" -ge 10
is "none is lost" "$(number lost)" 0

run_in_group "$SCRATCH/first"
profile 2s --profiling.memory=8MiB
end_program
like "with 8 MiB it works as well" "$(cat "$SCRATCH/stacks")" 'main;(first_down;)+first_leaf [0-9]'
like "less is a mistake" "$("$BUILD/ceems-profiler" --cgroup="$group" --profiling.memory=1MiB 2>&1)" 'less than 8 MiB'
tap_done
