#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The disk under Postgres gets full while an aggregator works: nothing that was acknowledged is
# lost, and when there is room again it continues by itself.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator
[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
command -v curl >/dev/null || skip_all "curl is not installed"
need_pg
have_root || skip_all "needs root: mounts a small disk"
DATA=$SCRATCH/small/data
mkdir "$SCRATCH/small" && mount -t tmpfs -o size=192m,mode=755 none "$SCRATCH/small" 2>/dev/null || skip_all "cannot mount a tmpfs"
test_cleanup() {
	kill "$agg_pid" 2>/dev/null && wait "$agg_pid"
	for _ in $(seq 100); do umount "$SCRATCH/small" 2>/dev/null && break; sleep 0.1; done
	umount "$SCRATCH/space" 2>/dev/null
}
PGBIN=$(for d in "$(pg_config --bindir 2>/dev/null)" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do [ -x "$d/postgres" ] && { echo "$d"; break; }; done)
private="host=$DATA/s dbname=ceems user=ceems"
port=$(free_port)
healthy() { [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/health")" = 200 ]; }
# 3200 bytes a row that do not compress
put() { "$PGBIN/psql" -XAtq "$private" -c "INSERT INTO audit (login, action, detail) SELECT '$1', 'test', json_build_object('x', (SELECT string_agg(md5(g || '.' || i), '') FROM generate_series(1, 100) i)) FROM generate_series(1, $2) g" 2>>"$SCRATCH/errors"; }

(umask 077; echo a-token-of-this-test >"$SCRATCH/token")
chgrp ceems "$SCRATCH/token" 2>/dev/null || chgrp "$(id -gn nobody)" "$SCRATCH/token" # who it becomes
chmod 640 "$SCRATCH/token"
"$agg" --web.listen-address="127.0.0.1:$port" --data.path="$DATA" --ingest.token-file="$SCRATCH/token" >"$SCRATCH/agg.log" 2>&1 &
agg_pid=$!
ok "an aggregator with a private database on a small disk" wait_for 60 healthy
n=0
while put $((n + 1)) 500 && [ $n -lt 2000 ]; do n=$((n + 1)); done
ok "rows went in before it was full" [ $n -gt 10 ]
like "then the disk was full" "$(cat "$SCRATCH/errors")" "No space left|closed the connection|shut ?down|Connection refused|recovery"
for _ in $(seq 5); do put no 500; sleep 0.2; done
ok "the aggregator lives on" kill -0 "$agg_pid"

mount -o remount,size=512m "$SCRATCH/small"
again() { healthy && put again 1; }
ok "with room again all goes on by itself" wait_for 120 again
is "all that was acknowledged is there, and all of it" "$("$PGBIN/psql" -XAtq "$private" -c "SELECT count(*), min(c), max(c) FROM (SELECT count(*) AS c FROM audit WHERE login ~ '^[0-9]+$' AND login::int <= $n GROUP BY login) x")" "$n|500|500"
is "--check finds nothing wrong" "$("$agg" --check --data.path="$DATA" 2>/dev/null | grep -v '^ok\|wait for the roll-up' | sed '$d')" ""

# ---- only where reports go it is full: a table space of its own
T=$SCRATCH/space
mkdir "$T" && mount -t tmpfs -o size=8m,mode=755 none "$T" && mkdir "$T/d" && chown "$(stat -c %u "$DATA/pgdata")" "$T/d" && chmod 700 "$T/d"
sql() { "$PGBIN/psql" -XAtq "$private" -c "$1" 2>&1; }
sql "CREATE TABLESPACE apart LOCATION '$T/d'" && sql 'ALTER TABLE unit_node SET TABLESPACE apart'
send() { local now; now=$(date +%s); for i in $(seq "$2" "$3"); do echo "start instance=$i unit=$i started=$now"; done | "$BUILD/batch_make" | curl -s -m 100 -o /dev/null -w '%{http_code}' \
	-H 'Content-Type: application/x-ceems-batch' -H 'Authorization: Bearer a-token-of-this-test' --data-binary @- "http://127.0.0.1:$port/api/v1/ingest"; }
is "a report is taken" "$(send x 1 1)" 200
dd if=/dev/zero of="$T/fill" bs=1M 2>/dev/null
is "reports that find no space are told to wait" "$(send x 1000 4000)" 503
like "/health says so" "$(curl -s "http://127.0.0.1:$port/health")" 'no space left for reports'
is "while queries are answered" "$(sql 'SELECT count(*) FROM unit_node')" 1
rm "$T/fill"
taken() { [ "$(send x 1000 4000)" = 200 ]; }
ok "with room again they are taken" wait_for 20 taken
ok "and all is healthy" wait_for 20 healthy
kill "$agg_pid"; wait "$agg_pid"
is "and ends well" $? 0
tap_done
