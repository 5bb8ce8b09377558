#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What jobs of a real Slurm did with their GPUs, from the readings of ceems-gpu (a made-up library,
# test/fake/nvml.c) to their user's screen: ceemsd, courier, aggregator, cacct. What was not measured is
# not known, which is not 0.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/slurm.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/gpu.sh"
need_slurm
for p in cacct ceems_aggregator ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
need_pg

rig_start --jobcomp --nodes=gpur$$ --gpus=2
pg_start >"$SCRATCH/pg.log" 2>&1 || { sed 's/^/# /' "$SCRATCH/pg.log"; ok "Postgres starts" false; tap_done; }
export TZ=UTC HOME=$SCRATCH
unset CEEMS_TOKEN_FILE XDG_CONFIG_HOME
MUNGE=$(sed -n 's/^AuthInfo=socket=//p' "$SLURM_CONF")
port=$(free_port)
"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$port" --db.url="$PGURL" --identity.munge-socket="$MUNGE" \
	--ingest.munge-socket="$MUNGE" --ingest.user='root=*' --ingest.jobs-from=munge:root --admin.users=root \
	--rollup.delay=0s --security.run-as-user="" >"$SCRATCH/agg.log" 2>&1 &
started $!
export CEEMS_API_URL=http://127.0.0.1:$port CEEMS_MUNGE_SOCKET=$MUNGE
# the first GPU of Slurm is the driver's second, which works half of the time
gpu_machine 'device 0 100 used=200' 'device 1 400 busy=50 used=1000 gpm'
ceemsd_start "${GPU_AS[@]}" "${GPU_ARGS[@]}" --collector.slurm.gpu-order-map=0:1,1:0 --reports.enabled \
	--reports.interval=1s --reports.spool="$SCRATCH/spool" --cluster="$(sed -n 's/^ClusterName=//p' "$SLURM_CONF")"
wait_for 60 curl -sf -o /dev/null "$CEEMS_API_URL/health" || sed 's/^/# /' "$SCRATCH/agg.log"
ok "everything runs" wait_for 60 ceemsd_up
read_both() { scrape && [ "$(grep -c '^ceems_gpu_energy_joules_total' "$SCRATCH/metrics")" = 2 ]; }
ok "both devices are read" wait_for 60 read_both

cacct() { "$BUILD/cacct" "$@" 2>>"$SCRATCH/cacct.err"; }
send() {
	timeout 200 "$BUILD/ceems-courier" --once --aggregator.url="$CEEMS_API_URL" --aggregator.munge-socket="$MUNGE" \
		--ship.spool="$SCRATCH/spool" --ship.spool="$SLURM/jobcomp" >>"$SCRATCH/courier.log" 2>&1
}
hold() { srun -J "$1" "${@:2}" sh -c "while [ ! -e $JOBS/$1.go ]; do sleep 0.05; done" 2>/dev/null & }
idle() { sed -n "s/^ceems_compute_unit_gpu_idle_seconds_total{.*uuid=\"$1\".*} //p" "$SCRATCH/metrics"; }

hold works --gres=gpu:1
works=$!
is_running() { [ -n "$(squeue -h -n "$1" -t R -o %A)" ]; }
ok "a job that uses its GPU runs" wait_for 60 is_running works
hold idles --gres=gpu:1
idles=$!
ok "beside it one that does not" wait_for 60 is_running idles
w=$(squeue -h -n works -o %A) i=$(squeue -h -n idles -o %A)
counted() { scrape && [ "$(idle "$w")" = 0 ] && awk -v s="$(idle "$i")" 'BEGIN { exit !(s > 3) }'; }
ok "the idle seconds of the one grow, of the other they are 0" wait_for 60 counted
peak() { sed -n "s/^ceems_compute_unit_gpu_memory_peak_bytes{.*uuid=\"$1\".*} //p" "$SCRATCH/metrics"; }
used() { sed -n "s/^ceems_compute_unit_gpu_memory_used_bytes{.*uuid=\"$1\".*} //p" "$SCRATCH/metrics"; }
is "the most memory that was in use is known while it runs" "$(peak "$w")" "$(used "$w")"
srun -J none true
touch "$JOBS/works.go" "$JOBS/idles.go"
wait $works $idles

# nobody reads the devices of this one
"$BUILD/ceems_tool" gpu release --path.rundir="$RUNDIR"
is "the driver is let go" $? 0
srun -J blind --gres=gpu:1 sleep 0.2
ok "the job that ran meanwhile has ended" wait_for 60 nothing_running
"$BUILD/ceems_tool" gpu resume --path.rundir="$RUNDIR"

told() { send; [ "$(psql_do -c "SELECT count(*) FROM unit_node WHERE final")" = 4 ] && [ "$(cacct -a -n -P -o State | sort | uniq -c | tr -s ' ')" = " 4 COMPLETED" ]; }
of() { cacct -a -n -P --noconvert --name "$1" -o "$2"; }
told_all() { told && [ -n "$(of idles GPUUtil)" ] && [ -n "$(of works GPUUtil)" ] && [ -n "$(of blind TotalCPU)" ]; }
ok "all four are in the records" wait_for 120 told_all
like "the one used its GPU half of the time" "$(of works GPUUtil,GPUMemPeak,GPUIdle)" '^(49\.9|50\.0)%\|1048576000\|00:00:00$'
like "the other not at all, though it held it" "$(of idles GPUUtil,GPUMemPeak)" '^0\.0%\|209715200$'
is "it was idle for all of its life" "$(psql_do -c "SELECT abs((c.counts->>'gpu_idle_ns')::numeric / 1000000 - 1000 * extract(epoch FROM n.ended - n.started)) < 2
	FROM unit_node n JOIN unit_counts c USING (instance) WHERE n.uuid = '$i'")" t
like "which its user sees" "$(of idles GPUIdle)" '^00:00:[0-9][0-9]$|^00:0[1-9]:'
like "memory is shown as a share of the device's, as the peer does" "$(of works GPUMem,GPUMemAvg)" '^1\.2%\|[0-9]{8,11}$'
like "its performance counters are in the records" "$(of works GPUSM,GPUSMOccupancy,GPUTensor,GPUFP64)" '^(49\.9|50\.0)%\|(24\.9|25\.0)%\|[0-9.]+%\|$'
is "and nothing of a device that does not tell them" "$(of idles GPUSM,GPUSMOccupancy,GPUTensor,GPUFP64,GPUFP32,GPUFP16,GPUDRAM)" "||||||"
like "they are in its report" "$(cacct report "$w" | tr -s ' \n' ' ')" 'GPU .*, SM (49\.9|50\.0)%'
psql_do -c "SELECT n.uuid, i.t0, i.ms, i.gpu_busy_ms, i.gpu_active_ms FROM unit_interval i JOIN unit_node n USING (instance) ORDER BY 1, 2" | sed "s/^/# /"
is "its intervals have them, too" "$(psql_do -c "SELECT bool_and(abs(1.0 * i.gpu_active_ms[1] / i.ms - 0.5) < 0.01 AND i.gpu_active_ms[4] IS NULL), count(*) > 1
	FROM unit_interval i JOIN unit_node n USING (instance) WHERE n.uuid = '$w' AND i.ms > 500 AND i.gpu_active_ms IS NOT NULL")" "t|t"
is "and nothing, which is not 0, of that device and where there is none" "$(psql_do -c "SELECT count(*) FROM unit_interval i JOIN unit_node n USING (instance) WHERE n.uuid <> '$w' AND i.gpu_active_ms IS NOT NULL")" 0
cacct report "$w" --html "$SCRATCH/report.html"
ok "it plots them over time" grep -q '>multiprocessors<' "$SCRATCH/report.html"
is "but none that the device does not tell" "$(grep -c '>FP64<' "$SCRATCH/report.html")" 0
ok "which plots the memory of its GPUs, too" grep -q 'Memory of GPUs' "$SCRATCH/report.html"
is "a job without a GPU has none of it" "$(of none GPUUtil,GPUMemAvg,GPUMemPeak,GPUIdle,GPUMem,WastedGPUHours)" "|||||"
is "nor has one whose GPU nobody read" "$(of blind GPUUtil,GPUMemAvg,GPUMemPeak,GPUIdle,GPUMem,WastedGPUHours)" "|||||"
is "those who waste most come first" "$(cacct -a -n -P --sort=-WastedGPUEnergy -o JobName | head -2 | sort)" $'idles\nworks'
like "its user is told" "$(cacct report "$i" | tr -s ' \n' ' ')" 'GPU .*0\.0%.* 1 GPU, idle for .*, memory 200\.0 MiB at most'
ok "the energy is that of the devices" awk -v w="$(of works EnergyGPU)" -v i="$(of idles EnergyGPU)" 'BEGIN { exit !(w > 0 && i > 0 && w > 2 * i) }'
sed -n '/level=\(warn\|error\)/s/^/# /p' "$SCRATCH/ceemsd.log"
tap_done
