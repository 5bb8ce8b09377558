#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs of a real Slurm on a node without our plugin: what they used is read inside the kernel when
# their control groups are removed, however short they were, to the nanosecond. So it is for a step
# that is killed together with its slurmstepd.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"

node=ebpf$$
rig_start --no-plugin --nodes=$node
ceemsd_start --collector.ebpf
ok "ceemsd starts" wait_for 20 ceemsd_up
scrape
like "with kernel programs that follow the steps' control groups" "$(value ceems_groups_slots)" 4096

jobs=20
for ((i = 0; i < jobs; i++)); do srun -J "job$i" "$JOBS/burn" $((i % 4 * 20)) >/dev/null 2>&1; done
ok "all jobs have ended" wait_for 120 no_job
all_ended() { scrape && [ "$(jq '[.units[] | select(.state == "ended")] | length' "$SCRATCH/units")" -ge $jobs ]; }
ok "each is found to have ended, though none told of itself" wait_for 60 all_ended
scrape # it took the metrics before the units
is "each is a unit" "$(jq '.units | length' "$SCRATCH/units")" $jobs
is "with all that the kernel counted, to the nanosecond" "$(scraped_node_cpu)" "$(kernel_cpu "$node")"
is "no record told of any" "$(value ceems_ring_records_total)" 0
is "each was counted by the kernel's word" "$(value ceems_steps_lost_stops_total)" $jobs

# ceemsd is started again while a job runs
mkfifo "$JOBS/go"
srun -J across bash -c "$JOBS/burn 100; read x <$JOBS/go; $JOBS/burn 50" >/dev/null 2>&1 &
seen() { scrape && [ "$(value ceems_compute_units)" = "$1" ]; }
ok "a running job is found within seconds" wait_for 60 seen 1
kill -9 "$ceemsd_pid"; wait "$ceemsd_pid" 2>/dev/null
ceemsd_start --collector.ebpf
ok "ceemsd starts again" wait_for 20 ceemsd_up
ok "it still has the job" wait_for 60 seen 1
echo >"$JOBS/go"
ok "it ends" wait_for 120 no_job
ok "it has ended" wait_for 60 seen 0
is "with all that the kernel counted, too" "$(scraped_node_cpu)" "$(kernel_cpu "$node")"

# killed with its slurmstepd, and its control groups removed by somebody else
srun -J killed bash -c "echo \$\$ >$JOBS/task.new; mv $JOBS/task.new $JOBS/task; while :; do :; done" >/dev/null 2>&1 &
srun_pid=$!
ok "a job runs" wait_for 60 seen 1
wait_for 20 test -s "$JOBS/task"
task=$(cat "$JOBS/task")
stepd=$(ps -o ppid= -p "$task" | tr -d ' ')
is "below its slurmstepd" "$(cat "/proc/$stepd/comm")" slurmstepd
group=$(sed -n 's/^[0-9]*:[^:]*cpuacct[^:]*:\(.*step_0\).*/\1/p' "/proc/$task/cgroup")
kill -9 "$stepd" "$task"
remove_groups() { find /sys/fs/cgroup/*"$group" -depth -type d -exec rmdir {} + 2>/dev/null; ! compgen -G "/sys/fs/cgroup/*$group" >/dev/null; }
ok "its control groups are removed" wait_for 20 remove_groups
ok "its unit has ended" wait_for 60 seen 0
scancel -n killed
kill -9 $srun_pid $(pgrep -P $srun_pid) 2>/dev/null
wait $srun_pid 2>/dev/null
is "with all that the kernel counted, again" "$(scraped_node_cpu)" "$(kernel_cpu "$node")"

# under systemd the programs go on while ceemsd is away
if command -v python3 >/dev/null; then
	kill "$ceemsd_pid"; wait "$ceemsd_pid"
	mkdir -m 755 "$SCRATCH/keeper"
	CEEMSD_UNDER="python3 test/fake/fd_keeper.py $SCRATCH/keeper" ceemsd_start --collector.ebpf
	ok "ceemsd starts as a service" wait_for 20 ceemsd_up
	scrape
	before=$(jq '.units | length' "$SCRATCH/units")
	srun -J over "$JOBS/burn" 30 >/dev/null 2>&1
	srun -J across2 bash -c "$JOBS/burn 100; read x <$JOBS/go; $JOBS/burn 50" >/dev/null 2>&1 &
	ok "a job runs" wait_for 60 seen 1
	kill -9 "$(cat "$SCRATCH/keeper/pid")"
	ok "ceemsd is killed" wait_for 20 test ! -e "$SCRATCH/keeper/pid"
	echo >"$JOBS/go"
	for ((i = 0; i < 5; i++)); do srun -J "away$i" "$JOBS/burn" $((i * 10)) >/dev/null 2>&1; done
	ok "jobs begin and end without it" wait_for 120 no_job
	: >"$SCRATCH/keeper/again"
	ok "it starts again" wait_for 20 ceemsd_up
	like "with the programs of before" "$(cat "$SCRATCH/ceemsd.log")" "has followed the control groups of steps since before this start"
	all_there() { scrape && [ "$(value ceems_compute_units) $(jq '[.units[] | select(.state == "ended")] | length' "$SCRATCH/units")" = "0 $((before + 7))" ]; }
	ok "it has all jobs, and that they have ended" wait_for 60 all_there
	scrape
	is "with all that the kernel counted while it was away" "$(scraped_node_cpu)" "$(kernel_cpu "$node")"
	kill "$ceemsd_pid"; wait "$ceemsd_pid"
	is "ceemsd ends well" $? 0
else
	skip "ceemsd starts as a service" "python3 is not installed"
fi
tap_done
