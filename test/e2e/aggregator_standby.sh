#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Several hosts in --db.url: a primary is killed, its standby is promoted, the aggregator continues
# there, and everything committed is there.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator
[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
command -v curl >/dev/null || skip_all "curl is not installed"
need_pg
port=$(free_port) p1=$(free_port) p2=$(free_port)
URL=http://127.0.0.1:$port
DB="postgresql://ceems@127.0.0.1:$p1,127.0.0.1:$p2/ceems"
status() { curl -s -o "$SCRATCH/body" -w '%{http_code}' "$URL/health"; }
healthy() { [ "$(status)" = 200 ]; }
sick() { [ "$(status)" = 503 ]; }

pg_start "$SCRATCH/one" --durable --port="$p1" --set=wal_level=replica --set=max_wal_senders=4 \
	--set=synchronous_standby_names=standby --set=synchronous_commit=local || { ok "a primary starts" false; tap_done; }
one=$PGADMIN
pg_dirs+=("$SCRATCH/two")
ok "a standby follows it" test/rig/pg standby "$SCRATCH/two" "$SCRATCH/one" --port="$p2"
. "$SCRATCH/two/env"
two=$PGADMIN
ask() { "$PGBIN/psql" -XAtq "$@"; }
follows() { [ "$(ask "$one" -c "SELECT sync_state FROM pg_stat_replication")" = sync ]; }
ok "synchronously" wait_for 10 follows
# from here on a commit is on both
ask "$one" -c "ALTER SYSTEM SET synchronous_commit = 'on'" -c "SELECT pg_reload_conf()" >/dev/null

"$agg" --web.listen-address="127.0.0.1:$port" --db.url="$DB" >"$SCRATCH/agg.log" 2>&1 &
agg_pid=$!
started $agg_pid
ok "the aggregator finds the primary among the hosts" wait_for 20 healthy
like "and says which" "$(grep 'database: connected' "$SCRATCH/agg.log")" ":$p1/ceems as ceems"
ask "$one" -c "INSERT INTO cluster (name) VALUES ('committed')"

# commits, one after the other, each noted when it is acknowledged
(
	n=0
	while [ -e "$SCRATCH/one/env" ] && [ $n -lt 100000 ]; do
		n=$((n + 1))
		"$PGBIN/psql" -XAtq "$DB?target_session_attrs=read-write&connect_timeout=2" -c "INSERT INTO audit (login, action) VALUES ('$n', 'test')" 2>/dev/null &&
			echo $n >>"$SCRATCH/acked"
		[ -e "$SCRATCH/enough" ] && break
	done
) &
writer=$!
some() { [ "$(wc -l <"$SCRATCH/acked")" -gt "$1" ]; }
wait_for 20 some 20
pg_kill "$SCRATCH/one"
ok "without its primary it is not healthy: a standby is no place to write" wait_for 30 sick
before=$(wc -l <"$SCRATCH/acked")
ok "the standby is promoted" test/rig/pg promote "$SCRATCH/two"
ok "the aggregator goes on there" wait_for 40 healthy
like "and says so" "$(grep 'database: connected' "$SCRATCH/agg.log" | tail -1)" ":$p2/ceems as ceems"
wait_for 20 some $((before + 20))
touch "$SCRATCH/enough"
wait $writer
is "what was committed before is there" "$(ask "$two" -c "SELECT name FROM cluster WHERE name = 'committed'")" committed
is "all that was acknowledged is there, each once" \
	"$(comm -3 <(sort "$SCRATCH/acked") <(ask "$two" -c "SELECT login FROM audit WHERE action = 'test' GROUP BY login HAVING count(*) = 1" | sort) |
		awk 'NF { n++ } END { print n + 0 }' | awk '{ print ($1 <= 1) ? "yes" : "no: " $1 }')" yes
is "none that was acknowledged is missing" "$(comm -23 <(sort "$SCRATCH/acked") <(ask "$two" -c "SELECT login FROM audit WHERE action = 'test'" | sort) | wc -l)" 0
"$agg" --check --db.url="$DB" >"$SCRATCH/check" 2>&1
like "--check says where it is" "$(cat "$SCRATCH/check")" "Postgres .* at 127.0.0.1:$p2/ceems"
kill $agg_pid
wait $agg_pid
is "the aggregator ends well" $? 0
tap_done
