#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceemsd is killed again and again while four people submit a hundred short jobs to a real
# Slurm, whose slurmd is restarted once: afterwards every job is there once, its CPU time is
# that of the ring's records, and the node's counters are their sum and the kernel's count.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm

node=kill$$
rig_start --nodes=$node
ceemsd_start
ok "ceemsd starts" wait_for 20 ceemsd_up
truth_start

submit() { # how many: srun and sbatch in turn; what a restarting slurmd refuses is tried again
	local n=$1
	while [ "$n" -gt 0 ]; do
		if [ $((n % 2)) = 0 ]; then
			srun "$JOBS/burn" 10 >/dev/null 2>&1
		else
			sbatch --wait -o /dev/null -e /dev/null --wrap "$JOBS/burn 10" >/dev/null 2>&1
		fi && n=$((n - 1))
	done
}
submitters=()
for i in 1 2 3 4; do
	submit 25 &
	submitters+=($!)
done
busy() { local p; for p in "${submitters[@]}"; do kill -0 "$p" 2>/dev/null && return; done; return 1; }
slurmd_pid() { cat "$SLURM/pid/slurmd-$node"; }

kills=0
while busy; do
	sleep "0.$((RANDOM % 500 + 200))"
	busy || break
	kill -9 "$ceemsd_pid"
	{ wait "$ceemsd_pid"; } 2>/dev/null
	kills=$((kills + 1))
	if [ $kills = 3 ]; then
		old=$(slurmd_pid)
		kill "$old"
		wait_for 20 eval "! kill -0 $old"
		SLURM_RIG_DIR=$SLURM slurmd -N "$node" >/dev/null 2>&1 </dev/null
	fi
	[ $((RANDOM % 3)) = 0 ] || sleep 0.2 # sometimes nobody is there for a while
	ceemsd_start
done
wait "${submitters[@]}"
ok "the daemon was killed in the middle, several times" test $kills -ge 5
ok "slurmd was restarted" test "$(slurmd_pid)" != "${old:-none}"
ok "everything ends" settled 60
done_jobs() { squeue -h -t CD -o %A | sort -n; }
echo "# $kills kills, $(done_jobs | wc -l) jobs, $(wc -l <"$SCRATCH/records") records"
ok "a hundred jobs were completed" test "$(done_jobs | wc -l)" -ge 100
is "each of them is there, once" "$(jq -r '.units[] | select(.end == "completed") | .id' "$SCRATCH/units" | sort -n)" "$(done_jobs)"
is "with the CPU time of its records" "$(scraped_cpu)" "$(record_cpu)"
is "no unit is counted twice or lost" "$(value ceems_units_started_total)" "$(record_cpu | wc -l)"
is "no step, either" "$(value ceems_steps_started_total) $(value ceems_steps_ended_total)" "$(record_steps | wc -l) $(record_steps | wc -l)"
is "the node's counters are the sum of all records" "$(scraped_node_cpu)" "$(record_node_cpu)"
is "to the nanosecond what the kernel counted" "$(scraped_node_cpu)" "$(kernel_cpu $node)"
is "no record was dropped, none was bad" "$(sed -n 's/^ceems_ring_\(dropped\|bad_records\)_total{.*} //p' "$SCRATCH/metrics" | paste -sd' ')" "0 0"
is "no table and no ring was thrown away" "$(grep -c ': new, with' "$SCRATCH/ceemsd.log")" 2
tap_done
