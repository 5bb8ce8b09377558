#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whose device is which with AMD's: a real Slurm whose gres.conf names device files as AMD's driver does, among them
# two partitions of one device; the devices themselves are a made-up /sys.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
. "$(dirname "$0")/../gpu.sh"
. "$(dirname "$0")/../amd_gpu.sh"
need_slurm

node=amdj$$
dri=$SCRATCH/dri
mkdir "$dri"
for n in 128 129 130; do mknod -m 666 "$dri/renderD$n" c 1 3 || skip_all "no device nodes here"; done
# the other way round than their addresses are
printf 'Name=gpu File=%s\n' "$dri/renderD[128-130]" >"$SCRATCH/gres.conf"
of_index=('0000:c6:00.0 ' '0000:05:00.0 0' '0000:05:00.0 1')
amd_device 0000:c6:00.0 0x740f 128 1 400
amd_counts 0000:c6:00.0 100
amd_device 0000:05:00.0 0x74a1 129 2 600
amd_counts 0000:05:00.0 100
kfd_node 1 111 0xc600 128
kfd_node 2 112 0x0500 129
kfd_node 3 113 0x10000500 130
kfd_generation 1
rig_start --nodes=$node --gpus=3 --gres="$SCRATCH/gres.conf"
ceemsd_start "${GPU_AS[@]}" --path.sysfs="$AMD_SYS" --collector.gpu --energy.interval=1s
ok "ceemsd starts" wait_for 20 ceemsd_up
read_both() { scrape && [ "$(grep -c '^ceems_gpu_energy_joules_total' "$SCRATCH/metrics")" = 2 ]; }
ok "both devices are read" wait_for 60 read_both

of_job() { jq -r --arg name "$1" '[.units[] | select(.hints.name == $name)][0] | .energy_joules.gpu // 0' "$SCRATCH/units"; }
flag() { # JOB: "gpuuuid gpuiid" of its device
	local id
	id=$(squeue -h -n "$1" -o %A | head -1)
	sed -n "s/^ceems_compute_unit_gpu_index_flag{.*uuid=\"$id\".*gpuuuid=\"\([^\"]*\)\",gpuiid=\"\([^\"]*\)\"} .*/\1 \2/p" "$SCRATCH/metrics"
}
index_of() { # JOB: Slurm's
	scontrol -d show job "$(squeue -h -n "$1" -o %A | head -1)" | sed -n 's/.*GRES=[^(]*(IDX:\([0-9]*\)).*/\1/p' | head -1
}
flag_is_right() { scrape && index=$(index_of "$1") && [ -n "$index" ] && [ "$(flag "$1")" = "${of_index[$index]}" ]; }
for job in one two three; do
	srun -J $job --gres=gpu:1 sh -c "echo \$\$ >$JOBS/pid-$job; while [ ! -e $JOBS/go ]; do sleep 0.05; done" 2>/dev/null &
	jobs+=($!)
	ok "job $job: its device file says which device or partition it is" wait_for 60 flag_is_right $job
	job_with[$index]=$job
done
is "each job has its own" "${#job_with[@]}" 3

# readings between which all jobs hold their devices
amd_counts 0000:c6:00.0 101
amd_counts 0000:05:00.0 101
shows_one() { scrape && [ "$(grep -c '^ceems_gpu_energy_joules_total{.*} 1$' "$SCRATCH/metrics")" = 2 ]; }
ok "both devices have taken a joule" wait_for 60 shows_one
amd_counts 0000:c6:00.0 1101
amd_counts 0000:05:00.0 2101
# charged INDEX: 1000 J, and at most that first one
charged() { scrape && awk -v j="$(of_job "${job_with[$1]}")" 'BEGIN { exit !(j >= 999.999 && j <= 1001.001) }'; }
ok "who holds a device pays for it: job ${job_with[0]}" wait_for 60 charged 0
ok "who holds a partition pays for its part: job ${job_with[1]}" wait_for 60 charged 1
ok "and so does who holds the other: job ${job_with[2]}" wait_for 60 charged 2

# who computes where: the second job on its own partition, the first on the other one's device
kfd_process "$(cat "$JOBS/pid-${job_with[1]}")" 112 4096 1
kfd_process "$(cat "$JOBS/pid-${job_with[0]}")" 113 4096 1
processes() { sed -n "s/^ceems_gpu_processes{.*gpuuuid=\"$1\",owner=\"$2\"} //p" "$SCRATCH/metrics"; }
are_told() { scrape && [ "$(processes 0000:05:00.0 holder) $(processes 0000:05:00.0 other_unit)" = "1 1" ]; }
ok "kfd's processes are a holder's or another unit's" wait_for 60 are_told
id=$(squeue -h -n "${job_with[0]}" -o %A)
is "which is named" "$(sed -n "s/^ceems_compute_unit_gpu_foreign_processes{.*uuid=\"$id\".*gpuuuid=\"0000:05:00.0\"} //p" "$SCRATCH/metrics")" 1
touch "$JOBS/go"
wait "${jobs[@]}"
tap_done
