#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Code that a program has made as it ran: followed by its frame pointers, named by the program's /tmp/perf-PID.map, if that is
# the user's own.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/profiler_group.sh"
test_cleanup() { rm -f "$map"; remove_group; }
profiler_group || skip_all "$why"
cat >"$SCRATCH/jit.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile long counter;
__attribute__((noinline)) void run_made(void (*made)(volatile long *)) { made(&counter); __asm__ volatile(""); }
int main(void)
{
	/* push %rbp; mov %rsp,%rbp; 1: incq (%rdi); jmp 1b */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0x07, 0xeb, 0xfb};
	unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(at, code, sizeof(code));
	printf("%lx 10 made::loop(int)\n", (unsigned long)at);
	fflush(stdout);
	run_made((void (*)(volatile long *))at);
}
C
gcc -O2 -fno-omit-frame-pointer -o "$SCRATCH/jit" "$SCRATCH/jit.c" || skip_all "gcc cannot do it here"
start() { # program arguments...: sets program and map
	: >"$SCRATCH/said"
	(cd "$SCRATCH" && echo $BASHPID >"$group/cgroup.procs" && exec "$@") </dev/null >"$SCRATCH/said" 2>/dev/null &
	program=$!
	started $program
	map=/tmp/perf-$program.map
}
look() { # seconds
	"$BUILD/ceems-profiler" --cgroup="$group" --duration="$1s" --profile.hz=97 >"$SCRATCH/stacks" 2>"$SCRATCH/summary"
}
end() {
	kill $program
	wait $program 2>/dev/null
	rm -f "$map"
	wait_for 20 test -z "$(cat "$group/cgroup.procs")"
}
try() { # what pattern command...: makes the map by the command
	local what=$1 wanted=$2
	shift 2
	start "$SCRATCH/jit"
	wait_for 20 test -s "$SCRATCH/said"
	rm -f "$map"
	"$@"
	look 1
	like "$what" "$(sort -t' ' -k2 -rn "$SCRATCH/stacks" | cut -c1-300 | head -n 3)" "$wanted"
	end
}
named='_start;.*;main;run_made;made::loop\(int\) [0-9]' unnamed='_start;.*;main;run_made;\[unknown\] [0-9]'
own_map() { cp "$SCRATCH/said" "$map"; }
try "code of a program's own map has its name" "$named" own_map
try "without a map it has none, and its callers are seen" "$unnamed" true
link_map() { ln -s /etc/shadow "$map"; }
try "a map that is a link is not followed" "$unnamed" link_map
good_link() { ln -s "$SCRATCH/said" "$map"; }
try "a link to a good map is not followed either" "$unnamed" good_link
hard_link() { cp "$SCRATCH/said" "$map" && ln "$map" "$map.2"; }
try "a map with a second name is not read" "$unnamed" hard_link
rm -f "$map.2"
others_map() { own_map && chown 12345 "$map"; }
try "a map of another user is not read" "$unnamed" others_map
huge_map() { own_map && truncate -s 1G "$map"; }
try "a map of 1 GB is not read" "$unnamed" huge_map
fifo_map() { mkfifo "$map"; }
try "a FIFO is not read" "$unnamed" fifo_map
cat >"$SCRATCH/clock.c" <<'C'
#include <time.h>
volatile long sink;
__attribute__((noinline)) void ask_clock(void) { struct timespec t; for (int i = 0; i < 1000; i++) { clock_gettime(CLOCK_MONOTONIC, &t); sink += t.tv_nsec; } }
int main(void) { for (;;) ask_clock(); }
C
if grep -q '\[vdso\]' /proc/self/maps && gcc -O3 -fomit-frame-pointer -o "$SCRATCH/clock" "$SCRATCH/clock.c"; then
	start "$SCRATCH/clock"
	look 2
	like "the vDSO has its names, and its callers are seen" "$(cat "$SCRATCH/stacks")" '_start;.*;main;ask_clock;([^;]*;)?[^;]*clock_gettime[^;]* [0-9]|_start;.*ask_clock;.*__vdso|_start;.*ask_clock;.*\[vdso\]'
	is "no stack is cut in the vDSO" "$(sed -n 's/.*code of no known file \([0-9]*\).*/\1/p' "$SCRATCH/summary")" 0
	end
else
	skip "the vDSO" "there is none"
fi
cat >"$SCRATCH/spin.js" <<'J'
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += (i * i) % 7; return s; }
function outer(n) { return inner(n) + inner(n + 1); }
for (;;) outer(300000);
J
if command -v node >/dev/null; then
	start node --perf-basic-prof --interpreted-frames-native-stack "$SCRATCH/spin.js"
	wait_for 30 grep -q inner "$map"
	look 3
	like "Node: a script's functions, below the engine's" "$(cat "$SCRATCH/stacks")" '_start;.*node::.*outer .*spin\.js.*;[^;]*inner .*spin\.js[^;]* [0-9]'
	end
else
	skip "Node" "it is not installed"
fi
cat >"$SCRATCH/Spin.java" <<'J'
public class Spin {
	static double inner(int n) { double t = 0; for (int i = 0; i < n; i++) t += Math.sqrt(i) * (i % 7); return t; }
	static double outer(int n) { return inner(n) + inner(n + 1); }
	public static void main(String[] a) { double s = 0; for (;;) s += outer(100000); }
}
J
if command -v javac >/dev/null && command -v jcmd >/dev/null && javac -d "$SCRATCH" "$SCRATCH/Spin.java" 2>/dev/null; then
	start java -XX:+PreserveFramePointer -XX:CompileCommand=dontinline,Spin::inner -cp "$SCRATCH" Spin
	written() { jcmd $program Compiler.perfmap >/dev/null 2>&1 && grep -q 'Spin.*inner' "$map"; }
	if wait_for 60 written; then
		sleep 2
		written
		look 3
		like "Java: methods that were compiled, below the JVM's functions" "$(cat "$SCRATCH/stacks")" 'JavaMain.*;[^;]*Spin[^;]*inner[^;]* [0-9]'
	else
		skip "Java" "this one writes no perf map"
	fi
	end
else
	skip "Java" "it is not installed"
fi
tap_done
