#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Stacks of programs without frame pointers, as compilers make them, followed to the program's start.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/profiler_group.sh"
profiler_group || skip_all "$why"
ok "a group where nothing runs has no stacks" test ! -s "$SCRATCH/none"

cat >"$SCRATCH/f.f90" <<'F'
module heat
contains
subroutine relax(u, n)
 integer, intent(in) :: n
 real(8), intent(inout) :: u(n, n)
 integer :: i, j
 do j = 2, n - 1
  do i = 2, n - 1
   u(i, j) = 0.25d0 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
  end do
 end do
end subroutine
subroutine advance(u, n)
 integer, intent(in) :: n
 real(8), intent(inout) :: u(n, n)
 integer :: i
 do i = 1, 50
  call relax(u, n)
 end do
 u = u + matmul(u, u) * 1d-12
end subroutine
end module
program p
 use heat
 real(8), allocatable :: u(:, :)
 allocate(u(300, 300))
 call random_number(u)
 do
  call advance(u, 300)
 end do
end program
F
profile() { # seconds: stacks, summary
	"$BUILD/ceems-profiler" --cgroup="$group" --duration="$1s" --profile.hz=97 >"$SCRATCH/stacks" 2>"$SCRATCH/summary"
}
judge() { # what: of the samples with a stack at least 98 % are whole
	local samples whole first
	samples=$(samples) whole=$(sed -n 's/.*: \([0-9]*\) whole.*/\1/p' "$SCRATCH/summary")
	first=$(number "first of a process")
	ok "$1: there are samples (${samples:-none})" test "${samples:-0}" -ge 20
	ok "$1: their stacks are whole (${whole:-0}, and $first from before it was known)" test $((${whole:-0} * 100)) -ge $(((${samples:-1} - ${first:-0}) * 98))
	is "$1: none was lost" "$(number lost)" 0
}
run_built() { # what pattern compile...
	local what=$1 wanted=$2
	shift 2
	"$@" -o "$SCRATCH/program" 2>"$SCRATCH/cc" || { skip "$what" "$1 cannot do it here"; return; }
	run_in_group "$SCRATCH/program"
	profile_program 200
	end_program
	judge "$what"
	like "$what: they are its calls" "$(sort -t' ' -k2 -rn "$SCRATCH/stacks" | head -n 20)" "$wanted"
}
run_one() { run_built "$@" -O3 -fomit-frame-pointer -fno-inline -lm; } # what pattern compiler arguments...: one function, one name
own='-fno-ipa-cp -fno-ipa-sra'
chain='_start;.*;main;(outer;){9}mid;leaf [0-9]'
run_one gcc "$chain" gcc $own test/stacks.c
run_one "gcc, static" "$chain" gcc $own -static test/stacks.c
run_one clang "$chain" clang test/stacks.c
command -v gfortran >/dev/null && run_one gfortran '_start;.*;main;MAIN__;heat::advance;heat::relax [0-9]' gfortran $own "$SCRATCH/f.f90" -J "$SCRATCH"
cat >"$SCRATCH/r.rs" <<'R'
#[inline(never)]
fn relax(v: &mut [f64]) {
    for i in 1..v.len() - 1 {
        v[i] = 0.5 * (v[i - 1] + v[i + 1]);
    }
}
#[inline(never)]
fn advance(depth: u32, v: &mut [f64]) -> f64 {
    if depth == 0 {
        relax(v);
        return v[1];
    }
    advance(depth - 1, v) + v[0]
}
fn main() {
    let mut v = vec![1.0; 100000];
    loop {
        v[0] = std::hint::black_box(advance(9, &mut v)) % 3.0;
    }
}
R
if command -v rustc >/dev/null; then
	run_built rustc '_start;.*;main;.*std::rt::lang_start.*;r::main;(r::advance;)+r::relax [0-9]' rustc -C opt-level=3 -C force-frame-pointers=no "$SCRATCH/r.rs"
else
	skip rustc "it is not installed"
fi
# programs of a fifth of a second, one after the other: most of them are sampled before they are known
cat >"$SCRATCH/short.c" <<'C'
#include <math.h>
#include <time.h>
volatile double sink;
__attribute__((noinline)) double leaf(double x) { for (int i = 0; i < 100000; i++) x += sqrt(x + i); return x; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 5) sink = leaf(sink); }
C
if gcc -O3 -fomit-frame-pointer -o "$SCRATCH/short" "$SCRATCH/short.c" -lm 2>"$SCRATCH/cc"; then
	most_whole() { test $((${whole:-0} * 100)) -ge $((${samples:-1} * 98)); }
	for _ in 1 2 3; do # where the machine is busy with others, one is over before it is looked at
		run_in_group bash -c 'while :; do "$0"; done' "$SCRATCH/short"
		profile 8
		end_program
		whole=$(sed -n 's/.*: \([0-9]*\) whole.*/\1/p' "$SCRATCH/summary") samples=$(samples)
		! most_whole || break
	done
	ok "also of programs of 0.2 s (${whole:-0} of ${samples:-0})" most_whole
else
	skip "programs of 0.2 s" "gcc cannot do it here"
fi
# to Pyroscope, which a stand-in takes apart; the program is the last that was built
. "$(dirname "$0")/../port.sh"
push_to() { # status label...: sets said
	local port status=$1 host
	shift
	port=$(free_port)
	python3 "$(dirname "$0")/../fake/push_host.py" $port "$status" >"$SCRATCH/pushed" 2>"$SCRATCH/host" &
	host=$!
	started $host
	wait_for 30 grep -q ready "$SCRATCH/host"
	run_in_group "$SCRATCH/program"
	said=$("$BUILD/ceems-profiler" --cgroup="$group" --duration=1500ms --profile.hz=97 --push.url="http://127.0.0.1:$port/" "${@/#/--push.label=}" 2>&1 >"$SCRATCH/printed")
	rc=$?
	end_program
	kill $host 2>/dev/null
	wait $host 2>/dev/null
}
push_to 200 service_name=42 uuid=42
is "a profile is pushed" "$rc" 0
ok "and not printed" test ! -s "$SCRATCH/printed"
is "as Pyroscope wants it" "$(jq -c '[.path, .type, .labels.__name__, .labels.service_name, .labels.uuid, .sample_type, .period]' "$SCRATCH/pushed")" \
	'["/push.v1.PusherService/Push","application/proto","process_cpu","42","42",["cpu","nanoseconds"],10309278]'
samples=$(sed -n 's/.*msg="\([0-9]*\) samples.*/\1/p' <<<"$said")
is "it holds every sample's time" "$(jq '[.stacks[].value] | add' "$SCRATCH/pushed")" $((${samples:-0} * 10309278))
like "and whole stacks" "$(jq -r '.stacks[].frames | join(";")' "$SCRATCH/pushed")" '_start;.*main'
push_to 400 service_name=42
is "a refusal is an error" "$rc" 1
like "which says what Pyroscope said" "$said" ': status 400: .*code'
like "without a service it is not sent" "$("$BUILD/ceems-profiler" --cgroup="$group" --duration=1ms --push.url=http://127.0.0.1:1 --push.label=uuid=1 2>&1)" "service_name=... is missing"
like "a group that is not there is named" "$("$BUILD/ceems-profiler" --cgroup="$group/none" 2>&1)" "$group/none: No such file"
like "so is a folder that is none" "$("$BUILD/ceems-profiler" --cgroup="$SCRATCH" 2>&1)" "$SCRATCH: no control group"
like "no group is a mistake" "$("$BUILD/ceems-profiler" 2>&1)" "--cgroup names"
tap_done
