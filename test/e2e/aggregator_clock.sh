#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An aggregator whose own clock is wrong, by hours or by months, and nodes whose clocks are right:
# it says so and refuses nothing; when its clock is right again all records are there, once.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
. "$TOP/test/clock_off.sh"
need_clock_off
(umask 077; printf '%s\n' a-token-of-this-test b-token-of-this-test c-token-of-this-test >token)
pg_start || { ok "Postgres starts" false; tap_done; }
U() { echo "http://127.0.0.1:$port"; }
up() { [ "$(metric ceems_aggregator_database_up)" = 1 ]; }
begin() { # seconds that its clock is ahead
	local pre=(env)
	[ "$1" = 0 ] || pre=(env "${clock_off[@]}" CLOCK_OFF_S="$1")
	port=$(free_port)
	"${pre[@]}" "$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$port" --ingest.token-file="$SCRATCH/token" --retention.intervals=60d --security.drop-privileges=false >>agg.log 2>&1 &
	pid=$!
	started "$pid"
	wait_for 60 up || { ok "the aggregator starts" false; tail -3 agg.log; tap_done; }
}
end() { kill "$pid"; wait "$pid"; }
metric() { curl -s -m 20 "$(U)/metrics" | awk -v m="$1" 'index($0, m " ") == 1 { print $2 }'; }
health() { curl -s -m 20 -w ' %{http_code}' "$(U)/health" | tr '\n' ' '; }
sql() { psql_do -c "$1"; }
post() { # whose, lines on stdin
	"$make" | curl -s -m 100 -o answer -w '%{http_code}' -H "Authorization: Bearer $1-token-of-this-test" -H 'Content-Type: application/x-ceems-batch' --data-binary @- "$(U)/api/v1/ingest"
}
now=$(date +%s)
clock() { echo "clock boottime=100000 realtime=$(($(date +%s) + ${1:-0}))"; }
unit() { # instance, seconds since it began, word for the reports
	local s=$((now - $2)) more="instance=$1 unit=$1 ${3:-boottime=$((100000 - $2))}"
	echo "start $more started=$s"
	echo "interval $more started=$s t0=$s t1=$((s + 600)) user=77"
	echo "final $more started=$s ended=$((s + 600)) user=77"
}
there() { sql "SELECT count(*), sum(i.cpu_user_ns), bool_and(abs(extract(epoch FROM n.started) - $now + 900) < 300) FROM unit_node n JOIN (SELECT instance, sum(cpu_user_ns) AS cpu_user_ns FROM unit_interval GROUP BY instance) i USING (instance) WHERE instance BETWEEN $1 AND $2"; }
earlier="boottime=3 boot=21111111-2222-3333-4444-555555555555"

# ---- its clock alone is wrong
for off in -10800 -3600 10800; do
	begin "$off"
	for w in a b c; do { clock; unit 100 900; unit 101 900 "$earlier"; } | post $w; echo -n ' '; done >codes
	is "$off s: reports are not taken" "$(cat codes)" "503 503 503 "
	like "$off s: it is said why" "$(cat answer)" "clock is [0-9]+ s (ahead|behind) according to 4 other clocks"
	unit 102 900 "$earlier" | post a >code
	is "$off s: those of an older sender are not either" "$(cat code)" 503
	like "$off s: /health says it" "$(health)" "not healthy: its clock is .* 503 ?$"
	is "$off s: and a metric" "$(metric ceems_aggregator_clock_wrong) $(metric ceems_aggregator_ingest_waiting_records_total) $(metric ceems_aggregator_ingest_refused_records_total)" "1 21 0"
	like "$off s: and the log" "$(cat agg.log)" "this host cannot judge reports: its clock is"
	is "$off s: nothing is written" "$(sql 'SELECT count(*) FROM unit_node')" 0
	end
done

# ---- the database's clock is wrong with it, as on one host
pg_stop
export "${clock_off[@]}" CLOCK_OFF_S=$((90 * 86400))
pg_up || ok "Postgres starts with a wrong clock" false
unset LD_PRELOAD CLOCK_OFF_S
begin $((90 * 86400))
{ clock; unit 100 900 "$earlier"; } | post a >code
is "both are 90 days ahead: what would be too old waits" "$(cat code)" 503
for w in b c; do { clock; unit 101 900; } | post $w >code; done
is "more hosts than these two contradict: all waits" "$(cat code)" 503
like "which /health says" "$(health)" "not healthy: its clock is [0-9]+ s ahead according to 3 other clocks.* against 1: .* 503 ?$"
is "nothing is refused" "$(metric ceems_aggregator_ingest_refused_records_total)" 0
end
pg_stop
pg_up || ok "Postgres starts again" false

# ---- all clocks are right
begin 0
for w in a b c a; do { clock; unit 100 900; unit 101 900 "$earlier"; } | post $w; echo -n ' '; done >codes
is "with the right clock all is taken" "$(cat codes)" "200 200 200 200 "
is "and is there once" "$(there 100 101 | cut -d'|' -f1,2)" "2|154"
is "where it belongs" "$(there 100 100)" "1|77|t"
like "it is healthy" "$(health)" "is healthy  ?200 ?$"
is "and says so" "$(metric ceems_aggregator_clock_wrong) $(metric ceems_aggregator_ingest_refused_records_total)" "0 0"
{ clock 10800; unit 200 900; } | post b >code
is "a node whose clock is wrong does not make it doubt" "$(cat code) $(metric ceems_aggregator_clock_wrong) $(there 200 200)" "200 0 1|77|t"
{ echo "clock boottime=8000000 realtime=$(date +%s)"; unit 300 $((70 * 86400)) "boottime=$((8000000 - 70 * 86400))"; } | post a >code
like "what is older than what is kept, by its age, is refused by a clock that others confirm" "$(cat code) $(cat answer)" '200 .*older than what is kept'
{ clock; unit 301 $((70 * 86400)) "$earlier"; } | post a >code
is "what says so of an earlier boot is kept: its clock may have been wrong" "$(cat code) $(sql "SELECT sum(cpu_user_ns), min(t0) - date_trunc('day', to_timestamp($now), 'UTC') FROM unit_interval WHERE instance = 301")" "200 77|-59 days"
end
tap_done
