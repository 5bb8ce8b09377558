#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs of a real Slurm on one divided GPU (MIG): two hold a compute instance each of one GPU instance, two
# share another GPU instance by shards. What each pays, and what is known of it (a made-up library,
# test/fake/nvml.c: no GPU is here).
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/slurm.sh"
. "$TOP/test/gpu.sh"
need_slurm

cat >"$SCRATCH/gres.conf" <<-END
	Name=gpu File=$SLURM/dev/gpu[0-2]
	Name=shard Count=12
END
rig_start --nodes=gpum$$ --gpus=3 --shards=12 --gres="$SCRATCH/gres.conf"
# of seven slices the first GPU instance has four, for compute instances of three and one
gpu_machine 'device 0 700 mig gpm' 'instance 0 3 0 4 60 500 3' 'instance 0 3 1 4 60 500 1' 'instance 0 5 0 3 20 300'
args=("${GPU_AS[@]}" "${GPU_ARGS[@]}" --energy.interval=500ms --energy.idle=none)
ceemsd_start "${args[@]}" --collector.slurm.gpu-order-map=0:0.3.0,1:0.3.1,2:0.5
ok "ceemsd starts" wait_for 60 ceemsd_up
hold() { srun -J "$1" --gres="$2" sh -c "touch $JOBS/$1; while [ ! -e $JOBS/go ]; do sleep 0.05; done" 2>/dev/null & }
are_up() { local j; for j; do [ -e "$JOBS/$j" ] || return 1; done; }
hold three_slices gpu:1
ok "one job has a compute instance" wait_for 60 are_up three_slices
hold one_slice gpu:1
ok "one has another of the same GPU instance" wait_for 60 are_up one_slice
hold one_shard shard:1
hold three_shards shard:3
ok "two share another GPU instance" wait_for 60 are_up one_shard three_shards
jobs=(three_slices one_slice one_shard three_shards)

uj_of() { jq -r --arg n "$1" '[.units[] | select(.hints.name == $n)][0].energy_joules.gpu // 0' "$SCRATCH/units"; }
read_all() { scrape && for j in "${jobs[@]}"; do uj_of "$j"; done | paste -sd' '; }
# all four are there together: what each took since WAS, as parts of all
parts_since() { read_all | awk -v was="$1" '{ split(was, w, " "); for (i = 1; i <= 4; i++) all += $i - w[i]
	if (all <= 0) exit 1; for (i = 1; i <= 4; i++) printf "%.3f ", ($i - w[i]) / all }'; }
all_charged() { read_all | awk '{ exit !($1 > 0 && $2 > 0 && $3 > 0 && $4 > 0) }'; }
# are PART...: what each takes from now on
are() {
	local was got
	was=$(read_all)
	sleep 2
	got=$(parts_since "$was")
	echo "# parts $got, expected $*"
	awk -v got="$got" -v want="$*" 'BEGIN { n = split(want, w, " "); split(got, g, " ")
		for (i = 1; i <= n; i++) if (g[i] < w[i] - 0.02 || g[i] > w[i] + 0.02) exit 1 }'
}
ok "all four are charged" wait_for 60 all_charged
# use x slices: 0.6 x 4 and 0.2 x 3, of 3.0
ok "compute instances pay by their slices, shards of an instance by their number" wait_for 60 are 0.6 0.2 0.05 0.15

of_job() { sed -n "s/^ceems_compute_unit_gpu_$2{.*uuid=\"$(squeue -h -n "$1" -o %A)\".*} //p" "$SCRATCH/metrics"; }
is "each compute instance has its multiprocessors" "$(of_job three_slices sm_count) $(of_job one_slice sm_count)" "48 16"
is "memory and counters, which are the GPU instance's, are nobody's" \
	"$(for j in "${jobs[@]}"; do of_job $j memory_used_bytes; of_job $j sm_active_ratio; done)" ""

# the same when nobody says which compute instance is whose
kill -TERM $ceemsd_pid
wait $ceemsd_pid
ceemsd_start "${args[@]}" --collector.slurm.gpu-order-map=0:0.3,1:0.3,2:0.5
ok "ceemsd starts again" wait_for 60 ceemsd_up
ok "compute instances that are not told apart pay in equal parts" wait_for 60 are 0.4 0.4 0.05 0.15
adds_up() {
	scrape && awk '/domain="gpu"/ { split($NF, a, "."); v = a[1] * 1000000 + substr(a[2] "000000", 1, 6)
		if (/^ceems_node_energy_joules_total/) all += v
		if (/^ceems_node_(un)?attributed_energy_joules_total/) parts += v }
		END { exit !(all > 0 && all == parts) }' "$SCRATCH/metrics"
}
ok "units, idle and system are what the device counted" adds_up
touch "$JOBS/go"
wait $(jobs -p | grep -vx "$ceemsd_pid")
sed -n '/level=\(warn\|error\)/s/^/# /p' "$SCRATCH/ceemsd.log"
tap_done
