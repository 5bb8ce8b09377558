#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_profile.sh: profiles of the programs in $BUILD/stacks and of Python, on another processor.
. "$(dirname "$0")/../tap.sh"
group=/sys/fs/cgroup/stacks
echo +pids >/sys/fs/cgroup/cgroup.subtree_control # perf's part of a group comes with the first other
mkdir "$group"
echo "# $(grep -o 'pac[ag]' /proc/cpuinfo | paste -sd' ')"
sample() { # what command...: into $SCRATCH/stacks and $samples
	local what=$1
	(echo $BASHPID >"$group/cgroup.procs" && exec "${@:2}") </dev/null >/dev/null 2>&1 &
	program=$!
	started $program
	"$BUILD/ceems-profiler" --cgroup="$group" --duration="2s" --profile.hz=197 >"$SCRATCH/stacks" 2>"$SCRATCH/summary"
	kill $program
	wait $program 2>/dev/null
	sed "s/^/# $what: /" "$SCRATCH/summary"
	grep -v '^_start' "$SCRATCH/stacks" | head -n 5 | sed 's/^/# /'
	samples=$(sed -n 's/.*msg="\([0-9]*\) samples.*/\1/p' "$SCRATCH/summary")
	ok "$what: there are samples (${samples:-none})" test "${samples:-0}" -ge 100
}
for p in "$BUILD"/stacks/*; do
	what=${p##*/}
	sample "$what" "$p"
	whole=$(sed -n 's/.*: \([0-9]*\) whole.*/\1/p' "$SCRATCH/summary")
	ok "$what: 98 % of their stacks are whole (${whole:-0})" test $((${whole:-0} * 100)) -ge $((${samples:-1} * 98))
	like "$what: they are its calls" "$(sort -t' ' -k2 -rn "$SCRATCH/stacks" | head -n 20)" '_start;.*;main;(outer;){9}mid;leaf [0-9]'
	like "$what: also by way of the C library" "$(sort -t' ' -k2 -rn "$SCRATCH/stacks" | head -n 20)" ';main;sorting;_*qsort_r;(.*;)?compare [0-9]'
done
sample "Python" python3 test/stacks.py
python3 test/stacks_judge.py "$SCRATCH/stacks" >"$SCRATCH/judged" 2>"$SCRATCH/wrong"
read -r right wrong <"$SCRATCH/judged"
ok "Python: its functions are where they were called ($right, $wrong are not)" test "${right:-0}" -ge 100 -a $((${right:-0} * 100)) -ge $(((${right:-0} + ${wrong:-1}) * 95)) || head -n 5 "$SCRATCH/wrong" >&2
tap_done
