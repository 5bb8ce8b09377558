#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Retention with several aggregators on one database, and with clocks that are wrong: the
# aggregator's, the database's, both. What is kept is kept, and a report is not refused for its
# age by a clock that cannot tell.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
. "$TOP/test/clock_off.sh"
need_clock_off
(umask 077; echo a-token-of-this-test >token)
pg_start || { ok "Postgres starts" false; tap_done; }
ports=("$(free_port)" "$(free_port)") pids=()
U() { echo "http://127.0.0.1:${ports[$1]}"; }
begin() { # which off-seconds [flags]
	local i=$1 off=$2 pre=(env)
	shift 2
	[ "$off" = 0 ] || pre=(env "${clock_off[@]}" CLOCK_OFF_S="$off")
	"${pre[@]}" "$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:${ports[i]}" --ingest.token-file="$SCRATCH/token" \
		--security.drop-privileges=false "$@" >"agg$i.log" 2>&1 &
	pids[i]=$!
	started "${pids[i]}"
}
up() { [ "$(metric "$1" ceems_aggregator_database_up)" = 1 ]; } # /health is about the clock too
end() { local i; for i; do kill "${pids[i]}"; wait "${pids[i]}"; done; }
metric() { curl -s "$(U "$1")/metrics" | awk -v m="$2" 'index($0, m " ") == 1 { print $2 }'; }
sql() { psql_do -c "$1"; }
days() { sql "SELECT count(*) FROM pg_inherits WHERE inhparent = 'unit_interval'::regclass AND inhrelid::regclass::text < 'unit_interval_' || to_char(now() + interval '100 days', 'YYYYMMDD')"; }
kept() { sql 'SELECT count(*) FROM unit_interval'; }
round() { # which: its ladder has gone once around, well or not
	[ "$(metric "$1" ceems_aggregator_ladder_failures_total)" -gt 0 ] || [ "$(metric "$1" 'ceems_aggregator_partitions{table="unit_interval"}')" -gt 0 ]
}
push() { # which
	printf 'interval instance=%s unit=7 started=%s t0=%s t1=%s user=1\n' "$2" $((hour - 3600)) $hour $((hour + 300)) | "$make" |
		curl -s -o answer -w '%{http_code}' -H 'Authorization: Bearer a-token-of-this-test' -H 'Content-Type: application/x-ceems-batch' --data-binary @- "$(U "$1")/api/v1/ingest"
}
now=$(date +%s)
hour=$((now - now % 3600 - 3600)) # a window over the end of an hour is two rows

# ---- two at once
begin 0 0 --retention.intervals=60d
ok "an aggregator that keeps 60 days" wait_for 20 up 0
wait_for 20 round 0
is "has a partition for each of them" "$(days)" 65
sql "INSERT INTO unit_interval (instance, t0, ms, observed_ms) SELECT 1, now() - d * interval '1 day', 1, 1 FROM generate_series(0, 59) d"
end 0
begin 0 0 --retention.intervals=30d
begin 1 0 --retention.intervals=30d
ok "two that keep 30 days start together" eval 'wait_for 20 up 0 && wait_for 20 up 1'
fewer() { [ "$(days)" = 35 ]; }
ok "what is older goes" wait_for 20 fewer
wait_for 20 round 0
wait_for 20 round 1
is "and nothing else does" "$(days) $(kept)" "35 32"
is "neither was in the other's way" "$(metric 0 ceems_aggregator_ladder_failures_total) $(metric 1 ceems_aggregator_ladder_failures_total) $(cat agg?.log | grep -c 'level=error')" "0 0 0"
is "both take reports" "$(push 0 100) $(push 1 101) $(kept)" "200 200 34"
end 0 1

# ---- a clock that is wrong
# begins with 90 days ahead in the way of an aggregator: all that there is would be old
wrong() { # what aggregator's-off
	begin 0 "$2" --retention.intervals=30d
	ok "$1: the aggregator starts" wait_for 20 up 0
	wait_for 20 round 0
	is "nothing is dropped" "$(days) $(kept)" "35 34"
}
day=86400
for off in $((90 * day)) $((-90 * day)) $((4000 * day)); do
	wrong "its clock is $((off / day)) days ahead" $off
	like "it is said" "$(cat agg0.log)" "retention: the clocks of the database and of this machine are -?[0-9]+ s apart: nothing is dropped"
	is "a report waits, and is not refused for its age" "$(push 0 200) $(grep -o 'a day apart' answer)" "503 a day apart"
	like "/health says it too" "$(curl -s -m 20 "$(U 0)/health")" "not healthy: its clock is [0-9]+ s"
	ok "and the failure is counted" test "$(metric 0 ceems_aggregator_ladder_failures_total)" -ge 1
	end 0
done
pg_stop
export "${clock_off[@]}" CLOCK_OFF_S=$((90 * day))
pg_up || ok "Postgres starts with a wrong clock" false
unset LD_PRELOAD CLOCK_OFF_S
is "the database's clock is wrong" "$(sql "SELECT extract(epoch FROM now())::bigint / 86400 - $now / 86400 BETWEEN 89 AND 91")" t
days() { sql "SELECT count(*) FROM pg_inherits WHERE inhparent = 'unit_interval'::regclass AND inhrelid::regclass::text < 'unit_interval_' || to_char(now() - interval '60 days', 'YYYYMMDD')"; }
wrong "the database's clock is ahead" 0
is "a report waits" "$(push 0 200)" 503
end 0
wrong "both are ahead, as on one host" $((90 * day))
is "and the failures are none: nobody can know" "$(metric 0 ceems_aggregator_ladder_failures_total)" 0
end 0
pg_stop
pg_up
begin 0 0 --retention.intervals=30d
ok "with the right time all goes on" wait_for 20 up 0
wait_for 20 round 0
is "with what there was" "$(push 0 300) $(kept)" "200 35"
end 0
tap_done
