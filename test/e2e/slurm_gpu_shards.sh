#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two jobs of a real Slurm share a GPU (shards): each has the memory and the time of its own processes, as
# the driver lists them (a made-up library, test/fake/nvml.c).
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/slurm.sh"
. "$TOP/test/gpu.sh"
need_slurm

rig_start --nodes=gpus$$ --gpus=1 --shards=4
gpu_machine 'device 0 100 busy=60 used=700'
ceemsd_start "${GPU_AS[@]}" "${GPU_ARGS[@]}" --collector.slurm.gpu-order-map=0:0 --reports.enabled --reports.interval=1h \
	--reports.spool="$SCRATCH/spool" --cluster=shards
ok "ceemsd starts" wait_for 60 ceemsd_up
hold() { srun -J "$1" --gres=shard:"$2" sh -c "echo \$\$ >$JOBS/$1.new; mv $JOBS/$1.new $JOBS/$1; while [ ! -e $JOBS/go ]; do sleep 0.05; done" 2>/dev/null & }
hold small 1
small=$!
hold large 2
large=$!
ok "two jobs share the device" wait_for 60 test -e "$JOBS/small" -a -e "$JOBS/large"
gpu_machine 'device 0 100 busy=60 used=700' "process 0 $(cat "$JOBS/small") 10 100 0" "process 0 $(cat "$JOBS/large") 40 500 0"
idle() { sed -n "s/^ceems_compute_unit_gpu_idle_seconds_total{.*uuid=\"$1\".*} //p" "$SCRATCH/metrics"; }
both_read() { scrape && [ "$(grep -c '^ceems_compute_unit_gpu_idle_seconds_total' "$SCRATCH/metrics")" = 2 ]; }
ok "both are read" wait_for 60 both_read
sleep 8
touch "$JOBS/go"
wait $small $large
told() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" | jq -c 'select(.kind == "final")' >"$SCRATCH/finals" && [ "$(wc -l <"$SCRATCH/finals")" -ge 2 ]; }
ok "both are reported" wait_for 120 told
of() { jq -r "select(.hints.name == \"$1\") | $2" "$SCRATCH/finals" | tail -1; }
is "the one has the memory of its process" "$(of small .counts.gpu_memory_peak_bytes)" 104857600
is "the other of its own" "$(of large .counts.gpu_memory_peak_bytes)" 524288000
# part of their life was before the driver listed them
ok "and the device's time that it took" awk -v s="$(of small .gpu_busy_ns)" -v l="$(of large .gpu_busy_ns)" -v w="$(of large '.t1_ns - .t0_ns')" \
	'BEGIN { printf "# %s %s of %s\n", s, l, w; exit !(s > 0 && l > 2.5 * s && l < 5.5 * s && l <= 0.42 * w) }'
tap_done
