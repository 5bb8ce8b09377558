#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The rig itself: each Slurm starts, runs jobs of ordinary users, and leaves nothing behind,
# also when it was killed. Two rigs run side by side.
. "$(dirname "$0")/../tap.sh"
rig=test/rig/slurm
why=$($rig possible) || skip_all "$why"
test_cleanup() { for v in 22 24; do $rig stop "$SCRATCH/$v"; done; }

alive() { # DIR: processes of the rig that are not zombies
	local p
	for p in /proc/[0-9]*; do
		grep -qs '^State:.Z' "$p/status" && continue
		grep -qszxF "SLURM_RIG_DIR=$1" "$p/environ" && readlink "$p/exe"
	done
}
cgroups() { find /sys/fs/cgroup -maxdepth 3 \( -name "slurm_$1" -o -name "$1_slurmstepd.scope" \) 2>/dev/null; }
mounts() { cat /proc/mounts | grep -F "$1"; }

one() { # folder version
	local dir=$SCRATCH/$1 node=self$1x$$ p
	ok "$2 starts" $rig start "$dir" --slurm="$2" --no-plugin --nodes="$node" 8>"$SCRATCH/inherited"
	is "$2 has a munged that keeps nothing open of whoever started it" "$(readlink /proc/"$(cat "$dir/pid/munged")"/fd/* | grep -c "$SCRATCH/inherited")" 0
	like "$2 is what srun says it is" "$("$dir/bin/srun" -V)" " ${2//./\\.}\."
	is "$2 runs a job of an ordinary user" "$("$dir/bin/as" daemon srun id -un)" daemon
	ok "$2 leaves the compiler its assembler" env PATH="$dir/bin:$PATH" sh -c \
		'echo "int x;" | ${CC:-cc} -x c -c -o /dev/null -'
	like "$2 puts the task into a cgroup of its node" "$("$dir/bin/srun" cat /proc/self/cgroup)" \
		"(slurm_$node|${node}_slurmstepd.scope)/"
	"$dir/bin/as" games sbatch -o "$dir/jobs/out" --wrap 'srun echo step; sleep 300' >/dev/null
	wait_for 20 grep -q step "$dir/jobs/out"
	is "$2 runs the step of a batch job" "$(cat "$dir/jobs/out" 2>/dev/null)" step
	ok "$2 stops with a job still running" $rig stop "$dir"
	is "$2 leaves no process" "$(alive "$dir")" ""
	is "$2 leaves no cgroup" "$(cgroups "$node")" ""
	is "$2 leaves no mount" "$(mounts "$dir")" ""

	ok "$2 starts again in the same folder" $rig start "$dir" --slurm="$2" --no-plugin --nodes="$node"
	for p in "$dir"/pid/*; do kill -9 "$(cat "$p")"; done
	ok "$2 starts after its daemons were killed" $rig start "$dir" --slurm="$2" --no-plugin --nodes="$node"
	is "$2 runs a job after that" "$("$dir/bin/srun" echo yes)" yes
}

one 22 "$(slurmd -V | sed 's/.* \([0-9]*\.[0-9]*\)\..*/\1/')"
if why=$($rig possible --slurm=24.11); then
	one 24 24.11
	is "the first rig still runs beside the second" "$("$SCRATCH/22/bin/srun" echo yes)" yes
	ok "the second stops" $rig stop "$SCRATCH/24"
else
	skip "Slurm 24.11" "$why"
fi
ok "the first stops" $rig stop "$SCRATCH/22"
is "nothing is left of either" "$(alive "$SCRATCH/22"; alive "$SCRATCH/24"; mounts "$SCRATCH")" ""
mkdir "$SCRATCH/other" && touch "$SCRATCH/other/file"
ok "a folder that holds something else is refused" bash -c "! $rig start '$SCRATCH/other' --no-plugin 2>/dev/null"
ok "and its contents stay" test -e "$SCRATCH/other/file"
tap_done
