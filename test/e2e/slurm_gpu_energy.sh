#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who is charged for a GPU: a real Slurm with two fake devices, a driver's library that is made
# up (test/fake/nvml.c) and numbers them the other way round, jobs far shorter than a tick.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
. "$(dirname "$0")/../gpu.sh"
need_slurm

node=gpuj$$
rig_start --nodes=$node --gpus=3
gpu_machine 'device 0 100 refresh=100' 'device 1 400 refresh=100 used=1000 gpm busy=40' \
	'device 2 0 mig gpm' 'instance 2 3 0 4 60 500' 'instance 2 5 0 3 20 0'
ceemsd_start "${GPU_AS[@]}" "${GPU_ARGS[@]}" --energy.interval=2s --collector.slurm.gpu-order-map=0:1,1:0,2:2.3
ok "ceemsd starts" wait_for 20 ceemsd_up
read_both() { scrape && [ "$(grep -c '^ceems_gpu_energy_joules_total' "$SCRATCH/metrics")" = 3 ]; }
ok "all devices are read" wait_for 60 read_both

# joules and seconds of a job, as ceemsd has them
of_job() { jq -r --arg name "$1" '[.units[] | select(.hints.name == $name)][0] | "\(.energy_joules.gpu // 0) \(.elapsed_seconds)"' "$SCRATCH/units"; }
is_charged() { scrape && of_job "$1" | awk '{ exit !($1 > 0) }'; }
# all of it: a tick later nothing has been added
is_settled() {
	local was
	is_charged "$1" || return
	was=$(of_job "$1")
	sleep 2.5
	scrape && [ "$(of_job "$1")" = "$was" ]
}
# near NAME WATTS PERCENT: its energy is what the device took in its life
near() { of_job "$1" | awk -v w="$2" -v p="$3" '{ want = w * $2; exit !($1 > want * (100 - p) / 100 && $1 < want * (100 + p) / 100) }'; }

# until slurmd has said which device is which, nobody is charged
srun -J warm --gres=gpu:1 sh -c "while [ ! -e $JOBS/go ]; do sleep 0.05; done" 2>/dev/null &
warm=$!
ok "a job that holds a device is charged" wait_for 60 is_charged warm
of_device() { sed -n "s/^ceems_compute_unit_gpu_$1{.*uuid=\"1\".*index=\"0\".*} //p" "$SCRATCH/metrics"; }
held() { scrape && [ "$(of_device power_watts) $(of_device memory_used_bytes)" = "400 1048576000" ]; }
ok "a job has the figures of the device that it holds, though it does nothing with it" wait_for 60 held
is "its multiprocessors are counted by the driver" "$(of_device sm_count)" 132
is "how busy it is" "$(of_device busy_ratio)" 0.4
profiled() { scrape && [ "$(of_device sm_active_ratio) $(of_device sm_occupancy_ratio) $(of_device fp64_active_ratio)" = "0.4 0.2 " ]; }
ok "and by its performance counters, where it tells them" wait_for 60 profiled
touch "$JOBS/go"
wait $warm

srun -J short --gres=gpu:1 sleep 0.3
srun -J none sleep 0.3
ok "a job of 0.3 s within a tick of 2 s is charged" wait_for 60 is_settled short
ok "what its device, the driver's second, took in its life, within 15 %: $(of_job short)" near short 400 15
# ticks follow the clock, its counter lags behind: what comes after a step's end is the step's, too
of_step() { jq -r --arg name "$1" '[.units[] | select(.hints.name == $name)][0] | [.steps[] | select(.step == "0")][0].energy_joules.gpu // 0' "$SCRATCH/units"; }
step_is_charged() { scrape && awk -v s="$(of_step "$1")" -v j="$(of_job "$1" | cut -d' ' -f1)" 'BEGIN { exit !(s >= 0.3 * 400 * 0.85 && s <= j) }'; }
ok "its step has at least what the device took in 0.3 s, within 15 %, and no more than the job" wait_for 60 step_is_charged short
is "a job without a device is charged nothing" "$(of_job none | cut -d' ' -f1)" 0
srun -J both --gres=gpu:2 sleep 0.5
ok "a job with both is charged" wait_for 60 is_settled both
ok "both devices' energy, within 15 %: $(of_job both)" near both 500 15
# what its user is told at the end
srun -J told --ceems-report --gres=gpu:1 sh -c "while [ ! -e $JOBS/told ]; do sleep 0.05; done" 2>"$SCRATCH/report" &
told=$!
has_read() {
	local job
	job=$(squeue -h -n told -t R -o %A) && [ -n "$job" ] && scrape &&
		grep -q "^ceems_compute_unit_gpu_idle_seconds_total{.*uuid=\"$job\"" "$SCRATCH/metrics"
}
ok "the devices of a job that asked for a report are read" wait_for 60 has_read
sleep 0.5
touch "$JOBS/told"
wait $told
like "its report has how busy its GPU was and its memory" "$(grep GPU "$SCRATCH/report")" '^  GPU        about (39\.9|40(\.0)?) % busy, idle for 0 s, [0-9.]+ [KMG]iB of memory at most$'
like "and the GPU's energy" "$(grep energy "$SCRATCH/report")" 'gpu [0-9.]+ \(gpu\)'
srun -Q --ceems-report=json --gres=gpu:1 true 2>"$SCRATCH/report"
is "of a job that ended before a reading nothing is told" "$(jq -c '.counts.gpu_busy_ns' "$SCRATCH/report")" null
# an instance (MIG), and with it both devices
srun -J instance --gres=gpu:3 sh -c "while [ ! -e $JOBS/end ]; do sleep 0.05; done" 2>/dev/null &
instance=$!
of_instance() { sed -n "s/^ceems_compute_unit_gpu_$1{.*index=\"2\".*gpuiid=\"3\".*} //p" "$SCRATCH/metrics"; }
has_instance() { scrape && [ "$(of_instance memory_used_bytes) $(of_instance memory_size_bytes) $(of_instance sm_active_ratio)" = "524288000 42949672960 0.6" ]; }
ok "a job has the figures of the instance that it holds" wait_for 60 has_instance
is "its multiprocessors are counted, too" "$(of_instance sm_count)" 64
is "which has no power of its own, nor is it known how busy it is" "$(of_instance power_watts)$(of_instance busy_ratio)" ""
touch "$JOBS/end"
wait $instance
# a process on a device that its job was not given
srun -J intruder sh -c "echo \$\$ >$JOBS/pid.new; mv $JOBS/pid.new $JOBS/pid; while [ ! -e $JOBS/out ]; do sleep 0.05; done" 2>/dev/null &
intruder=$!
ok "a job without a device runs" wait_for 60 test -e "$JOBS/pid"
gpu_machine 'device 0 100 refresh=100' 'device 1 400 refresh=100' 'device 2 0 mig gpm' 'instance 2 3 0 4 60 500' 'instance 2 5 0 3 20 0' \
	"process 1 $(cat "$JOBS/pid") 0 100 0" "process 1 $$ 0 100 0"
intruded() { scrape && [ "$(sed -n 's/^ceems_compute_unit_gpu_foreign_processes{.*gpuindex="1".*} //p' "$SCRATCH/metrics")" = 1 ]; }
ok "its process on one is seen" wait_for 60 intruded
is "and those of no job are told apart from it" "$(sed -n 's/^ceems_gpu_processes{.*index="1".*owner="\(.*\)"} /\1 /p' "$SCRATCH/metrics" | sort | paste -sd' ')" \
	"holder 0 other_unit 1 outside 1"
touch "$JOBS/out"
wait $intruder
adds_up() {
	scrape && awk '/domain="gpu"/ { split($NF, a, "."); v = a[1] * 1000000 + substr(a[2] "000000", 1, 6)
		if (/^ceems_node_energy_joules_total/) all += v
		if (/^ceems_node_(un)?attributed_energy_joules_total/) parts += v }
		END { exit !(all > 0 && all == parts) }' "$SCRATCH/metrics"
}
ok "units, idle and system are what the devices counted" adds_up
ok "the daemon met nothing that it had to warn of" test "$(grep -c 'level=\(warn\|error\)' "$SCRATCH/ceemsd.log")" = 0
sed -n '/level=\(warn\|error\)/s/^/# /p' "$SCRATCH/ceemsd.log"
tap_done
