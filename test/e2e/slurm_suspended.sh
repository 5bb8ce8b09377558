#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that Slurm has suspended pays for the CPUs that it holds and for nothing else, exactly; once
# resumed it pays for its CPU time again. Source `model`, with watts that are given.
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
need_slurm
cpus=$(nproc)

# microjoules of the whole node: NAME LABEL
uj() {
	awk -v name="$1" -v label="$2" 'index($0, name "{") == 1 && index($0, label) && index($0, "domain=\"host\"") {
		split($NF, a, "."); sum += a[1] * 1000000 + substr(a[2] "000000", 1, 6) }
		END { printf "%.0f\n", sum }' "$SCRATCH/metrics"
}
job() { uj ceems_compute_unit_energy_joules_total 'uuid="1"'; }
idle() { uj ceems_node_unattributed_energy_joules_total 'kind="idle"'; }
node() { uj ceems_node_energy_joules_total ''; }
charged() { scrape && [ "$(job)" -gt "${1:-0}" ]; }
# runs on until the job and the node have had several ticks more; sets the differences
watch() { # seconds
	scrape
	local was_job was_idle was_node
	was_job=$(job) was_idle=$(idle) was_node=$(node)
	sleep "$1"
	scrape
	job=$(($(job) - was_job)) idle=$(($(idle) - was_idle)) node=$(($(node) - was_node))
}

rig_start
ceemsd_start --energy.model=host --energy.host-source=model --energy.model.idle-watts=$((10 * cpus)) \
	--energy.model.max-watts=$((10 * cpus + 1000 * cpus)) --energy.idle-watts=other:$((10 * cpus)) \
	--energy.interval=200ms
ok "ceemsd is up" wait_for 20 ceemsd_up
srun -n1 -c1 --mem=20 "$JOBS/burn" 60000 >/dev/null 2>&1 & burn=$!
started $burn
ok "a job that runs is charged" wait_for 20 charged
holds_cpus() { scrape && held=$(jq '.units[0].cpus' "$SCRATCH/units") && [ "$held" -ge 1 ]; }
ok "it holds CPUs" wait_for 20 holds_cpus
watch 2
ok "for its CPU time: more than a CPU's idle power $job uJ" test "$job" -gt $((held * 10000000 * 4))
ran=$job

ok "Slurm suspends it" scontrol suspend 1
# What it used before it stopped may be charged some ticks later, and slurmstepd itself is not
# stopped: it pays for that in one period, and not in the next.
cpu() { scrape; awk '/^ceems_compute_unit_cpu_(user|system)_seconds_total\{/ && /uuid="1"/ { print $NF }' "$SCRATCH/metrics" | paste -sd' '; }
# shares are by microseconds: 10 uJ of a CPU's 10 W in each of some 20 ticks
off() { awk -v j="$job" -v i="$idle" -v h="$held" -v n="$cpus" 'BEGIN { d = j * (n - h) - i * h; if (d < 0) d = -d; print (d <= 20 * 10 * n ? "same" : d) }'; }
for _ in 1 2 3 4 5 6; do
	was_cpu=$(cpu)
	sleep 1 # the tick in which it stopped
	watch 3
	[ "$(cpu)" = "$was_cpu" ] && [ "$(off)" = same ] && break
done
is "nothing runs in it" "$(cpu)" "$was_cpu"
ok "the node goes on" test "$node" -gt 0
ok "it is charged for the CPUs that it holds: $job uJ" test "$job" -gt 0
# idle power is 10 W for each CPU: who holds one pays as much as what nobody holds costs
if [ "$held" -lt "$cpus" ]; then
	is "for what the other CPUs idle for, but for a microsecond a tick" "$(off)" same
else
	is "and nothing of it is nobody's" "$idle" 0
fi
ok "which is far less than when it ran" test "$job" -lt $((ran / 3))

ok "Slurm lets it go on" scontrol resume 1
sleep 1
watch 2
ok "and it pays for CPU time again: $job uJ" test "$job" -gt $((held * 10000000 * 4))
scancel 1
ok "it ends" wait_for 120 no_job
scrape
is "at the end the sums hold" "$(node)" "$(($(uj ceems_node_attributed_energy_joules_total '') + $(uj ceems_node_unattributed_energy_joules_total '')))"
tap_done
