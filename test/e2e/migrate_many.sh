#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A database of CEEMS with 100 000 jobs (made here, by our own statements): each value of each, and the sums of all users, are
# the same in the aggregator; a migration that is killed in the middle is repeated without doubling anything.
# timeout 1800
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
. "$TOP/test/peer_db.sh"
tool=$BUILD/ceems_tool
command -v sqlite3 >/dev/null || skip_all "sqlite3 is not installed"
"$tool" migrate database /nowhere 2>&1 | grep -q 'without SQLite' && skip_all "ceems_tool was built without SQLite"
db=$SCRATCH/ceems.db UNITS=${UNITS:-100000}
peer_db "$db" "$UNITS"
agg_begin
printf 'db:\n  url: "%s"\nsecurity:\n  drop-privileges: false\n' "$PGURL" >"$SCRATCH/agg.yaml"
migrate() { "$tool" migrate database --config.file "$SCRATCH/agg.yaml" "$db" 2>&1; }
some() { [ "$(sql 'SELECT count(*) FROM unit_brought')" -ge $((UNITS / 5)) ]; }
migrate >/dev/null &
pid=$!
ok "a part is taken" wait_for 300 some
kill -9 $pid 2>/dev/null
{ wait $pid; } 2>/dev/null
begin=$(date +%s%3N)
like "again all are read" "$(migrate)" "$UNITS units read"
took=$(($(date +%s%3N) - begin))
rest() { wait_for 1500 at_rest; }
ok "all are processed" rest
echo "# $UNITS units taken in $took ms, processed after $(($(date +%s%3N) - begin)) ms"
peer_rows "$db" >"$SCRATCH/theirs"
our_rows >"$SCRATCH/ours"
is "there are as many" "$(wc -l <"$SCRATCH/ours")" "$UNITS"
ok "each has each value that it had" cmp "$SCRATCH/theirs" "$SCRATCH/ours" || diff "$SCRATCH/theirs" "$SCRATCH/ours" | head -6 | sed 's/^/# /'
ok "sums of users and projects are theirs" test "$(peer_sums "$db")" = "$(our_sums)"
is "days together are the units" "$(sql "SELECT count(*) FROM unit u JOIN (SELECT unit, sum(host_uj) AS uj FROM unit_day GROUP BY unit) d ON d.unit = u.id WHERE d.uj = u.host_uj")" "$UNITS"
like "once more changes nothing" "$(migrate)" "$UNITS units read, 0 of them new or changed"
tap_done
