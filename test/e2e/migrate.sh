#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_tool migrate database: units of a database with CEEMS's documented schema (made here, by our own statements)
# become units of an aggregator: the same values, once, however often; what has no counterpart is named; what
# is damaged is refused.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
. "$TOP/test/peer_db.sh"
tool=$BUILD/ceems_tool
command -v sqlite3 >/dev/null || skip_all "sqlite3 is not installed"
"$tool" migrate database /nowhere 2>&1 | grep -q 'without SQLite' && skip_all "ceems_tool was built without SQLite"
db=$SCRATCH/ceems.db
peer_db "$db" 300
# what a day brings beside ended jobs: one that runs, one that never began, other managers, broken maps, nonsense
sqlite3 "$db" "INSERT INTO units (resource_manager, cluster_id, uuid, name, project, username, created_at_ts, started_at, started_at_ts, ended_at_ts, state, total_time_seconds, total_cpu_energy_usage_kwh, last_updated_at) VALUES
	('slurm', 'alpha', '9001', 'runs', 'proj1', 'user1', 1705000000000, 'a', 1705000010000, 0, 'RUNNING', '{\"walltime\":1000,\"alloc_cputime\":2000}', '{\"total\":0.5}', '2024-01-11T21:00:00'),
	('slurm', 'alpha', '9002', 'never', 'proj1', 'user1', 1705000000000, 'Unknown', 0, 1705000100000, 'CANCELLED by 7', '{}', '{}', '2024-01-11T21:00:00'),
	('slurm', 'alpha', '9003', 'odd', 'proj1', 'user1', 1705000000000, 'b', 1705000010000, 0, 'RUNNING', '{\"walltime\":', '{\"total\":-4,\"best\":1e300}', '2024-01-11T21:00:00'),
	('slurm', 'alpha', 'x', 'no number', 'proj1', 'user1', 1, 'b', 2, 3, 'COMPLETED', '{}', '{}', '2024-01-11T21:00:00'),
	('openstack', 'cloud', 'd3adb33f', 'vm', 'proj1', 'user1', 1705000000000, 'b', 1705000010000, 0, 'Running', '{}', '{}', '2024-01-11T21:00:00')"

sum=$(cksum "$db")
out=$("$tool" migrate database --dry-run "$db" 2>&1)
like "a dry run says how many" "$out" "would migrate: 304 units"
like "names units of other managers" "$out" "not migrated: 1 units of openstack \(cluster cloud\)"
like "and keys without a counterpart" "$out" "no counterpart: total_io_write_stats.requests_total"
like "and tables" "$out" "no counterpart: tables usage, daily_usage"
is "and needs no aggregator" "$(grep -c ceems_aggregator <<<"$out")" 0

agg_begin
printf 'db:\n  url: "%s"\nsecurity:\n  drop-privileges: false\n' "$PGURL" >"$SCRATCH/agg.yaml"
migrate() { "$tool" migrate database --config.file "$SCRATCH/agg.yaml" "$@" 2>&1; }
out=$(migrate "$db")
is "it works" "$?" 0
like "the aggregator says what it took" "$out" "303 units read, 303 of them new or changed, 1 refused"
like "and what it refused" "$out" "first refused: a unit without a job id"
like "and numbers that cannot be" "$out" "2 numbers cannot be"
ok "they are processed" settle
peer_rows "$db" | grep -v '|9002|\|^x|' >"$SCRATCH/theirs"
our_rows >"$SCRATCH/ours"
is "there are as many ended ones" "$(wc -l <"$SCRATCH/ours")" 300
ok "each has each value that it had" cmp "$SCRATCH/theirs" "$SCRATCH/ours" || diff "$SCRATCH/theirs" "$SCRATCH/ours" | head -6 | sed 's/^/# /'
sums() { our_sums | grep -v '^user1|proj1'; }
ok "sums of users and projects are theirs" test "$(peer_sums "$db" | grep -v '^user1|proj1')" = "$(sums)"
is "a day has its part, days together all" "$(sql "SELECT bool_and(u.host_uj = d.uj AND u.cpu_alloc_ms = d.ms) FROM unit u JOIN (SELECT unit, sum(host_uj) AS uj, sum(cpu_alloc_ms) AS ms FROM unit_day GROUP BY unit HAVING count(*) > 1) d ON d.unit = u.id")" t
is "a job that runs, runs" "$(sql "SELECT state, ended IS NULL, host_uj, wall_ms > 0 FROM unit WHERE uuid = '9001'")" "RUNNING|t|1800000000000|t"
is "one that never began used nothing" "$(sql "SELECT state, started IS NULL, coalesce(host_uj, 0) FROM unit WHERE uuid = '9002'")" "CANCELLED|t|0"
is "a broken map is nothing known, not 0" "$(sql "SELECT cpu_alloc_ms IS NULL, host_uj IS NULL FROM unit WHERE uuid = '9003'")" "t|t"
is "where the energy is from is said" "$(sql "SELECT DISTINCT label FROM unit u JOIN energy_sources s ON s.id = u.energy_sources")" "host=import,gpu=import"

# again
marks=$(sql "SELECT count(*), max(as_of) FROM unit")
like "again changes nothing" "$(migrate "$db")" "303 units read, 0 of them new or changed"
settle
is "no unit was touched" "$(sql "SELECT count(*), max(as_of) FROM unit")" "$marks"
sqlite3 "$db" "UPDATE units SET ended_at_ts = 1705090000000, state = 'COMPLETED', total_cpu_energy_usage_kwh = '{\"total\":2.5}', total_time_seconds = '{\"walltime\":89990,\"alloc_cputime\":179980}' WHERE uuid = '9001'"
like "what went on since is taken" "$(migrate "$db")" "303 units read, 1 of them new or changed"
settle
is "with its end and its later sums" "$(sql "SELECT state, ended IS NULL, host_uj, cpu_alloc_ms, (SELECT sum(host_uj) FROM unit_day d WHERE d.unit = u.id) FROM unit u WHERE uuid = '9001'")" "COMPLETED|f|9000000000000|179980000|9000000000000"
peer_sums "$db" >"$SCRATCH/theirs"
ok "and sums of users have it once" test "$(grep '^user1|proj1' "$SCRATCH/theirs" | cut -d'|' -f1-2,6)" = "$(our_sums | grep '^user1|proj1' | cut -d'|' -f1-2,6)"

# our own nodes' word stands
T=1705100000
sql "SELECT import_units('[{\"cluster\":\"alpha\",\"uuid\":\"97777\",\"restarts\":0,\"submitted\":$T,\"part\":$T,\"state\":3,\"until\":$((T + 60)),\"record\":{\"state\":\"COMPLETED\",\"user\":\"user2\",\"uid\":2002,\"account\":\"proj2\",\"started\":\"$(date -u -d @$T +%FT%TZ)\",\"ended\":\"$(date -u -d @$((T + 60)) +%FT%TZ)\"},\"usage\":{\"total_cpu_energy_usage_kwh\":{\"total\":1}}}]', 2)" >/dev/null
settle
is "--pue divides energy" "$(sql "SELECT host_uj FROM unit WHERE uuid = '97777'")" 1800000000000
sql "INSERT INTO node (cluster, name) SELECT id, 'n77' FROM cluster WHERE name = 'alpha'; INSERT INTO unit_node (instance, node, uuid, restarts, uid, started, ended, last_t1, final, host_uj, unit)
	SELECT 77, n.id, '97777', 0, 2002, to_timestamp($T), to_timestamp($T + 60), to_timestamp($T + 60), true, 5, u.id FROM node n, unit u WHERE n.name = 'n77' AND u.uuid = '97777'; INSERT INTO dirty (unit) SELECT id FROM unit WHERE uuid = '97777'"
settle
is "where our nodes told of a unit, their word stands" "$(sql "SELECT host_uj, (SELECT count(*) FROM unit_brought WHERE uuid = '97777') FROM unit WHERE uuid = '97777'")" "5|0"

# files that are none
is "the file was never written" "$(cksum <"$db" | wc -l)$(sqlite3 "$db" 'PRAGMA integrity_check')" 1ok
head -c 20000 "$db" >"$SCRATCH/cut.db"
out=$(migrate "$SCRATCH/cut.db")
is "a cut file is refused" "$?" 2
like "and said to be damaged" "$out" "cut.db.*(damaged|malformed).*backup"
cp "$db" "$SCRATCH/hit.db"
dd if=/dev/urandom of="$SCRATCH/hit.db" bs=4096 seek=3 count=4 conv=notrunc 2>/dev/null
out=$(migrate "$SCRATCH/hit.db")
is "pages overwritten are noticed before anything is taken" "$?" 2
like "with what to do" "$out" "recover"
echo hello >"$SCRATCH/text.db"
like "a text is no database" "$(migrate "$SCRATCH/text.db")" "text.db.*not a database"
sqlite3 "$SCRATCH/other.db" "CREATE TABLE units (id INTEGER)"
like "nor is another program's" "$(migrate "$SCRATCH/other.db")" "no column .*not known here"
sqlite3 "$SCRATCH/none.db" "CREATE TABLE jobs (id INTEGER)"
like "nor one without units" "$(migrate "$SCRATCH/none.db")" "no table units"
sqlite3 "$SCRATCH/view.db" "CREATE VIEW units AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS uuid FROM n"
is "nor one that would go on for ever" "$(timeout 20 "$tool" migrate database "$SCRATCH/view.db" >/dev/null 2>&1; echo $?)" 2
mkfifo "$SCRATCH/fifo.db"
is "nor what is no file" "$(for f in "$SCRATCH" "$SCRATCH/fifo.db" /dev/zero; do timeout 20 "$tool" migrate database "$f" >/dev/null 2>&1; echo $?; done | paste -sd' ')" "2 2 2"
like "a missing file is named" "$(migrate "$SCRATCH/gone.db")" "gone.db.*unable to open"
like "two files are one too many" "$(migrate a b)" "one file"
like "a pue below 1 is refused" "$(migrate --pue 0.5 "$db")" "import.pue=0.5: must be 1 to 10"
is "lines can go to another host" "$("$tool" migrate database --output - "$db" | "$agg" --config.file="$SCRATCH/agg.yaml" --import=units=- 2>/dev/null | cut -d, -f1)" "ceems_aggregator: 303 units read"
is "a line without an end is refused" "$(head -c 2000000 /dev/zero | tr '\0' x | "$agg" --config.file="$SCRATCH/agg.yaml" --import=units=- 2>&1 | grep -c 'a line of more than')" 1
tap_done
