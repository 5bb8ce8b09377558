# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests of ceems-profiler alone: a control group, the programs in it, what is sampled there.
group='' why=''
# [options of ceems-profiler]: makes $group, in which nothing runs; false, with $why, where it cannot be sampled
profiler_group() {
	local at=/sys/fs/cgroup
	[ ! -d $at/cpuacct ] || at=$at/cpuacct
	if [ ! -x "$BUILD/ceems-profiler" ]; then
		why="the profiler was not built here (libdw-dev)"
	elif ! have_root; then
		why="not root"
	elif ! mkdir "$at/ceems_test_$$" 2>/dev/null; then
		why="no control group can be made here"
	else
		group=$at/ceems_test_$$
		why=$("$BUILD/ceems-profiler" --cgroup="$group" --duration=1ms --log.level=error "$@" 2>&1 >"$SCRATCH/none")
		why=${why:+this kernel does not let it: ${why#*msg=}}
	fi
	[ -z "$why" ]
}
remove_group() { [ -z "$group" ] || wait_for 20 rmdir "$group"; }
test_cleanup() { remove_group; }
run_in_group() { # program...: sets program
	(echo $BASHPID >"$group/cgroup.procs" && exec "$@") </dev/null >/dev/null 2>&1 &
	program=$!
	started $program
}
end_program() { kill $program; wait $program 2>/dev/null; wait_for 20 is_empty; }
is_empty() { [ -z "$(cat "$group/cgroup.procs")" ]; }
# [options of ceems-profiler]: sets profiler; its stacks and summary are complete when it has ended
begin_profiler() {
	: >"$SCRATCH/summary" # a shell may be late to begin the next one
	"$BUILD/ceems-profiler" --cgroup="$group" --duration=1h --profile.hz=97 "$@" >"$SCRATCH/stacks" 2>"$SCRATCH/summary" &
	profiler=$!
	started $profiler
	wait_for 60 grep -q 'msg="sampling' "$SCRATCH/summary"
}
end_profiler() { kill $profiler; wait $profiler 2>/dev/null; }
# TICKS: samples until the program has run for so many more, however busy the machine is; 100 are a second
profile_program() {
	local enough
	begin_profiler
	enough=$(($(cpu_ticks $program) + $1))
	wait_for 180 has_run $program $enough
	end_profiler
}
samples() { sed -n 's/.*msg="\([0-9]*\) samples.*/\1/p' "$SCRATCH/summary"; }
number() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$SCRATCH/summary"; } # NAME: of the summary
