#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_aggregator without --db.url: its private Postgres is created, started, stopped, found again
# after a kill -9, and a folder that cannot be used is refused with a reason.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator
[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
command -v curl >/dev/null || skip_all "curl is not installed"
need_pg
PGBIN=$(for d in "$(pg_config --bindir 2>/dev/null)" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do [ -x "$d/postgres" ] && { echo "$d"; break; }; done)
DATA=$SCRATCH/data
port=$(free_port)
URL=http://127.0.0.1:$port

servers() { # pids that work in the database's folder, whoever runs them
	local p
	for p in /proc/[0-9]*; do [ "$(readlink "$p/cwd" 2>/dev/null)" = "$DATA/pgdata" ] && echo "${p#/proc/}"; done
}
test_cleanup() {
	local p
	kill "$agg_pid" 2>/dev/null && wait "$agg_pid" 2>/dev/null
	for p in $(servers); do kill -INT "$p"; done
	wait_for 10 no_server
}
no_server() { [ -z "$(servers)" ]; }
agg_start() { # flags
	"$agg" --web.listen-address="127.0.0.1:$port" --data.path="$DATA" "$@" >>"$SCRATCH/agg.log" 2>&1 &
	agg_pid=$!
	started $agg_pid
	wait_for 60 healthy
}
healthy() { [ "$(curl -s -o "$SCRATCH/body" -w '%{http_code}' "$URL/health")" = 200 ]; }
psql_private() { "$PGBIN/psql" -XAtq "host=$DATA/s dbname=ceems user=ceems" "$@"; }
# as the aggregator's user when we are root
owner() { stat -c %U "$DATA"; }

out=$("$agg" --check --data.path="$DATA" 2>&1); rc=$?
is "--check before the first start finds nothing" "$rc $(grep -c '^fail: there is no private database' <<<"$out")" "2 1"
ok "and makes nothing" [ ! -e "$DATA" ]
ok "one command makes a database and serves" agg_start
is "on this host alone there is nothing to warn of" "$(grep -c 'plain HTTP' "$SCRATCH/agg.log")" 0
like "it says at the start what it is for" "$(grep 'private database' "$SCRATCH/agg.log" | head -1)" "for trials and small sites"
is "the tables are there" "$(psql_private -c "SELECT count(*) FROM pg_class WHERE relname IN ('unit', 'unit_interval')")" 2
if have_root; then is "the server is not root's" "$(ps -o uid= -p "$(servers | head -1)" | grep -c '^ *0$')" 0; else skip "the server is not root's" "needs root"; fi
is "nothing listens on the network" "$(for p in $(servers); do ls -l /proc/"$p"/fd 2>/dev/null; done | sed -n 's/.*socket:\[\([0-9]*\)\].*/\1/p' | sort -u |
	while read -r i; do awk -v i="$i" '$10 == i && $4 == "0A"' /proc/net/tcp /proc/net/tcp6; done)" ""
is "the socket's folder is its owner's alone" "$(stat -c %a "$DATA/s")" 700
is "what is committed is on the disk" "$(psql_private -c 'SHOW fsync' -c 'SHOW synchronous_commit' -c 'SHOW data_checksums' | paste -sd' ')" "on on on"
if have_root; then
	like "another user is not let in" "$(setpriv --reuid=65533 --regid=65533 --clear-groups "$PGBIN/psql" "host=$DATA/s dbname=ceems user=ceems" -c '\q' 2>&1)" "denied|failed"
else
	skip "another user is not let in" "needs root"
fi
psql_private -c "INSERT INTO cluster (name) VALUES ('kept')"

out=$(timeout 200 "$agg" --web.listen-address="127.0.0.1:$(free_port)" --data.path="$DATA" 2>&1)
is "a second aggregator on the same folder is refused" $? 1
like "with words" "$out" "in use by another ceems_aggregator"
ok "and the first goes on" healthy
out=$("$agg" --check --data.path="$DATA" 2>&1)
is "--check looks at the private database while it is in use, and finds it good" $? 0

like "--recompute marks hours in it, too" "$("$agg" --recompute --from=2025-01-01 --to=2025-02-01 --data.path="$DATA" 2>&1)" '0 hours are marked'
echo 'kept|physics|ann|' >"$SCRATCH/people"
like "--import reads people into it" "$("$agg" --import=sacctmgr="$SCRATCH/people" --data.path="$DATA" 2>&1)" '1 associations of users read, 1 memberships begin'
like "--erase makes one of them a pseudonym" "$("$agg" --erase=ann --data.path="$DATA" 2>&1)" 'erased on 1 clusters'
is "it does" "$(psql_private -c "SELECT count(*) FROM person WHERE name = 'ann'")" 0

kill -KILL "$(head -1 "$DATA/pgdata/postmaster.pid")"
back() { psql_private -c 'SELECT 1' && healthy; }
ok "a server that dies is started again" wait_for 30 back

kill "$agg_pid"; wait "$agg_pid"
is "SIGTERM ends it well" $? 0
is "and its Postgres with it" "$(servers)" ""
like "a command of its own starts and ends the database" "$("$agg" --recompute --from=2025-01-01 --to=2025-02-01 --data.path="$DATA" 2>&1)" '0 hours are marked'
is "and leaves nothing running" "$(servers)" ""
is "in good order" "$("$PGBIN/pg_controldata" "$DATA/pgdata" | sed -n 's/^Database cluster state: *//p')" "shut down"

agg_start
is "it is found again at the next start" "$(psql_private -c "SELECT name FROM cluster")" kept

# killed: the server goes by itself, or is ended by the next start; stopped ones cannot go
backend=$(psql_private -c 'SELECT pid FROM pg_stat_activity WHERE backend_type = '"'checkpointer'")
kill -STOP "$backend"
kill -KILL "$agg_pid"; wait "$agg_pid" 2>/dev/null
(sleep 1; kill -CONT "$backend") &
ok "after a kill -9 of the aggregator the next one starts" agg_start --web.listen-address="0.0.0.0:0"
is "plain HTTP for other hosts is warned of, with what to do" "$(grep -c 'plain HTTP.*tls_server_config' "$SCRATCH/agg.log")" 1
is "with what was there" "$(psql_private -c "SELECT name FROM cluster")" kept

# killed both, and the number of the server is another process's now
if have_root; then setpriv --reuid="$(owner)" --clear-groups sleep 1000 & else sleep 1000 & fi
stranger=$!
started $stranger
kill -KILL "$agg_pid" $(servers); wait "$agg_pid" 2>/dev/null
wait_for 10 no_server
sed "1s/.*/$stranger/" "$DATA/pgdata/postmaster.pid" >"$SCRATCH/pid" && cat "$SCRATCH/pid" >"$DATA/pgdata/postmaster.pid"
ok "a stale postmaster.pid with another process's number does not matter" agg_start
ok "whose process lives on" kill -0 $stranger
is "with what was there" "$(psql_private -c "SELECT name FROM cluster")" kept
kill "$agg_pid"; wait "$agg_pid"

refused() { # what regex
	out=$(timeout 200 "$agg" --web.listen-address="127.0.0.1:$port" --data.path="$DATA" 2>&1)
	is "$1 is refused" $? 1
	like "with words: $1" "$out" "$2"
}
was=$(cat "$DATA/pgdata/PG_VERSION")
echo 9 >"$DATA/pgdata/PG_VERSION"
refused "a folder of another major version" "is of Postgres 9, this machine has $was.*pg_upgrade"
echo junk >"$DATA/pgdata/PG_VERSION"
refused "a folder that is damaged" "damaged.*restore a backup"
echo "$was" >"$DATA/pgdata/PG_VERSION"
cp -p "$DATA/pgdata/global/pg_control" "$SCRATCH/pg_control"
: >"$DATA/pgdata/global/pg_control"
refused "a database whose control file is gone" "does not start: (PANIC|FATAL).*restore a backup"
cp -p "$SCRATCH/pg_control" "$DATA/pgdata/global/pg_control"
[ "$(id -u)" != 0 ] || chown "$(owner)" "$DATA/pgdata/global/pg_control"
long=$SCRATCH/$(printf 'x%.0s' $(seq 100))
out=$("$agg" --data.path="$long" 2>&1)
like "a path that is too long for a socket is refused" "$out" "too long for a socket"
if have_root; then
	mkdir "$SCRATCH/foreign" && chown 65533 "$SCRATCH/foreign"
	like "somebody else's folder is refused" "$("$agg" --data.path="$SCRATCH/foreign" 2>&1)" "belongs to user 65533"
else
	skip "somebody else's folder is refused" "needs root"
fi

# a disk that is full
if have_root && mkdir "$SCRATCH/full" && mount -t tmpfs -o size=20m,mode=755 none "$SCRATCH/full" 2>/dev/null; then
	out=$(timeout 200 "$agg" --web.listen-address="127.0.0.1:$port" --data.path="$SCRATCH/full/data" 2>&1)
	rc=$?
	umount "$SCRATCH/full"
	is "a full disk stops the start" $rc 1
	like "with words" "$out" "No space left|room"
else
	skip "a full disk stops the start" "needs root and mount"
	skip "with words" "needs root and mount"
fi
agg_start
is "after all that the records are there" "$(psql_private -c "SELECT name FROM cluster")" kept
tap_done
