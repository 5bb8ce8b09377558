# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by benches that need live jobs: $units steps of one sleeping process each on real v1
# control groups. Sets $work (a scratch folder), $group (their parent: a signal USR1 to it lets
# each run for a moment) and $node; ends $pids and all of it at exit. Needs root and cgroup v1.
cg=/sys/fs/cgroup node=bench$$
hierarchies="cpuacct memory cpuset freezer"
[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 1; }
[ -d $cg/cpuacct ] || { echo "$0: needs cgroup v1" >&2; exit 1; }
work=$(mktemp -d /tmp/ceems-bench.XXXXXX) && chmod 755 "$work"
pids=() sleepers=()
clean() {
	kill "${sleepers[@]}" "${pids[@]}" 2>/dev/null
	wait 2>/dev/null
	sleep 0.2
	for h in $hierarchies; do
		[ ! -d "$cg/$h/slurm_$node" ] || find "$cg/$h/slurm_$node" -depth -type d -exec rmdir {} + 2>/dev/null
	done
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

for h in $hierarchies; do
	for ((j = 1; j <= units; j++)); do
		dirs+=("$cg/$h/slurm_$node/uid_0/job_$j/step_0")
	done
done
mkdir -p "${dirs[@]}" || exit 1
for d in "$cg/cpuset/slurm_$node" "$cg/cpuset/slurm_$node/uid_0" "$cg/cpuset/slurm_$node"/uid_0/job_* "$cg/cpuset/slurm_$node"/uid_0/job_*/step_0; do
	cat "${d%/*}/cpuset.cpus" >"$d/cpuset.cpus"
	cat "${d%/*}/cpuset.mems" >"$d/cpuset.mems"
done
# one parent of the name that marks a running step's tasks
cp "$BUILD/bench/waker" "$work/task" && cp /bin/bash "$work/slurmstepd"
setsid "$work/slurmstepd" -c 'trap "" USR1; for ((j = 1; j <= $1; j++)); do "$0" & echo $!; done; wait' "$work/task" "$units" >"$work/tasks" &
group=$!
pids+=("$group")
for _ in $(seq 100); do [ "$(wc -l <"$work/tasks")" = "$units" ] && break; sleep 0.05; done
mapfile -t sleepers <"$work/tasks"
for ((j = 1; j <= units; j++)); do
	for h in $hierarchies; do echo "${sleepers[j - 1]}" >"$cg/$h/slurm_$node/uid_0/job_$j/step_0/cgroup.procs"; done
done
