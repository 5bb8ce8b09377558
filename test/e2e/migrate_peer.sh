#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_tool migrate database with a file that CEEMS' own API server has written (PEER=folder of its programs, 0.10.2 was
# tried; skipped without): it asks a real Slurm's sacct for real jobs and a real Prometheus for what they used. Each value
# of each job is the same in the aggregator, taken while that server still writes.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/slurm.sh"
rig=$TOP/$rig
. "$TOP/test/aggregator.sh"
. "$TOP/test/peer_db.sh"
tool=$BUILD/ceems_tool
[ -x "${PEER:-/}/ceems_api_server" ] || skip_all "PEER= names no folder with CEEMS' ceems_api_server"
"$tool" migrate database /nowhere 2>&1 | grep -q 'without SQLite' && skip_all "ceems_tool was built without SQLite"
for t in sqlite3 prometheus promtool; do command -v $t >/dev/null || skip_all "$t is not installed"; done
cd "$TOP" && need_slurm 24.11 # sacct of 22.05 does not know the format of times that the peer asks for
rig_start --slurm=24.11 --dbd --cluster=alpha
cd "$SCRATCH" || exit 1
sacctmgr -i add account phys >/dev/null && sacctmgr -i add user daemon,bin account=phys >/dev/null

# --- jobs that end in each way, some of an array, one that goes on
since=$(date +%s)
as daemon sbatch -J 'a "b" é' -c 2 -o /dev/null --wrap "$JOBS/burn 200" >/dev/null
as daemon sbatch -J fails --mem=64M -o /dev/null --wrap "sleep 2; exit 3" >/dev/null
as bin sbatch -J array -a 1-4 -o /dev/null --wrap "sleep 2" >/dev/null
gone=$(as bin sbatch --parsable -J gone -o /dev/null --wrap "sleep 600")
runs() { [ "$(squeue -h -j "$gone" -o %T)" = RUNNING ]; }
wait_for 60 runs
long=$(as daemon sbatch --parsable -J long -o /dev/null --wrap "sleep 3600")
ended() { [ "$(squeue -h | wc -l)" = 2 ]; }
wait_for 60 ended
scancel "$gone"
told() { [ "$(sacct -a -X -n -P -S "$(date -d "@$since" +%FT%T)" -o state | grep -cE 'COMPLETED|FAILED|CANCELLED')" = 7 ]; }
ok "Slurm's database has them" wait_for 60 told

# --- what each of them used, in a real Prometheus
awk -v from=$((since - 600)) -v ids="$(sacct -a -X -n -P -S "$(date -d "@$since" +%FT%T)" -o jobidraw | paste -sd' ')" 'BEGIN {
	n = split(ids, id, " ")
	for (m = 1; m <= 9; m++) {
		print "# TYPE used_" m " gauge"
		for (i = 1; i <= n; i++) for (t = from; t < from + 7200; t += 60) printf "used_%d{uuid=\"%s\"} %.3f %d\n", m, id[i], (m * 131 + i * 17) % 97 / (m < 6 ? 8 : 1), t
	}
	print "# EOF" }' >data.om
promtool tsdb create-blocks-from openmetrics data.om tsdb >/dev/null 2>&1 && echo '{}' >prom.yml || { ok "data" false; tap_done; }
prom=$(free_port)
prometheus --config.file=prom.yml --storage.tsdb.path=tsdb --storage.tsdb.retention.time=10y --web.listen-address="127.0.0.1:$prom" >prom.log 2>&1 </dev/null &
started $!
wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$prom/-/ready" || { ok "a Prometheus" false; tap_done; }

# --- the peer
q() { echo "'max by (uuid) (used_$1{uuid=~\"{{.UUIDs}}\"})'"; }
cat >peer.yml <<-END
	ceems_api_server:
	  data: {path: $SCRATCH/peer, update_interval: 2s, max_update_interval: 1h}
	clusters:
	  - {id: alpha, manager: slurm, updaters: [prom], cli: {path: $SLURM/bin, environment_variables: {SLURM_CONF: $SLURM_CONF}}}
	updaters:
	  - id: prom
	    updater: tsdb
	    web: {url: "http://127.0.0.1:$prom"}
	    extra_config:
	      queries:
	        avg_cpu_usage: {global: $(q 1)}
	        avg_cpu_mem_usage: {global: $(q 2)}
	        total_cpu_energy_usage_kwh: {total: $(q 3)}
	        total_cpu_emissions_gms: {rte_total: $(q 4), owid_total: $(q 5)}
	        total_io_write_stats: {bytes_total: $(q 6), requests_total: $(q 7)}
	        total_io_read_stats: {bytes_total: $(q 7)}
	        total_ingress_stats: {bytes_total: $(q 8)}
	        total_egress_stats: {bytes_total: $(q 9)}
END
mkdir peer
"$PEER/ceems_api_server" --config.file=peer.yml --web.listen-address="127.0.0.1:$(free_port)" --security.run-as-user=root >peer.log 2>&1 </dev/null &
peer=$!
started $peer
db=$SCRATCH/peer/ceems.db
ask() { sqlite3 -readonly "$db" "$1" 2>/dev/null; }
knows() { [ "$(ask "SELECT count(*) FROM units WHERE total_cpu_energy_usage_kwh LIKE '%total%'")" = 8 ]; }
ok "the peer has the jobs that ran, and what they used" wait_for 60 knows || { tail -n 5 peer.log | sed 's/^/# /'; ask "SELECT uuid, state, total_cpu_energy_usage_kwh FROM units" | sed 's/^/# /'; }

agg_begin
printf 'db:\n  url: "%s"\nsecurity:\n  drop-privileges: false\n' "$PGURL" >agg.yaml
like "the file is taken while that server writes" "$("$tool" migrate database --config.file agg.yaml "$db" 2>&1)" "8 units read, 8 of them new or changed, 0 refused"
kill $peer
wait $peer 2>/dev/null
"$tool" migrate database --config.file agg.yaml "$db" >said 2>&1
is "the file is taken once more when that server has stopped" $? 0
sed 's/^/# /' said
ok "all units are processed" settle
peer_rows "$db" >theirs
our_rows >ours
is "there are as many as ran and ended" "$(wc -l <ours)" 7
ok "each has each value that it had" cmp theirs ours || diff theirs ours | head -8 | sed 's/^/# /'
is "the one that runs, runs, with what it used so far" "$(sql "SELECT state, ended IS NULL, host_uj > 0 FROM unit WHERE uuid = '$long'")" "RUNNING|t|t"
tap_done
