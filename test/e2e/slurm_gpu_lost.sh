#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A node that loses its unit table while a job holds a GPU tells of the job twice, as two instances: what
# its user is shown of the GPU is counted once. A real Slurm, a made-up library (test/fake/nvml.c).
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/slurm.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/gpu.sh"
need_slurm
for p in cacct ceems_aggregator ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
need_pg

rig_start --jobcomp --nodes=gpul$$ --gpus=2
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
gpu_machine 'device 0 100 busy=25 used=1000' 'device 1 100 busy=25 used=1000'
gpu_start() {
	ceemsd_start "${GPU_AS[@]}" "${GPU_ARGS[@]}" --collector.slurm.gpu-order-map=0:0,1:1 --reports.enabled \
		--reports.interval=3s --reports.spool="$SCRATCH/spool" --cluster="$(sed -n 's/^ClusterName=//p' "$SLURM_CONF")"
	wait_for 60 ceemsd_up
}
wait_for 60 curl -sf -o /dev/null "$CEEMS_API_URL/health" || sed 's/^/# /' "$SCRATCH/agg.log"
gpu_start
cacct() { "$BUILD/cacct" "$@" 2>>"$SCRATCH/cacct.err"; }
send() {
	timeout 200 "$BUILD/ceems-courier" --once --aggregator.url="$CEEMS_API_URL" --aggregator.munge-socket="$MUNGE" \
		--ship.spool="$SCRATCH/spool" --ship.spool="$SLURM/jobcomp" >>"$SCRATCH/courier.log" 2>&1
}
of() { cacct -a -n -P --noconvert --name "$1" -o "$2"; }
reports() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" | jq -s "$1"; }
told_busy() { [ "$(reports '[.[] | select(.kind == "interval" and .gpu_busy_ns > 0)] | length')" -ge "$1" ]; }

srun -J loses --gres=gpu:1 sh -c "while [ ! -e $JOBS/go ]; do sleep 0.05; done" 2>/dev/null &
loses=$!
ok "a job with a GPU is reported" wait_for 60 told_busy 2
kill -9 "$ceemsd_pid"
wait "$ceemsd_pid" 2>/dev/null
rm "$RUNDIR/units"
before=$(reports '[.[] | select(.kind == "interval" and .gpu_busy_ns > 0)] | length')
gpu_start
ok "and again, by a daemon that lost its table" wait_for 60 told_busy $((before + 2))
touch "$JOBS/go"
wait $loses
told() { send; [ "$(psql_do -c "SELECT count(*) FROM unit_node WHERE final")" -ge 1 ] && [ -n "$(of loses GPUMem)" ] && [ "$(of loses State)" = COMPLETED ]; }
ok "it is in the records" wait_for 120 told
is "as one job of two instances" "$(psql_do -c "SELECT count(DISTINCT unit), count(*) FROM unit_node")" "1|2"
psql_do -c "SELECT instance, started, ended, last_t1, found_at, stands_from, gpu_busy_ms, gpu_memory_mean_kib FROM unit_node" | sed 's/^/# /'
settled() { send; [ "$(psql_do -c "SELECT count(*) FROM dirty")" = 0 ]; }
ok "all is summed up" wait_for 60 settled
is "its GPU was allocated once" "$(psql_do -c "SELECT abs(gpu_alloc_ms - wall_ms) < 1000 FROM unit")" t
is "and its CPUs" "$(psql_do -c "SELECT abs(cpu_alloc_ms - wall_ms * (SELECT max(cpus) FROM unit_node)) < 1000 * (SELECT max(cpus) FROM unit_node) FROM unit")" t
like "its memory is that of one device, of which no reading was before the table was lost and again after it" "$(of loses GPUMem,GPUMemPeak)" '^(1\.[012]|0\.[5-9])%\|1048576000$'
ok "which was never more than it had" awk -v m="$(of loses GPUMemAvg)" 'BEGIN { exit !(m > 500e6 && m <= 1048576000) }'
like "how busy it was, as far as it was read" "$(of loses GPUUtil)" '^(1[2-9]|2[0-5])\.[0-9]%$'
is "and it never idled" "$(of loses GPUIdle)" 00:00:00
tap_done
