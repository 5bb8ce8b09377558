#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_aggregator with a real Postgres: starts with and without it, reports its health, updates the
# schema, refuses a database that is not its own, drains at the end.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator
[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
command -v curl >/dev/null || skip_all "curl is not installed"
need_pg
port=$(free_port)
URL=http://127.0.0.1:$port

agg_start() { # flags
	"$agg" --web.listen-address="127.0.0.1:$port" "$@" >>"$SCRATCH/agg.log" 2>&1 &
	agg_pid=$!
	started $agg_pid
	wait_for 10 curl -s -o /dev/null "$URL/health"
}
agg_stop() { kill "$agg_pid"; wait "$agg_pid"; }
status() { curl -s -o "$SCRATCH/body" -w '%{http_code}' "$URL$1"; }
healthy() { [ "$(status /health)" = 200 ]; }
sick() { [ "$(status /health)" = 503 ]; }
metric() { curl -s "$URL/metrics" | awk -v m="$1" 'index($0, m " ") == 1 { print $2 }'; }

# command line
out=$("$agg" --check-config --db.url='postgresql://u:planted@[::1/x' 2>&1); rc=$?
is "a bad --db.url is refused" $rc 2
like "with words" "$out" "--db.url: not a URL"
is "and without the password" "$(grep -c planted <<<"$out")" 0
out=$("$agg" --check-config --web.route-prefix='/a?b' 2>&1)
like "a bad --web.route-prefix is refused" "$out" "is not a path"
like "a good configuration is said to be" "$("$agg" --check-config --db.url=postgresql://x/y 2>&1)" "is valid"

pg_start || { ok "Postgres starts" false; tap_done; }

# --migrate
out=$("$agg" --migrate --db.url="$PGURL" 2>&1)
is "--migrate ends well" $? 0
like "and says what it did" "$out" "^ceems_aggregator: [1-9][0-9]* migrations done"
is "the tables are there" "$(psql_do -c "SELECT count(*) FROM pg_class WHERE relname IN ('unit', 'unit_interval')")" 2
like "a second time there is nothing to do" "$("$agg" --migrate --db.url="$PGURL" 2>&1)" ": 0 migrations done"

# several at once into an empty database
psql_admin -c 'CREATE DATABASE second OWNER ceems'
second=${PGURL/\/ceems\?//second?}
pids=()
for i in 1 2 3 4; do "$agg" --migrate --db.url="$second" >"$SCRATCH/m$i" 2>&1 & pids+=($!); done
rc=0
for p in "${pids[@]}"; do wait "$p" || rc=1; done
is "four that migrate at once all end well" $rc 0
is "and each file was applied by one of them" "$(cat "$SCRATCH"/m? | sed 's/[^0-9]* \([0-9]*\) migrations.*/\1/' | awk '{ s += $1 } END { print s }')" \
	"$("$PGBIN/psql" -XAtq "$second" -c 'SELECT count(*) FROM schema_migration')"

# serves; of five jobs of a whole day and one whose last report may still come
psql_do -c "INSERT INTO cluster (name) VALUES ('c1'), ('c2'), ('c3');
	INSERT INTO unit (cluster, uuid, known_by, submitted, started, ended, nodes, as_of, node_ms, observed_ms)
	SELECT c, i::text, 'jobcomp', now(), now() - a * interval '1 h', now() - b * interval '1 h', n, now(), there, seen
	FROM (VALUES (1, 1, 4, 3, 2, 7200000, 7200000), (1, 2, 40, 24, 1, 57600000, 28800000), (1, 3, 60, 30, 1, 10000000, 0),
		(1, 4, 2, 0.5, 1, 5400000, 0), (2, 5, 3, 2, 1, 3600000, 3600000), (3, 6, 5, 3, 2, NULL, NULL)) v (c, i, a, b, n, there, seen)"
agg_start --db.url="$PGURL"
ok "it is healthy" wait_for 5 healthy
covered() { [ "$(for c in c1 c2 c3; do metric "ceems_aggregator_coverage_ratio{cluster=\"$c\"}"; done | xargs)" = "$1" ]; }
ok "what was watched of the last day's units is a metric, what no node told of counts" wait_for 10 covered "0.5555555555555556 1 0"
is "metrics say that the database is there" "$(metric ceems_aggregator_database_up)" 1
kill -HUP "$agg_pid"
reloaded() { [ "$(metric 'ceems_aggregator_reloads_total{result="ok"}')" = 1 ]; }
ok "SIGHUP is counted" wait_for 5 reloaded
if have_root; then is "it runs as nobody in particular" "$(ps -o uid= -p "$agg_pid" | tr -d ' ' | grep -cx 0)" 0; else skip "it runs as nobody in particular" "needs root"; fi

# the database goes and comes
pg_kill
ok "without its database it is not healthy" wait_for 15 sick
like "and says why, without addresses" "$(cat "$SCRATCH/body")" "^CEEMS aggregator is not healthy: the database cannot be reached$"
is "metrics are still there" "$(metric ceems_aggregator_database_up)" 0
pg_up
ok "healthy again when it is back" wait_for 20 healthy
is "which is counted" "$(metric ceems_aggregator_database_losses_total)" 1

# a database that takes no writes is there: it is called what it is
psql_do -c "ALTER ROLE CURRENT_USER SET default_transaction_read_only = on"
psql_do -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'ceems_aggregator%'" >/dev/null
read_only() { sick; grep -q 'the database is read-only$' "$SCRATCH/body"; }
ok "a read-only database is called so" wait_for 30 read_only
ok "the log says what to do" wait_for 10 grep -q 'the database is read-only (promote the standby' "$SCRATCH/agg.log"
psql_do -c "SET default_transaction_read_only = off" -c "ALTER ROLE CURRENT_USER RESET default_transaction_read_only"
ok "healthy again when it takes writes" wait_for 30 healthy
agg_stop
is "SIGTERM ends it well" $? 0

# starts without
pg_stop
agg_start --db.url="$PGURL"
ok "it starts without its database" sick
pg_up
ok "and finds it later" wait_for 20 healthy
agg_stop

# --check
out=$("$agg" --check --db.url="$PGURL" 2>&1); rc=$?
is "--check warns of a server that a crash damages" $rc 1
like "and says what to do" "$out" "warn: fsync is off; "
for want in 'ok: Postgres ' 'ok: schema: all ' 'ok: the clocks ' 'ok: role ceems owns' 'ok: partitions: ' 'ok: the connection is local'; do
	like "--check: $want" "$out" "$want"
done
psql_do -c "DROP TABLE unit_interval_$(date -u +%Y%m%d)"
like "--check finds a partition that is missing" "$("$agg" --check --db.url="$PGURL" 2>&1)" "warn: partitions: .* 1 missing"
psql_admin -c 'CREATE ROLE stranger LOGIN' -c 'CREATE DATABASE third'
out=$("$agg" --check --db.url="${PGURL/ceems@\/ceems/stranger@/third}" 2>&1)
is "--check fails where the role may not create tables" $? 2
like "with words" "$out" "fail: role stranger may not create tables"
like "--check finds migrations that are missing" "$out" "warn: schema: 0 of "
out=$("$agg" --check --db.url="postgresql://ceems@127.0.0.1:1/ceems" 2>&1)
is "--check of a server that is not there fails" $? 2
like "with words" "$out" "fail: no connection to the database"

# not ours to use
last=$(psql_do -c 'SELECT max(number) FROM schema_migration')
psql_do -c "INSERT INTO schema_migration VALUES ($last + 1, 'from_the_future.sql', 'x', now(), 'newer')"
out=$("$agg" --migrate --db.url="$PGURL" 2>&1)
is "a database that is newer is refused" $? 1
like "with words" "$out" "the database is newer than this program"
out=$(timeout 100 "$agg" --web.listen-address="127.0.0.1:$port" --db.url="$PGURL" 2>&1)
is "also at start" $? 1
like "with the same words" "$out" "the database is newer than this program"
psql_do -c "DELETE FROM schema_migration WHERE number > $last" -c "UPDATE schema_migration SET checksum = 'x' WHERE number = 1"
out=$("$agg" --migrate --db.url="$PGURL" 2>&1)
is "a changed migration is refused" $? 1
like "by name" "$out" "0001_schema.sql was applied with other contents"
like "nothing secret was logged" "$(grep -c planted "$SCRATCH/agg.log")" "^0$"
tap_done
