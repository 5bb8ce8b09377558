#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The rows by which the profiler follows stacks are what readelf says of the same files.
. "$(dirname "$0")/../tap.sh"
[ -x "$BUILD/unwind_rows" ] || skip_all "the profiler was not built here (libdw-dev)"
for c in readelf python3; do command -v $c >/dev/null || skip_all "$c is not installed"; done
cat >"$SCRATCH/a.c" <<'C'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define OWN __attribute__((noinline))
double sink[64] __attribute__((aligned(64)));
OWN static void wide(double *to, int n) /* keeps its stack at 32 bytes: AVX2 */
{
	double t[64] __attribute__((aligned(32)));
	for (int i = 0; i < 64; i++)
		t[i] = sqrt(to[i] * n);
	for (int i = 0; i < 64; i++)
		sink[i] += t[(i * n) & 63];
}
OWN static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
OWN static int grows(int n) /* moves its stack pointer as it runs: a frame pointer */
{
	int v[n];
	for (int i = 0; i < n; i++)
		v[i] = rand();
	qsort(v, (size_t)n, sizeof(int), compare);
	return v[n / 2];
}
int main(int argc, char **argv)
{
	wide(sink, argc);
	printf("%d %g %s\n", grows(argc * 100), sink[argc], argv[0]);
	return 0;
}
C
same() { # what file least [arm64]
	local got
	"$BUILD/unwind_rows" "$2" >"$SCRATCH/rows" || { ok "$1" false; return; }
	LC_ALL=C readelf --debug-dump=frames-interp "$2" >"$SCRATCH/readelf" 2>/dev/null
	got=$(python3 "$(dirname "$0")/../compare_rows.py" "$SCRATCH/rows" "$SCRATCH/readelf" $4)
	is "$1: every row of readelf's is ours" "$(sed 1d <<<"$got")" ""
	ok "$1: there are rows ($(head -n 1 <<<"$got"))" test "$(head -n 1 <<<"$got")" -ge "$3"
}
linkage() { # what file rule: entries of its procedure linkage table have it, which no .eh_frame says
	local at
	at=$(readelf -SW "$2" | sed -n 's/^.* \.plt *PROGBITS *0*\([0-9a-f]*\) .*/\1/p')
	like "$1: its procedure linkage table has rows" "$("$BUILD/unwind_rows" "$2" | grep "^$at ")" "^$at $3\$"
}
built() { # name compiler arguments...
	local name=$1
	shift
	"$@" -o "$SCRATCH/$name" "$SCRATCH/a.c" -lm 2>"$SCRATCH/cc" || { skip "$name" "$1 cannot do it here"; return; }
	same "$name" "$SCRATCH/$name" 20
}
built plain gcc -O3 -fomit-frame-pointer
built realigned gcc -O3 -mavx2 -fomit-frame-pointer
built "with frame pointers" gcc -O0 -fno-omit-frame-pointer
built static gcc -O3 -fomit-frame-pointer -static
linkage static "$SCRATCH/static" "plt same"
built clang clang -O3 -mavx2 -fomit-frame-pointer
same "this shell" "$(readlink -f /proc/$$/exe)" 1000
libc=$(awk '$2 ~ /x/ && /\/libc\.so\.6$/ { print $6; exit }' /proc/$$/maps)
same "the C library" "$libc" 10000
# another processor's: with return addresses that are signed (pointer authentication), too
if command -v aarch64-linux-gnu-gcc >/dev/null; then
	signed="-fomit-frame-pointer -mbranch-protection=standard"
	for how in "aarch64-linux-gnu-gcc -fno-omit-frame-pointer" "aarch64-linux-gnu-gcc -fomit-frame-pointer" "aarch64-linux-gnu-gcc $signed -static" \
		"clang --target=aarch64-linux-gnu $signed"; do
		$how -O3 -o "$SCRATCH/arm64" "$SCRATCH/a.c" -lm 2>"$SCRATCH/cc" || { skip "$how" "$(head -n 1 "$SCRATCH/cc")"; continue; }
		same "$how" "$SCRATCH/arm64" 15 arm64
		linkage "$how" "$SCRATCH/arm64" "sp[+]0 same"
	done
else
	skip "arm64" "gcc-aarch64-linux-gnu is not installed"
fi
like "no ELF file is refused" "$("$BUILD/unwind_rows" "$SCRATCH/a.c" 2>&1)" "no ELF file"
head -c 3000 "$SCRATCH/plain" >"$SCRATCH/cut"
like "nor is one that is cut" "$("$BUILD/unwind_rows" "$SCRATCH/cut" 2>&1)" "no sections|no .eh_frame"
objcopy --remove-section .eh_frame "$SCRATCH/plain" "$SCRATCH/none" 2>/dev/null
like "one without .eh_frame says so" "$("$BUILD/unwind_rows" "$SCRATCH/none" 2>&1)" "no .eh_frame"
tap_done
