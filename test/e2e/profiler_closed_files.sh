#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program whose file root may not open, as on an NFS with root_squash: here on a FUSE that is its user's alone. Its stacks
# and names come from what the process has mapped of it.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/profiler_group.sh"
[ -c /dev/fuse ] || skip_all "there is no /dev/fuse"
command -v setpriv >/dev/null || skip_all "no setpriv"
mkdir "$SCRATCH/mount"
test_cleanup() {
	umount -l "$SCRATCH/mount" 2>/dev/null
	remove_group
}
profiler_group || skip_all "$why"
cat >"$SCRATCH/a.c" <<'C'
#include <math.h>
volatile double s;
__attribute__((noinline)) void leaf(void) { for (int i = 0; i < 100000; i++) s += sqrt(i); s += 1; }
__attribute__((noinline)) void middle(void) { leaf(); s = 1; }
__attribute__((noinline)) static void own(void) { middle(); s = 2; }
/* Keeps the loader busy in the middle of its work, with .dynamic on a page that has nothing else of the file's */
void leaf(void);
#define EIGHT(x) x, x, x, x, x, x, x, x
void (*const far_from_dynamic[])(void) = {EIGHT(EIGHT(EIGHT(EIGHT(leaf))))};
static void nothing(void) { }
static void (*resolve(void))(void) { for (volatile int i = 0; i < 300000000; i++) ; return nothing; }
void late(void) __attribute__((ifunc("resolve")));
int main(void)
{
#ifdef LATE
	late();
#endif
	for (;;) own();
}
C
user=65533
begin_program() {
	run_in_group setpriv --reuid=$user --regid=$user --clear-groups "$SCRATCH/mount/program"
	wait_for 20 grep -q mount/program "/proc/$program/maps"
}
end_programs() {
	kill -9 $program
	wait $program 2>/dev/null
	kill -9 $server
	wait $server 2>/dev/null
	umount -l "$SCRATCH/mount"
}
try() { # first what flags...: first: the program or the profiler
	local first=$1
	shift
	gcc -O3 -fomit-frame-pointer -o "$SCRATCH/file" "$SCRATCH/a.c" -lm "${@:2}" 2>"$SCRATCH/log" || { skip "$1" "gcc cannot do it here"; return; }
	"$BUILD/hung_fuse" "$SCRATCH/file" "$SCRATCH/mount" "$SCRATCH/none" $user $user >"$SCRATCH/said" 2>"$SCRATCH/log" &
	server=$!
	started $server
	wait_for 20 grep -q ready "$SCRATCH/said" || { skip "$1" "no FUSE here: $(tail -n 1 "$SCRATCH/log")"; return; }
	ok "$1: root may not open it" test ! -r "$SCRATCH/mount/program"
	if [ "$first" = program ]; then begin_program; begin_profiler; else begin_profiler; begin_program; fi
	wait_for 120 has_run $program 300
	end_profiler
	like "$1: what it exports has its names, what it does not its file's, to the program's start" "$(cat "$SCRATCH/stacks")" '_start;.*main;\[program\];middle;leaf [0-9]'
	samples=$(samples) whole=$(sed -n 's/.*: \([0-9]*\) whole.*/\1/p' "$SCRATCH/summary")
	[ "$first" = program ] || { end_programs; return; }
	ok "$1: nearly all stacks are whole (${whole:-0} of ${samples:-0})" test "${samples:-0}" -gt 10 -a $((${whole:-0} * 100)) -ge $((${samples:-0} * 98))
	end_programs
}
try program "a position-independent program" -rdynamic -pie -fPIE
try program "one with fixed addresses" -rdynamic -no-pie
try program "one without .gnu.hash" -rdynamic -Wl,--hash-style=sysv
try profiler "one that is loaded while it is sampled" -rdynamic -pie -fPIE -Wl,-z,now -DLATE
tap_done
