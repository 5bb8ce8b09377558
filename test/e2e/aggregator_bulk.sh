#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Thousands of units in one statement, as an import makes them, into an empty database: each costs
# what a single one does. Counted in rows read and written, which do not depend on the machine's load.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
pg_start || { ok "Postgres starts" false; tap_done; }
"$agg" --db.url="$PGURL" --security.drop-privileges=false --migrate >agg.log 2>&1 || { ok "the tables are made" false; cat agg.log; tap_done; }
sql() { psql_do -c "$1"; }
sql "INSERT INTO cluster (name) VALUES ('c')"
sql "INSERT INTO person (cluster, name, uid) SELECT 1, 'u' || g, 1000 + g FROM generate_series(1, 2) g"
add() { # how many: what it read and wrote
	psql_do -c 'BEGIN' -c "INSERT INTO unit (cluster, uuid, submitted, known_by, uid, person, started, ended)
		SELECT 1, g::text, t, 'jobcomp', 1001 + g % 2, 1 + g % 2, t, t + interval '1 min'
		FROM generate_series(1, $1) g, LATERAL (SELECT timestamptz '2025-01-01' + g * interval '1 s' AS t) x" \
		-c "SELECT (SELECT seq_tup_read <= 4 * $1 FROM pg_stat_xact_user_tables WHERE relname = 'unit'), n_tup_upd
			FROM pg_stat_xact_user_tables WHERE relname = 'person'" -c 'COMMIT'
}
is "2000 units read no more than themselves, and write whose they are once a person" "$(add 2000)" "t|2"
is "whose newest is the last" "$(sql "SELECT string_agg(extract(epoch FROM newest - '2025-01-01')::integer::text, ' ' ORDER BY id) FROM person")" "2000 1999"
is "all of them at once, too" "$(sql "BEGIN; UPDATE unit SET state = 'COMPLETED'; SELECT n_tup_upd FROM pg_stat_xact_user_tables WHERE relname = 'person'; ROLLBACK")" 0
sql "INSERT INTO unit (cluster, uuid, known_by, uid, started) SELECT 1, '7', 'node', 1001, '2025-01-01 00:00:10'"
# those that nodes tell of, one after the other: each is looked for among all, by its number
sql "INSERT INTO node (cluster, name) VALUES (1, 'n1')"
sql "INSERT INTO unit_node (instance, node, boot, uuid, restarts, uid, started, last_t1)
	SELECT g, 1, gen_random_uuid(), (100000 + g)::text, 0, 1001, t, t + interval '1 min'
	FROM generate_series(1, 1000) g, LATERAL (SELECT timestamptz '2025-01-01' + g * interval '1 s' AS t) x"
is "a thousand of nodes are linked, and each reads few others" "$(psql_do -c 'BEGIN' -c 'SELECT link_nodes(1000)' \
	-c "SELECT CASE WHEN seq_tup_read + idx_tup_fetch <= 40000 THEN 'few' ELSE (seq_tup_read + idx_tup_fetch)::text END
		FROM pg_stat_xact_user_tables WHERE relname = 'unit'" -c 'ROLLBACK' | paste -sd' ')" "1000 few"
# jobs whose nodes told of them first: what is linked of each is looked for among all that nodes told of
sql "BEGIN; SELECT link_nodes(1000); COMMIT; INSERT INTO job_record (cluster, uuid, restarts, submitted, part, state, record)
	SELECT 1, (100000 + g)::text, 0, t, t, 1, jsonb_build_object('started', t, 'uid', 1001, 'user', 'u1', 'nodes', 1, 'node_list', 'n1')
	FROM generate_series(1, 100) g, LATERAL (SELECT timestamptz '2025-01-01' + g * interval '1 s' AS t) x" >/dev/null
is "a hundred records of these find theirs, and each reads few others" "$(psql_do -c 'BEGIN' -c 'SELECT link_jobs(100)' \
	-c "SELECT CASE WHEN seq_tup_read + idx_tup_fetch <= 4000 THEN 'few' ELSE (seq_tup_read + idx_tup_fetch)::text END
		FROM pg_stat_xact_user_tables WHERE relname = 'unit_node'" -c 'ROLLBACK' | paste -sd' ')" "100 few"
sql "DELETE FROM job_record"
is "one that contradicts is held as ever" "$(sql "SELECT string_agg(known_by || ' ' || held, ' ' ORDER BY known_by) FROM unit WHERE uuid = '7'")" "jobcomp open node open"
sql "UPDATE unit SET person = 1 WHERE uuid = '9'"
sql "UPDATE unit SET person = 1 WHERE uuid = '8'"
is "who gets another owner is in the audit" "$(sql "SELECT string_agg(detail->>'uuid', ' ') FROM audit WHERE action = 'owner'")" 9
# pods and servers of clusters that came after Postgres last looked at the table
sql "INSERT INTO unit (cluster, uuid, submitted, known_by) SELECT 1, 'old-' || g, '2025-01-01', 'jobcomp' FROM generate_series(1, 50000) g; ANALYZE unit;
	INSERT INTO cluster (name, manager) VALUES ('pods', 'k8s'), ('vms', 'openstack')" >/dev/null
pods() { # FIRST LAST: what was read for them
	psql_do -c 'BEGIN' -c "SELECT changed + made FROM k8s_pods((SELECT id FROM cluster WHERE name = 'pods'), (SELECT jsonb_agg(jsonb_build_object('uid', 'pod-' || g, 'namespace', 'web',
		'name', 'p' || g, 'created_s', 1, 'started_s', 2, 'phase', '${3:-Running}', 'qos', 'Burstable')) FROM generate_series($1, $2) g), true)" -c "$few" -c 'COMMIT' | paste -sd' '
}
servers() {
	psql_do -c 'BEGIN' -c "SELECT changed + made FROM cloud_servers((SELECT id FROM cluster WHERE name = 'vms'), (SELECT jsonb_agg(jsonb_build_object('id', 'vm-' || g, 'user', 'u', 'project', 'p',
		'name', 'v' || g, 'state', '${3:-ACTIVE}', 'created', 1, 'launched', 2, 'flavour', 'small')) FROM generate_series($1, $2) g), true)" -c "$few" -c 'COMMIT' | paste -sd' '
}
few="SELECT CASE WHEN seq_tup_read + idx_tup_fetch <= 200 THEN 'few' ELSE (seq_tup_read + idx_tup_fetch)::text END FROM pg_stat_xact_user_tables WHERE relname = 'unit'"
pods 1 3000 >/dev/null
servers 1 3000 >/dev/null
is "ten more of 3000 pods read few others" "$(pods 3001 3010)" "10 few"
is "ten that have changed do, too" "$(pods 2001 2010 Succeeded)" "10 few"
is "ten more of 3000 servers read few others" "$(servers 3001 3010)" "10 few"
is "ten of these that have changed do, too" "$(servers 2001 2010 SHUTOFF)" "10 few"
# a push of starts, of which Postgres expects a few: by what it says it did
sql "TRUNCATE unit_node CASCADE"
sql "VACUUM ANALYZE unit_node"
psql_admin -c 'BEGIN' -c 'SELECT ingest_staging()' -c "INSERT INTO in_node (type, seq, instance, boot, guessed, started, shift_ms, manager, cluster, node, uuid, restarts)
		SELECT 17, g, 10000 + g, gen_random_uuid()::text, false, '2025-02-01', 0, 'slurm', 'c', 'n1', (200000 + g)::text, 0 FROM generate_series(1, 1000) g" \
	-c "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET auto_explain.log_analyze = on; SET client_min_messages = log" \
	-c 'SELECT ingest_nodes()' -c 'ROLLBACK' >"$SCRATCH/plans" 2>&1
ok "a thousand starts are taken" grep -q '^Update on unit_node' "$SCRATCH/plans"
is "and none is compared with all others" "$(sed -n 's/.*Rows Removed by Join Filter: //p' "$SCRATCH/plans" | sort -n | tail -n 1)" ""
tap_done
