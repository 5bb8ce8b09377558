#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The way of a node's records with real parts: ring, ceemsd, spool, ceems-courier, aggregator,
# Postgres. Each of them is killed while jobs run; at the end each job is there, once.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
for p in ceemsd ceems-courier ceems_aggregator unit_source; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
command -v curl >/dev/null || skip_all "curl is not installed"
need_pg
cd "$SCRATCH" || exit 1
chmod 755 .
pg_start || { ok "Postgres starts" false; tap_done; }
(umask 077; echo a-token-of-some-length >token)
chmod 640 token
have_root && { chgrp ceems token 2>/dev/null || chgrp "$(id -gn nobody)" token; } # who ceemsd becomes
cp token agg-token; chmod 600 agg-token
agg_port=$(free_port)
port=$(free_port)

agg_up() { curl -sf -m 20 -o /dev/null "http://127.0.0.1:$agg_port/health"; }
agg_start() {
	"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$agg_port" --db.url="$PGURL" --security.drop-privileges=false \
		--ingest.token-file="$SCRATCH/agg-token" >>agg.log 2>&1 </dev/null &
	agg_pid=$!
	started $agg_pid
	wait_for 30 agg_up
}
node_up() { curl -sf -m 20 -o body "http://127.0.0.1:$port/metrics"; }
node_start() {
	"$BUILD/ceemsd" --collector.disable-defaults --collector.courier --collector.ring --path.rundir="$SCRATCH/run" \
		--collector.slurm.nodes=none-here --web.listen-address="127.0.0.1:$port" --reports.enabled --reports.spool="$SCRATCH/spool" --reports.interval=1h --cluster=test \
		--aggregator.url="http://127.0.0.1:$agg_port" --aggregator.token-file="$SCRATCH/token" --aggregator.timeout=5s >>node.log 2>&1 </dev/null &
	pid=$!
	started $pid
	wait_for 20 node_up
}
courier() { pgrep -P "$pid" -f ceems-courier; }
jobs_run() { "$BUILD/unit_source" --ring="$SCRATCH/run/ring" --count="$1" --first-id="$2" --rate=50 >/dev/null; }
rows() { psql_do -c "SELECT count(*) FROM unit_node WHERE $1" 2>/dev/null; }
all_final() { [ "$(rows final)" = "$1" ]; }

ok "the aggregator starts" agg_start
ok "ceemsd starts" node_start
agg_up && node_up || { sed 's/^/# /' agg.log node.log; tap_done; }
jobs_run 20 1000
ok "twenty jobs arrive with their end" wait_for 30 all_final 20
is "nothing was refused" "$(node_up; sed -n 's/^ceems_courier_records_total{.*result="\(refused\|set_aside\)"} //p' body | paste -sd' ')" "0 0"

# each dies while jobs come and go
jobs_run 200 2000 & feeder=$!
sleep 0.7; kill -9 "$(courier)"
sleep 0.7; kill -9 "$agg_pid"; wait "$agg_pid" 2>/dev/null
sleep 0.5; agg_start
pg_kill
sleep 0.7; kill -9 "$pid"; wait "$pid" 2>/dev/null
node_start
pg_up
kill -9 "$(courier)"
wait $feeder
jobs_run 20 3000
done_all() { [ "$(rows final)" = 240 ]; }
ok "after the death of courier, aggregator, Postgres and ceemsd each job is there with its end" wait_for 80 done_all
echo "# $(rows true) runs, $(rows final) of them with their end"
is "each once" "$(psql_do -c "SELECT count(*), count(DISTINCT uuid) FROM unit_node")" "240|240"
is "none was refused or set aside" "$(node_up; sed -n 's/^ceems_courier_records_total{.*result="\(refused\|set_aside\)"} //p' body | paste -sd' ') $(ls spool | grep -c set-aside)" "0 0 0"
drained() { [ "$(node_up; sed -n 's/^ceems_courier_waiting_records{.*} //p' body)" = 0 ]; }
ok "nothing is left waiting" wait_for 20 drained
kill "$pid" "$agg_pid"
wait "$pid" "$agg_pid" 2>/dev/null
tap_done
