#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Energy in sacct: real Slurm with slurmdbd and MariaDB, the real plugin and the real energy
# page. The power is made up (test/fake/energy_daemon.c), so that every joule is known.
#   slurm_energy.sh [24.11]
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/energy_slurm.sh
need_energy "$@"

# ---- with PrologFlags=Contain: the extern step is the job -----------------------------
energy_rig --contain

# no page: no energy, and nothing else happens
ok "a job without an energy page ends well" srun --mem=20 true
ok "sacct has its rows" wait_for 20 rows 1 2
is "its energy is not known rather than 0" "$(joules 1.0)" ""
is "nor its extern step's" "$(joules 1.extern)" ""

fake_start --dynamic-mw=1000000 --idle-mw=0 --interval-ms=1000
# 1:3 of CPU time at the same time. Short jobs of whole joules would be rounded: 1 kW per CPU.
srun --mem=20 "$JOBS/burn" 2000 & one=$!
srun --mem=20 "$JOBS/burn" 6000 & three=$!
wait $one $three
ok "two jobs at once have ended" wait_for 20 rows 2 6
small=$(joules 2) large=$(joules 3)
[ "$small" -le "$large" ] || { t=$small small=$large large=$t; }
ok "1:3 of CPU time is 1:3 of the energy within 2 %: $small and $large J" \
	between $((small * 294)) $((large * 100)) $((small * 306))
for j in 2 3; do
	is "job $j has the energy of its extern step" "$(joules $j)" "$(joules $j.extern)"
	ok "and that of its only step, $(joules $j.0) of $(joules $j) J within 2 %" \
		between $(($(joules $j) * 98)) $(($(joules $j.0) * 100)) $(($(joules $j) * 102))
done
fake_stop

# steps + rest = job, jobs + idle = node, with idle power
fake_start --dynamic-mw=20000 --idle-mw=6000 --interval-ms=200
begun=$(truth .node)
write_mix() {
	cat >"$JOBS/mix" <<-END
		#!/bin/bash
		#SBATCH --mem=60 --output=/dev/null
		srun --mem=20 $JOBS/burn 700
		$JOBS/burn 400
		srun --mem=20 -n3 --overcommit $JOBS/burn 300
		sleep 0.5
	END
}
write_mix
# the daemon has heard of the end of each step of a job, and what it then says is said
all_settled() { truth "[.rows[] | select(.job == $1) | .ended] | length > 0 and all" | grep -q true; }
sbatch --wait "$JOBS/mix" >/dev/null
ok "a batch job with steps has ended" wait_for 20 rows 4 5
wait_for 20 all_settled 4
steps=$(($(joules 4.batch) + $(joules 4.0) + $(joules 4.1)))
job=$(joules 4)
is "its energy is that of its extern step" "$job" "$(joules 4.extern)"
ok "its steps have no more than it: $steps of $job J" test "$steps" -le $((job + 3))
ok "and the rest is idle power while none ran: less than 40 %" test $((steps * 10)) -ge $((job * 6))
settled=$(truth ".rows[] | select(.job == 4 and .step == 4294967295).uj")
ok "the job row is the settled share within 1 J: $job J, $settled uJ" near "$job" "$settled" 1
for s in 0 1; do
	settled=$(truth ".rows[] | select(.job == 4 and .step == $s).uj")
	ok "step $s, too: $(joules 4.$s) J, $settled uJ" near "$(joules 4.$s)" "$settled" 1
done
measured=$(truth .node) idle=$(truth .idle)
ok "jobs + idle = node within 1 J per step: $job J, $idle of $measured uJ" near $((job * 1000000 + idle - begun)) $((measured - begun)) 4 1000000
srun --mem=20 -n3 --overcommit "$JOBS/burn" 200
ok "srun -n3: one energy for its three tasks" wait_for 20 rows 5 2
wait_for 20 all_settled 5
settled=$(truth ".rows[] | select(.job == 5 and .step == 0).uj")
ok "which is the settled one: $(joules 5.0) J, $settled uJ" near "$(joules 5.0)" "$settled" 1

# a question while a step runs, and who looks at the page
srun --mem=20 --acctg-freq=task=1 sh -c "while [ ! -e $JOBS/looked ]; do sleep 0.1; done" & job=$!
shown() { sstat -n -P -j 6.0 -o ConsumedEnergyRaw | grep -qxE '[0-9]+'; }
ok "sstat shows the energy of a step that runs" wait_for 20 shown
touch "$JOBS/looked"
wait $job
ctld=$(cat "$SLURM/pid/slurmctld")
ok "slurmctld has loaded the plugin" grep -q acct_gather_energy_ceems "/proc/$ctld/maps"
is "and looks at nothing" "$(readlink "/proc/$ctld"/fd/* | grep -c "$RUNDIR")" 0

# daemon and page go while a job runs
srun --mem=20 --acctg-freq=task=1 "$JOBS/burn" 6000 & job=$!
known() { [ "$(sstat -n -P -j 7.0 -o ConsumedEnergyRaw 2>/dev/null || echo 0)" -ge 5 ]; }
wait_for 4 known
sleep 1.2 # once more by itself
fake_stop
rm -f "$RUNDIR/energy"
ok "a job whose daemon stopped and whose page vanished ends well" wait $job
ok "it keeps what was known" wait_for 20 rows 7 3
ok "which is more than nothing and less than all: $(joules 7.0) J" between 5 "$(joules 7.0)" 132
is "no node was drained" "$(sinfo -h -N -o %T | sort -u)" idle
like "scontrol shows the node's watts" "$(scontrol show node | grep -o 'CurrentWatts=[0-9]*')" '=6$'
is "nothing of the plugin's is an error" "$(grep -hE 'error: (.*: )?(ceems:|acct_gather_energy/ceems)' "$SLURM"/log/slurm*.log)" ""
$rig stop "$SLURM"

# ---- two slurmd on one host -------------------------------------------------------------
energy_rig --contain --nodes=enA$$,enB$$
fake_start --dynamic-mw=50000 --idle-mw=0 --interval-ms=300
srun --mem=20 -N2 -n2 "$JOBS/burn" 800
ok "a job on two nodes of one host has ended" wait_for 20 rows 1 2
wait_for 20 all_settled 1
is "each node has a row of its own" "$(truth '[.rows[] | select(.step == 0)] | length')" 2
settled=$(truth '[.rows[] | select(.step == 0).uj] | add')
ok "the step has the energy of both: $(joules 1.0) J, $settled uJ" near "$(joules 1.0)" "$settled" 2
is "the job as well" "$(joules 1)" "$(joules 1.extern)"
ok "and it is that of the step within 5 %" between $(($(joules 1.0) * 95)) $(($(joules 1) * 100)) $(($(joules 1.0) * 105))
fake_stop
$rig stop "$SLURM"

# ---- without Contain: Slurm adds the numbered steps --------------------------------------
energy_rig
fake_start --dynamic-mw=100000 --idle-mw=0 --interval-ms=300
write_mix
sbatch --wait "$JOBS/mix" >/dev/null
ok "without Contain a batch job has no extern step" wait_for 20 rows 1 4
is "its energy is that of its numbered steps (the batch step is left out by Slurm)" \
	"$(joules 1)" $(($(joules 1.0) + $(joules 1.1)))
ok "the batch step's own energy is there: $(joules 1.batch) J" between 35 "$(joules 1.batch)" 60
fake_stop
$rig stop "$SLURM"

# ---- steps that are managed by a slurmstepd (24.05 and later) ------------------------------
if [ "${1:-}" = 24.11 ]; then
	echo SlurmctldParameters=enable_stepmgr >"$SCRATCH/stepmgr.conf"
	energy_rig --contain --conf="$SCRATCH/stepmgr.conf"
	fake_start --dynamic-mw=100000 --idle-mw=0 --interval-ms=300
	write_mix
	sbatch --stepmgr --wait "$JOBS/mix" >/dev/null
	ok "with stepmgr a batch job has all its rows" wait_for 20 rows 1 5
	wait_for 20 all_settled 1
	ok "its steps are managed by its extern step" grep -q '1.extern stepmgr' "$SLURM"/log/slurmd-*.log
	is "its energy is that of its extern step" "$(joules 1)" "$(joules 1.extern)"
	settled=$(truth ".rows[] | select(.job == 1 and .step == 4294967295).uj")
	ok "and its settled share: $(joules 1) J, $settled uJ" near "$(joules 1)" "$settled" 2
	fake_stop
	$rig stop "$SLURM"
fi

# ---- not alone ---------------------------------------------------------------------------
echo "AcctGatherEnergyType=acct_gather_energy/ceems,acct_gather_energy/$(other_plugin)" >"$SCRATCH/two.conf"
energy_rig --contain --conf="$SCRATCH/two.conf"
fake_start
ok "beside another energy plugin a job ends well" srun --mem=20 "$JOBS/burn" 200
ok "slurmctld and slurmd say that ours must be the only one" \
	grep -q 'is not the only plugin' "$SLURM"/log/slurmctld.log "$SLURM"/log/slurmd-*.log
wait_for 20 rows 1 2
ok "and it adds nothing to the sum: '$(joules 1.0)' J" test "$(joules 1.0)" -lt 3
tap_done
