#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Backup by pg_dump while an aggregator works, restore by pg_restore: as in doc/aggregator.md,
# also from a private database into a real server.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator
[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
command -v curl >/dev/null || skip_all "curl is not installed"
need_pg
pg_start --durable || { ok "Postgres starts" false; tap_done; }
DATA=$SCRATCH/data port=$(free_port)
private="host=$DATA/s dbname=ceems user=ceems"
healthy() { [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/health")" = 200 ]; }
agg_start() { # flags
	"$agg" --web.listen-address="127.0.0.1:$port" "$@" >>"$SCRATCH/agg.log" 2>&1 &
	agg_pid=$!
	started $agg_pid
	wait_for 60 healthy && wait_for 60 partitions
}
# the first of them are made after it serves
partitions() { [ "$(curl -s "http://127.0.0.1:$port/metrics" | sed -n 's/^ceems_aggregator_partitions{table="unit_interval"} //p')" -gt 0 ]; }
test_cleanup() { kill "$agg_pid" 2>/dev/null && wait "$agg_pid"; }
sums() { # of all that a restore must bring back
	"$PGBIN/psql" -XAtq "$1" -c "SELECT md5(string_agg(i::text, ',' ORDER BY instance, t0)) FROM unit_interval i" \
		-c "SELECT md5(string_agg(u::text, ',' ORDER BY id)) FROM unit u" -c "SELECT md5(string_agg(s::text, ',' ORDER BY number)) FROM schema_migration s" \
		-c "SELECT count(*) FROM pg_inherits"
}

agg_start --data.path="$DATA"
"$PGBIN/psql" -XAtq "$private" >/dev/null <<-'END'
	INSERT INTO cluster (name) VALUES ('one');
	INSERT INTO unit (cluster, uuid, known_by, state) SELECT 1, n, 'node', 'RUNNING' FROM generate_series(1, 1000) n;
	INSERT INTO unit_interval (instance, t0, ms, observed_ms, package_uj)
		SELECT n % 1000, now() - n * interval '5 minutes', 300000, 300000, n FROM generate_series(0, 8000) n;
END
ok "pg_dump while the aggregator works" "$PGBIN/pg_dump" --format=custom --file="$SCRATCH/ceems.dump" "$private"
sums "$private" >"$SCRATCH/was"
ok "there is something to lose" grep -q '^[0-9a-f]\{32\}$' "$SCRATCH/was"

# into a real server: pg_restore as the role that will own it
ok "pg_restore into a real server" "$PGBIN/pg_restore" --no-owner --no-privileges --single-transaction --dbname="$PGURL" "$SCRATCH/ceems.dump"
sums "$PGURL" >"$SCRATCH/is"
is "all of it is there" "$(cat "$SCRATCH/is")" "$(cat "$SCRATCH/was")"
kill "$agg_pid"; wait "$agg_pid"
"$agg" --check --db.url="$PGURL" >"$SCRATCH/check"
is "--check finds nothing wrong with it" $? 0
ok "an aggregator serves it" agg_start --db.url="$PGURL"
is "new numbers do not meet old ones" "$("$PGBIN/psql" -XAtq "$PGURL" -c "INSERT INTO unit (cluster, uuid, known_by) VALUES (1, 'new', 'node') RETURNING id > 1000")" t
kill "$agg_pid"; wait "$agg_pid"

# back into an empty private one, after the folder was lost
rm -rf "$DATA"
agg_start --data.path="$DATA"
kill "$agg_pid"; wait "$agg_pid"
agg_start --data.path="$DATA" --no-db.auto-migrate
ok "the private database is made empty" "$PGBIN/psql" -XAtq "${private/dbname=ceems/dbname=postgres}" -c 'DROP DATABASE ceems WITH (FORCE)' -c 'CREATE DATABASE ceems'
ok "pg_restore into an empty private database" "$PGBIN/pg_restore" --no-owner --no-privileges --single-transaction --dbname="$private" "$SCRATCH/ceems.dump"
ok "which is served as soon as it is whole" wait_for 20 healthy
is "all of it is there again" "$(sums "$private")" "$(cat "$SCRATCH/was")"
tap_done
