#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From the CPU to sacct: the real ceemsd fills the energy page, the real plugin reads it in a
# real Slurm with slurmdbd. The machine has no power sensor: source `model`, with watts that are
# given, so what is exact here is the division, and what agrees are sacct and /metrics.
#   slurm_energy_ceemsd.sh [24.11]
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/energy_slurm.sh
need_energy "$@"

# energy_ceemsd IDLE DYNAMIC: watts of the idle machine and of each busy CPU
energy_ceemsd() {
	ceemsd_start --energy.model=host --energy.host-source=model --energy.model.idle-watts="$1" \
		--energy.model.max-watts=$(($1 + $2 * $(nproc))) --energy.idle-watts=other:"$1" --energy.interval=1s
	wait_for 20 known
}
known() { scrape && grep -q '^ceems_node_energy_joules_total{.*domain="host"' "$SCRATCH/metrics" && [ -s "$RUNDIR/energy" ]; }
# microjoules: NAME LABEL, summed over what is in the last scrape
uj() {
	awk -v name="$1" -v label="$2" 'index($0, name "{") == 1 && index($0, label) && index($0, "domain=\"host\"") {
		split($NF, a, "."); sum += a[1] * 1000000 + substr(a[2] "000000", 1, 6) }
		END { printf "%.0f\n", sum }' "$SCRATCH/metrics"
}
unit_uj() { uj ceems_compute_unit_energy_joules_total "uuid=\"$1\""; }
settled_energy() { # every job has ended, and three ticks since
	wait_for 120 no_job && ticks 3 && scrape
}
ticks() { # so many, by the idle power that each adds
	local n was
	for ((n = 0; n <= $1; n++)); do
		scrape
		was=$(uj ceems_node_energy_joules_total '')
		wait_for 20 eval 'scrape && [ "$(uj ceems_node_energy_joules_total "")" != "'"$was"'" ]' || return
	done
}

energy_rig --contain
energy_ceemsd 6 1000
srun --mem=20 "$JOBS/burn" 2000 & one=$!
srun --mem=20 "$JOBS/burn" 6000 & three=$!
wait $one $three
ok "two jobs at once have ended" wait_for 20 rows 1 6
small=$(joules 1) large=$(joules 2)
[ "$small" -le "$large" ] || { t=$small small=$large large=$t; }
ok "1:3 of CPU time is 1:3 of the energy within 2 %: $small and $large J" \
	between $((small * 294)) $((large * 100)) $((small * 306))
settled_energy
for j in 1 2; do
	is "job $j has the energy of its extern step" "$(joules $j)" "$(joules $j.extern)"
	ok "which is what ceemsd says within 2 %: $(joules $j) J, $(unit_uj $j) uJ" \
		between $(($(unit_uj $j) * 98)) $(($(joules $j) * 100000000)) $(($(unit_uj $j) * 102))
done

# a node of ordinary watts: jobs + idle + system = node
kill $ceemsd_pid
wait $ceemsd_pid
energy_ceemsd 10 20
cat >"$JOBS/mix" <<-END
	#!/bin/bash
	#SBATCH --mem=60 --output=/dev/null
	srun --mem=20 $JOBS/burn 1500
	$JOBS/burn 700
	srun --mem=20 -n3 --overcommit $JOBS/burn 500
END
sbatch --wait "$JOBS/mix" >/dev/null
srun --mem=20 "$JOBS/burn" 900
for i in 1 2 3; do srun --mem=20 "$JOBS/burn" 20; done
ok "a batch job with steps, and four short ones, have ended" wait_for 30 rows 3 17
settled_energy
steps=$(($(joules 3.batch) + $(joules 3.0) + $(joules 3.1)))
ok "a job's steps have no more than the job, within 1 J each: $steps of $(joules 3) J" test "$steps" -le $(($(joules 3) + 4))
sum=0
for j in 3 4 5 6 7; do
	ok "job $j has in sacct what ceemsd settled, within 1 J per step: $(joules $j) J, $(unit_uj $j) uJ" \
		near "$(joules $j)" "$(unit_uj $j)" $((j == 3 ? 4 : 1))
	sum=$((sum + $(joules $j)))
done
node=$(uj ceems_node_energy_joules_total '') rest=$(uj ceems_node_unattributed_energy_joules_total '')
before=$(($(unit_uj 1) + $(unit_uj 2)))
ok "jobs + idle + system = node within 1 J per step: $sum J and $((before + rest)) of $node uJ" \
	near $((sum * 1000000 + before + rest)) "$node" 8 1000000
like "the node's power is in scontrol" "$(scontrol show node | grep -o 'CurrentWatts=[0-9]*')" '=[1-9]'

# a daemon that is killed and started again in the middle of a job
srun --mem=20 --acctg-freq=task=1 "$JOBS/burn" 4000 & job=$!
sleep 1.5
kill -9 $ceemsd_pid
wait $ceemsd_pid 2>/dev/null
sleep 1
energy_ceemsd 10 20
ok "a job over kill -9 of ceemsd ends well" wait $job
ok "and has its rows" wait_for 20 rows 8 3
settled_energy
ok "its energy in sacct is the settled one within 2 J: $(joules 8) J, $(unit_uj 8) uJ" near "$(joules 8)" "$(unit_uj 8)" 2

# a requeued job: its second run has its own energy only
cat >"$JOBS/again" <<-END
	#!/bin/bash
	#SBATCH --mem=20 --output=/dev/null --requeue
	[ "\${SLURM_RESTART_COUNT:-0}" != 0 ] || { $JOBS/burn 1500; touch $JOBS/first; exec sleep 100; }
	$JOBS/burn 300
	touch $JOBS/second
END
again=$(sbatch --parsable "$JOBS/again")
waits() { [ "$(squeue -h -j "$again" -o %t)" = PD ]; }
wait_for 20 test -e "$JOBS/first" && scontrol requeue "$again" && wait_for 20 waits
sleep 2
scontrol update JobId="$again" StartTime=now
ok "a requeued job runs again" wait_for 30 test -e "$JOBS/second"
settled_energy
wait_for 20 rows "$again" 3
# of a run that is put back Slurm writes the job's row before its extern step has ended
runs=$(sacct -D -n -P -j "$again" -o JobID,ConsumedEnergyRaw | sed -n "s/^$again.extern|//p" | paste -sd' ')
ok "the second run has its own energy only: $runs J" test "${runs#* }" -gt 0 -a $((${runs#* } * 2)) -lt "${runs% *}"
is "no node was drained" "$(sinfo -h -N -o %T | sort -u)" idle
tap_done
