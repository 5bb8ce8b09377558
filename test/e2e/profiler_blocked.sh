#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where threads of a control group are blocked and for how long, beside what the program itself measured around its
# calls; nobody else's. Also with the waiting for a CPU after each, which both have.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/profiler_group.sh"
profiler_group --profiling.off-cpu=true || skip_all "$why"

cat >"$SCRATCH/a.c" <<'C'
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define OWN __attribute__((noinline))
static int word, asked[2], answer[2];
static volatile int sink;
static double clock_s(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static double now(void) { return clock_s(CLOCK_MONOTONIC); }
static void wait_us(long us) { struct timespec t = {us / 1000000, us % 1000000 * 1000}; nanosleep(&t, NULL); }
OWN void in_sleep(void) { wait_us(40000); sink = 1; }
OWN void in_futex(void) { struct timespec t = {0, 30000000}; syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0); sink = 2; }
OWN void in_pipe(void) { char c; if (write(asked[1], "", 1) < 0 || read(answer[0], &c, 1) < 0) exit(1); sink = 3; }
OWN void in_long(void) { wait_us(1000000000); sink = 4; }
/* one caller for a short wait and one for a long one, with the same stack pointer, one after the other */
OWN void nap(long us) { wait_us(us); sink = 5; }
OWN void short_nap(void) { nap(400); sink = 6; }
OWN void long_nap(void) { nap(1600); sink = 7; }
/* Two callers by turns, until chance alone can hardly put the profile further off than a share of the time of each: five
 * standard errors of a sum in which one in N counts N times, sqrt((N - 1) * the sum of squares). N is 4 and sometimes 8, as 16
 * of 62 naps in 1/8 s are taken of each. The more a busy machine spreads the naps, the more of them that takes. */
static double chance(double squares) { return 5 * sqrt(4 * squares); }
struct nap { double wall, idle, squares; };
static void take_nap(struct nap *n, void (*nap)(void))
{
	double wall = now(), ran = clock_s(CLOCK_THREAD_CPUTIME_ID);
	nap();
	ran = clock_s(CLOCK_THREAD_CPUTIME_ID) - ran;
	wall = now() - wall;
	n->wall += wall; n->idle += wall - ran; n->squares += wall * wall;
}
static int naps(double share)
{
	struct nap s = {0}, l = {0};
	double begin = now();
	while (now() < begin + 600 && (chance(s.squares) >= share * s.wall || chance(l.squares) >= share * l.wall)) {
		take_nap(&s, short_nap);
		take_nap(&l, long_nap);
	}
	return printf("short_nap %.6f %.6f %.6f\nlong_nap %.6f %.6f %.6f\nall %.6f\n", s.wall, s.idle, chance(s.squares), l.wall, l.idle, chance(l.squares), now() - begin) < 0;
}
OWN void busy(void) { double end = now() + 0.2; while (now() < end) sink = 8; }
static void *answers(void *arg)
{
	char c;
	for (; read(asked[0], &c, 1) == 1;) {
		wait_us(30000);
		if (write(answer[1], "", 1) < 0) break;
	}
	return arg;
}
/* prints where the time went, one line a place; until then nothing of it */
int main(int argc, char **argv)
{
	double sum[4] = {0}, end;
	pthread_t t;
	(void)argc;
	busy(); busy(); /* until it is known: a stack may be cut before */
	end = now() + atof(argv[2]);
	if (pipe(asked) || pipe(answer) || pthread_create(&t, NULL, answers, NULL)) return 1;
	if (!strcmp(argv[1], "long")) in_long();
	if (!strcmp(argv[1], "busy")) for (;;) busy();
	if (!strcmp(argv[1], "naps")) return naps(atof(argv[2]) / 100);
	while (now() < end) {
		double a = now(); in_sleep();
		double b = now(); in_futex();
		double c = now(); in_pipe();
		double d = now();
		sum[0] += b - a; sum[1] += c - b; sum[2] += d - c;
	}
	return printf("in_sleep %.6f\nin_futex %.6f\nin_pipe %.6f\n", sum[0], sum[1], sum[2]) < 0;
}
C
build_one() { gcc -O3 -fomit-frame-pointer -fno-inline -fno-optimize-sibling-calls -o "$SCRATCH/$1" "$SCRATCH/a.c" -pthread -lm "${@:2}"; }
build_one blocks && build_one others -Din_sleep=other_sleep || { ok "the programs are built" false; tap_done; }
profile() { # what how-long [command]: the program runs wholly while it is sampled
	begin_profiler --profiling.off-cpu=true
	(echo $BASHPID >"$group/cgroup.procs" && exec "${@:3}" "$SCRATCH/blocks" "$1" "$2") >"$SCRATCH/told" </dev/null &
	program=$!
	started $program
}
seconds() { awk -v p=";$1;" 'index($0, p) { ns += $NF } END { printf "%.6f", ns / 1e9 }' "$SCRATCH/stacks"; }
told() { awk -v p="$1" -v i="${2:-2}" '$1 == p { print $i }' "$SCRATCH/told"; }
within_percent() { awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { d = a - b; exit !(b > 0 && d < b * p / 100 && -d < b * p / 100) }'; }

# nothing else keeps a program from its CPU between its clocks, where that may be had
fifo=()
! chrt -f 1 true 2>/dev/null || fifo=(chrt -f 1)
"$SCRATCH/others" shares 1000 >/dev/null </dev/null &
other=$!
started $other
profile shares 10 "${fifo[@]}"
wait $program
end_profiler
for place in in_sleep in_futex in_pipe; do
	ok "$place is blocked as long as it says, within 2 % ($(seconds $place) of $(told $place) s)" within_percent "$(seconds $place)" "$(told $place)" 2
done
sum=$(awk '/;main;/ { ns += $NF } END { printf "%.6f", ns / 1e9 }' "$SCRATCH/stacks") wanted=$(awk '{ s += $2 } END { print s }' "$SCRATCH/told")
ok "all of it together, too, within 2 % ($sum of $wanted s)" within_percent "$sum" "$wanted" 2
like "the stacks go to the program's start and into the kernel" "$(cat "$SCRATCH/stacks")" '_start;.*main;in_futex;syscall;.*\[kernel\];.*schedule \[kernel\]'
is "none is of a program outside the group" "$(grep -c other_sleep "$SCRATCH/stacks")" 0
kill $other
wait $other 2>/dev/null

# More often than each can be looked at: two callers by turns, of which none may have the other's time. What the program has
# run between its clocks may be in it or not.
profile naps 12 "${fifo[@]}"
wait $program
end_profiler
for place in short_nap long_nap; do
	ok "one in many: $place has its own time, within 15 % ($(seconds $place) of $(told $place) s)" awk -v a="$(seconds $place)" -v wall="$(told $place)" \
		-v idle="$(told $place 3)" -v chance="$(told $place 4)" 'BEGIN { exit !(wall > 0 && chance < wall * 0.12 && a < wall + chance && a > idle - chance && a > wall * 0.85) }'
done
most=$(told all | awk '{ printf "%d", $1 * 256 + 64 }')
taken=$(sed -n 's/.*of blocked threads \([0-9]*\).*/\1/p' "$SCRATCH/summary")
ok "of 128 waits a second at one place at most, on average (${taken:-0} in $(told all) s)" test "${taken:-0}" -gt 100 -a "${taken:-0}" -lt "$most"

# who does not wake before the profile's end
now_us() { echo "${EPOCHREALTIME/./}"; }
begun=$(now_us)
profile long 0
is_asleep() { grep -qs '^Name:.blocks$' "/proc/$program/status" && grep -qs '^State:.S' "/proc/$program/status"; }
wait_for 60 is_asleep
asleep=$(now_us)
sleep 5
least=$(($(now_us) - asleep))
end_profiler
most=$(($(now_us) - begun))
kill $program
wait $program 2>/dev/null
ok "one that is blocked still has its time so far ($(seconds in_long) s, $least to $most us)" awk -v s="$(seconds in_long)" -v least=$least -v most=$most \
	'BEGIN { exit !(s * 1e6 >= least && s * 1e6 <= most) }'

# made to wait for a CPU by another that computes, on the same one
if command -v taskset >/dev/null; then
	taskset -c 0 "$SCRATCH/others" busy 0 </dev/null &
	other=$!
	started $other
	begin_profiler --profiling.off-cpu=true
	(echo $BASHPID >"$group/cgroup.procs" && exec taskset -c 0 "$SCRATCH/blocks" busy 0) </dev/null &
	program=$!
	started $program
	has_waited() { [ "$(awk '/^nonvoluntary/ { print $2 }' "/proc/$program/status")" -gt 20 ]; }
	wait_for 60 has_waited
	end_profiler
	waited=$(awk '/^nonvoluntary/ { print $2 }' "/proc/$program/status")
	kill $program $other
	wait $program $other 2>/dev/null
	ok "one that only waits for a CPU (${waited:-0} times) is not blocked ($(seconds busy) s)" test "${waited:-0}" -gt 0 -a "$(seconds busy)" = 0.000000
else
	skip "one that only waits for a CPU" "no taskset"
fi
tap_done
