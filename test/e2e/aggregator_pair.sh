#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two aggregators on one database, the second through PgBouncer; couriers of four nodes know both. Each aggregator and
# the primary are killed while jobs come and go, and the standby is promoted: each job is there, once.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
for p in ceemsd ceems-courier ceems_aggregator unit_source; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
command -v curl >/dev/null || skip_all "curl is not installed"
pgbouncer=$(PATH=$PATH:/usr/sbin command -v pgbouncer) || skip_all "pgbouncer is not installed"
need_pg
cd "$SCRATCH" || exit 1
chmod 755 .
p1=$(free_port) p2=$(free_port) pool=$(free_port)
pg_start "$SCRATCH/one" --durable --port="$p1" --set=wal_level=replica --set=max_wal_senders=4 \
	--set=synchronous_standby_names=standby --set=synchronous_commit=local || { ok "a primary starts" false; tap_done; }
pg_dirs+=("$SCRATCH/two")
ok "a standby follows it" "$TOP/test/rig/pg" standby "$SCRATCH/two" "$SCRATCH/one" --port="$p2"
follows() { [ "$(psql_admin -c "SELECT sync_state FROM pg_stat_replication")" = sync ]; }
wait_for 20 follows
psql_admin -c "ALTER SYSTEM SET synchronous_commit = 'on'" -c "SELECT pg_reload_conf()" >/dev/null

point_pool() { # port of the primary
	printf '%s\n' '[databases]' "ceems = host=127.0.0.1 port=$1 user=ceems" '[pgbouncer]' "listen_addr = 127.0.0.1" "listen_port = $pool" \
		'unix_socket_dir =' 'auth_type = any' 'pool_mode = session' 'max_client_conn = 200' 'default_pool_size = 60' >pool.ini
}
point_pool "$p1"
have_root && as_pool=(setpriv --reuid=nobody --clear-groups --) || as_pool=()
${as_pool[@]+"${as_pool[@]}"} "$pgbouncer" pool.ini >pool.log 2>&1 </dev/null &
pool_pid=$!
started $pool_pid

(umask 077; echo a-token-of-some-length >token; cp token agg-token)
chmod 640 token
have_root && { chgrp ceems token 2>/dev/null || chgrp "$(id -gn nobody)" token; } # who ceemsd becomes
ports=("$(free_port)" "$(free_port)") agg_pids=()
dbs=("postgresql://ceems@127.0.0.1:$p1,127.0.0.1:$p2/ceems" "postgresql://ceems@127.0.0.1:$pool/ceems")
agg_up() { curl -sf -m 20 -o /dev/null "http://127.0.0.1:${ports[$1]}/health"; }
agg_start() { # which
	"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:${ports[$1]}" --db.url="${dbs[$1]}" --security.drop-privileges=false \
		--ingest.token-file="$SCRATCH/agg-token" >>"agg$1.log" 2>&1 </dev/null &
	agg_pids[$1]=$!
	started $!
}
node_ports=() node_pids=()
node_up() { curl -sf -m 20 -o "body$1" "http://127.0.0.1:${node_ports[$1]}/metrics"; }
node_start() { # which: one of two begins with each aggregator
	local first=http://127.0.0.1:${ports[$1 % 2]} other=http://127.0.0.1:${ports[($1 + 1) % 2]}
	node_ports[$1]=$(free_port)
	"$BUILD/ceemsd" --collector.disable-defaults --collector.courier --collector.ring --path.rundir="$SCRATCH/run$1" --collector.slurm.nodes=none-here \
		--web.listen-address="127.0.0.1:${node_ports[$1]}" --reports.enabled --reports.spool="$SCRATCH/spool$1" --reports.interval=1h --cluster=test \
		--aggregator.url="$first" --aggregator.url="$other" --aggregator.token-file="$SCRATCH/token" --aggregator.timeout=5s >>"node$1.log" 2>&1 </dev/null &
	node_pids[$1]=$!
	started $!
}
agg_start 0
ok "an aggregator starts" wait_for 60 agg_up 0
agg_start 1
ok "another one starts, through PgBouncer" wait_for 60 agg_up 1
for n in 0 1 2 3; do node_start $n; done
for n in 0 1 2 3; do ok "node $n starts" wait_for 60 node_up $n; done

feeders=()
for n in 0 1 2 3; do "$BUILD/unit_source" --ring="$SCRATCH/run$n/ring" --count=300 --first-id=$((10000 * (n + 1))) --rate=40 >/dev/null & feeders+=($!); done
some() { [ "$(psql_do -c "SELECT count(*) >= $1 FROM unit_node WHERE final" 2>/dev/null)" = t ]; }
both() { for i in 0 1; do [ "$(curl -s -m 20 "http://127.0.0.1:${ports[$i]}/metrics" | awk '/^ceems_aggregator_ingest_records_total/ { s += $2 } END { print (s > 0) }')" = 1 ] || return 1; done; }
ok "jobs arrive" wait_for 60 some 40
ok "each aggregator takes some" wait_for 60 both
kill9 "${agg_pids[0]}"
wait_for 60 some 160
agg_start 0
wait_for 60 agg_up 0
pg_kill "$SCRATCH/one"
ok "the standby is promoted" "$TOP/test/rig/pg" promote "$SCRATCH/two"
. "$SCRATCH/two/env"
point_pool "$p2"
kill -HUP $pool_pid
ok "one goes on there" wait_for 60 agg_up 0
ok "the other goes on there" wait_for 60 agg_up 1
kill9 "${agg_pids[1]}"
wait_for 60 some 400
agg_start 1
wait "${feeders[@]}"
all_there() { [ "$(psql_do -c "SELECT count(*) FROM unit_node WHERE final" 2>/dev/null)" = 1200 ]; }
ok "1200 jobs of four nodes are there with their end" wait_for 120 all_there || psql_do -c "SELECT count(*), count(*) FILTER (WHERE final) FROM unit_node"
is "each once" "$(psql_do -c "SELECT count(*), count(DISTINCT uuid) FROM unit_node")" "1200|1200"
refused=0
for n in 0 1 2 3; do
	node_up $n
	refused=$((refused + $(sed -n 's/^ceems_courier_records_total{.*result="\(refused\|set_aside\)"} //p' "body$n" | awk '{ s += $1 } END { print s + 0 }')))
done
is "no courier was refused a record" $refused 0
kill "${node_pids[@]}" "${agg_pids[@]}" $pool_pid
wait "${node_pids[@]}" "${agg_pids[@]}" $pool_pid 2>/dev/null
tap_done
