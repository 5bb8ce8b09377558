#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nodes whose clocks were wrong for a while, by seconds or by weeks: the usage of their units is there
# once, where it belongs, whichever of two aggregators receives it, when and how often.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
(umask 077; printf '%s
' 'test=* a-token-of-this-test' 'ctl=* a-token-of-slurmctld' >token)
pg_start || { ok "Postgres starts" false; tap_done; }
ports=() pids=()
U() { echo "http://127.0.0.1:${ports[$1]}"; }
up() { curl -sf -m 20 -o /dev/null "$(U "$1")/health"; }
begin() { # which
	ports[$1]=$(free_port)
	"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:${ports[$1]}" --ingest.token-file="$SCRATCH/token" --ingest.jobs-from=token:test --ingest.jobs-from=token:ctl --security.drop-privileges=false >>"agg$1.log" 2>&1 &
	pids[$1]=$!
	started "${pids[$1]}"
	wait_for 60 up "$1"
}
end() { kill "${pids[$1]}"; wait "${pids[$1]}"; }
sql() { psql_do -c "$1"; }
post() { # which, lines on stdin
	"$make" | curl -s -m 100 -o "answer$1" -w '%{http_code}' -H "Authorization: Bearer ${token:-a-token-of-this-test}" -H 'Content-Type: application/x-ceems-batch' --data-binary @- "$(U "$1")/api/v1/ingest"
}
# as a courier: until it is taken
push() { local n; cat >"lines$1"; for ((n = 0; n < 20; n++)); do [ "$(post "$1" <"lines$1")" = 200 ] && break; sleep 0.2; done; cat "answer$1"; }
BOOT=100000 # boottime of the node when it is $now
clock() { echo "clock boottime=$BOOT realtime=$((now + ${1:-0}))"; }
# unit INSTANCE OFF AGE: an hour's life that began so long ago by a clock that was so much ahead; user is its CPU time
unit() {
	local i=$1 s=$((now - $3 + $2)) b=$((BOOT - $3))
	echo "start instance=$i unit=$i started=$s boottime=$b cpus=1"
	echo "interval instance=$i unit=$i started=$s boottime=$b t0=$s t1=$((s + 1800)) user=1000"
	echo "interval instance=$i unit=$i started=$s boottime=$b t0=$((s + 1800)) t1=$((s + 3600)) user=234"
	echo "final instance=$i unit=$i started=$s boottime=$b ended=$((s + 3600)) user=1234 step=0"
}
# of instances from $1 to $2: rows, CPU time of intervals, of finals, whose start is not where it is to be, whose life is no hour
look() { # first last age
	sql "SELECT count(*), sum(i.cpu), sum(n.cpu_user_ns), count(*) FILTER (WHERE abs(extract(epoch FROM n.started) - $now + $3) > 125),
		count(*) FILTER (WHERE n.ended - n.started <> interval '1 h' OR i.t0 <> n.started OR i.ms <> 3600000 OR NOT n.final)
		FROM unit_node n LEFT JOIN LATERAL (SELECT sum(cpu_user_ns) AS cpu, min(t0) AS t0, sum(ms) AS ms FROM unit_interval i WHERE i.instance = n.instance) i ON true
		WHERE n.instance BETWEEN $1 AND $2"
}
OFFS=(0 5 -5 3600 -3600 10800 -10800 86400 -86400 2592000 -2592000 -1600000000)
n=${#OFFS[@]}
now=$(date +%s)
{ begin 0 && begin 1; } || { ok "two aggregators start on one database" false; tail -3 agg?.log; tap_done; }

# ---- the clock was wrong when they began, and is right again
for k in "${!OFFS[@]}"; do unit $((100 + k)) "${OFFS[k]}" 7200; done >units
{ clock; cat units; } | push 0 >first
like "units of a clock that was wrong are taken" "$(cat first)" "\"accepted\":$((4 * n)),\"refused\":\[\]"
is "each is there, where it belongs, with all that it used" "$(look 100 $((99 + n)) 7200)" "$n|$((n * 1234))|$((n * 1234))|0|0"
# what is 5 s off may seem right to a push that was on its way for so long
is "only what was wrong was moved" "$(sql 'SELECT count(*) FROM unit_node WHERE shift_ms = 0 AND instance NOT IN (101, 102)')" 1

# ---- while it is wrong
for k in "${!OFFS[@]}"; do
	{ clock "${OFFS[k]}"; unit $((200 + k)) "${OFFS[k]}" 7200; unit $((300 + k)) 0 7200; } | push $((k % 2)) >one
	grep -q '"refused":\[\]' one || cat one
done >bad
is "a node is taken while its clock is wrong" "$(cat bad)" ""
is "what began in that time is where it belongs" "$(look 200 $((199 + n)) 7200)" "$n|$((n * 1234))|$((n * 1234))|0|0"
is "and what began before" "$(look 300 $((299 + n)) 7200)" "$n|$((n * 1234))|$((n * 1234))|0|0"

# ---- again, elsewhere, later
for turn in 1 0 1; do { clock 7; cat units; } | push $turn >again; done
like "an aggregator that placed nothing of it takes it again" "$(cat again)" '"refused":\[\]'
is "nothing is there twice" "$(look 100 $((99 + n)) 7200)" "$n|$((n * 1234))|$((n * 1234))|0|0"
end 0
ok "one is started again" begin 0
BOOT=$((BOOT + 40)) # the same moments, told with an age that is some seconds off
{ clock 7; cat units; } | push 0 >again
is "and knows where they are" "$(look 100 $((99 + n)) 7200) $(sql 'SELECT count(*) FROM unit_interval i JOIN unit_node n USING (instance) WHERE i.t0 < n.started OR i.t0 >= n.ended')" "$n|$((n * 1234))|$((n * 1234))|0|0 0"
BOOT=$((BOOT - 40))

# ---- while they live, in several pushes, to both
s=$((now - 1800 + 2592000)) b=$((BOOT - 1800)) more="instance=400 unit=400 started=$((now - 1800 + 2592000)) boottime=$((BOOT - 1800))"
{ clock 2592000; echo "start $more"; } | push 0 >/dev/null
{ clock; echo "interval $more t0=$s t1=$((s + 600)) user=10"; } | push 1 >/dev/null
{ clock; echo "interval $more t0=$((s + 600)) t1=$((s + 1200)) user=20"; echo "final $more ended=$((s + 1200)) user=30"; } | push 0 >/dev/null
is "a life in several pushes stays in one piece" "$(sql "SELECT sum(i.cpu_user_ns), min(i.t0) = n.started, max(i.t0 + i.ms * interval '1 ms') = n.ended, sum(i.ms) FROM unit_node n JOIN unit_interval i USING (instance) WHERE instance = 400 GROUP BY n.started, n.ended")" "30|t|t|1200000"

# ---- of an earlier boot: only wall times are left
unit 500 0 120000 >units
unit 501 2592000 120000 >>units
unit 502 -86400 120000 >>units
sed -i 's/ boottime=[-0-9]*/ boottime=5 boot=21111111-2222-3333-4444-555555555555/' units
{ clock; cat units; } | push 1 >one
like "reports of an earlier boot are taken" "$(cat one)" '"accepted":12,"refused":\[\]'
is "with all that was used, and none of it later than that boot" "$(sql "SELECT sum(i.cpu_user_ns), count(DISTINCT instance), bool_and(n.ended <= to_timestamp($now - $BOOT + 1)), bool_and(n.ended - n.started = interval '1 h') FROM unit_node n JOIN unit_interval i USING (instance) WHERE instance BETWEEN 500 AND 502")" "3702|3|t|t"
{ clock 9; cat units; } | push 0 >/dev/null
is "once" "$(sql "SELECT sum(cpu_user_ns) FROM unit_interval WHERE instance BETWEEN 500 AND 502")" 3702

# ---- whose they are: by their records, not by such times
jobs() { for i in 500 501 502; do echo "job id=$i user=somebody submit=$((now - 120100)) start=$((now - 120000)) end=$((now - 116400)) state=3 event=1 node_count=1"; done; }
timed() { sql "SELECT count(*) FROM unit u JOIN unit_node n ON n.unit = u.id WHERE u.uuid BETWEEN '500' AND '502' AND u.known_by = 'jobcomp'"; }
linked() { [ "$(timed)" = 3 ]; }
provisional() { [ "$(sql "SELECT count(*) FROM unit WHERE uuid BETWEEN '500' AND '502' AND known_by = 'node'")" = 3 ]; }
ok "such reports wait for their records" wait_for 60 provisional
{ clock; jobs; } | push 0 >one
like "records come" "$(cat one)" '"refused":\[\]'
ok "and each finds its report, whatever the clock was then" wait_for 60 linked
is "whose life is between the submission and the end of its boot" "$(sql "SELECT bool_and(n.over_by IS NOT NULL AND n.started >= u.submitted AND n.ended <= n.over_by), min(n.over_by) > to_timestamp($now - $BOOT - 130) FROM unit u JOIN unit_node n ON n.unit = u.id WHERE u.uuid BETWEEN '500' AND '502'")" "t|t"
is "others' times are not flagged" "$(sql 'SELECT count(*) FROM unit_node WHERE over_by IS NOT NULL')" 3
billed() { [ "$(sql "SELECT count(*), sum(cpu_user_ns) FROM unit WHERE uuid BETWEEN '500' AND '502'")" = "3|3702" ]; }
ok "it is on the bill" wait_for 60 billed
unit 510 $((120060 - now)) 120000 | sed 's/ boottime=[-0-9]*/ boottime=5 boot=21111111-2222-3333-4444-555555555555/' >units
{ clock; cat units; } | push 1 >one
like "a clock that was never set" "$(cat one)" '"refused":\[\]'
is "loses nothing" "$(sql 'SELECT sum(cpu_user_ns) FROM unit_interval WHERE instance = 510')" 1234

# ---- a job of two nodes, one of which only the wall clock of an earlier boot knows: the job began when the other says
{ clock; unit 515 0 120000 | sed 's/ boottime=[-0-9]*/ boottime=5 boot=21111111-2222-3333-4444-555555555555/'; } | push 1 >one
{ echo "clock node=n2 boottime=300000 realtime=$now"; unit 516 0 119000 | sed "s/unit=516/unit=515 node=n2/; s/boottime=[-0-9]*/boottime=$((300000 - 119000))/"; } | push 0 >again
like "both are taken" "$(cat one again)" '"refused":\[\].*"refused":\[\]'
began_then() { [ "$(sql "SELECT count(*), bool_and(abs(extract(epoch FROM u.started) - $now + 119000) < 125), count(DISTINCT n.over_by) FROM unit u JOIN unit_node n ON n.unit = u.id WHERE u.uuid = '515'")" = "2|t|1" ]; }
ok "a flagged time does not widen the life of their job" wait_for 60 began_then
[ "$(sql "SELECT count(*) FROM unit WHERE uuid = '515'")" = 1 ] || sql "SELECT id, started, ended, known_by FROM unit WHERE uuid = '515'" | sed 's/^/# /'

# ---- a slurmctld whose clock is a day ahead
{ clock 86400; echo "job id=520 user=somebody submit=$((now + 86400 - 100)) start=$((now + 86400 - 90)) end=$((now + 86400 - 10)) state=3 event=1 node_count=1"; } >units
token=a-token-of-slurmctld
push 0 <units >one
push 1 <units >again
token=
like "its records are taken" "$(cat one again)" '"refused":\[\].*"refused":\[\]'
future() { [ "$(sql "SELECT count(*) FROM unit WHERE uuid = '520'")" = 1 ]; }
ok "as one job" wait_for 60 future
is "that ran when it ran" "$(sql "SELECT count(*), bool_and(abs(extract(epoch FROM started) - $now + 90) < 125 AND ended - started = interval '80 s') FROM unit WHERE uuid = '520'")" "1|t"

# ---- who does not say his clocks
unit 600 10800 7200 | sed 's/ boottime=[0-9]*//' | push 0 >one
like "a node of an older release is taken too" "$(cat one)" '"accepted":4,"refused":\[\]'
is "with all that was used, and not in the future" "$(sql "SELECT sum(i.cpu_user_ns), bool_and(n.ended <= now() + interval '2 h') FROM unit_node n JOIN unit_interval i USING (instance) WHERE instance = 600")" "1234|t"
# ---- what is found later about where one belongs: nothing is refused, all of it moves
now=$(date +%s)
RATHER=21111111-2222-3333-4444-666666666666
EARLIER="boottime=5 boot=$RATHER"
life() { # instance started more: three days in pieces of an hour, in files that are pushed one after the other
	local i more="instance=$1 unit=$1 started=$2 $3"
	echo "start $more" >>part0
	for ((i = 0; i < 72; i++)); do echo "interval $more t0=$(($2 + i * 3600)) t1=$(($2 + i * 3600 + 3600)) user=$((i + 1))"; done >all
	sed -n 1,20p all >>part1
	sed -n 21,50p all >>part2
	{ sed -n 51,72p all; echo "final $more ended=$(($2 + 72 * 3600)) user=2628 step=0"; } >>part3
}
# rows of each from $1 to $2 whose life is not three days in one piece, once, in steps as in intervals, and none of it later than $3 s from now
astray() {
	sql "SELECT n.instance, i.cpu, i.ms / 1000, (i.until - i.t0), i.t0 - to_timestamp($now), i.until - now(), n.ended - i.until, s.ended - n.ended
		FROM unit_node n JOIN LATERAL (SELECT sum(cpu_user_ns) AS cpu, sum(ms) AS ms, min(t0) AS t0, max(t0 + ms * interval '1 ms') AS until
			FROM unit_interval i WHERE i.instance = n.instance) i ON true LEFT JOIN unit_step s ON s.instance = n.instance
		WHERE n.instance BETWEEN $1 AND $2 AND (i.cpu, i.ms, i.until - i.t0, i.until, s.ended) IS DISTINCT FROM (2628, 259200000, interval '72 h', n.ended, n.ended)
			OR n.instance BETWEEN $1 AND $2 AND (i.until > now() + interval '$3 s' OR n.over_by < i.until OR NOT n.final)"
}
quick=600 k=0
for off in 0 5 -5 3600 -3600 10800 -10800 86400 -86400 200000 -200000 2592000 -2592000; do
	life $((700 + k)) $((now - quick - 100 - 259200 + off)) "$EARLIER"
	k=$((k + 1))
done
for turn in 0 1 2 3 0 1; do # told again, to either
	{ echo "clock boottime=$quick realtime=$now"; cat part$turn; } | push $((turn % 2))
	{ echo "clock boottime=$((quick + 3)) realtime=$((now + 3))"; cat part$turn; } | push $((turn / 2))
done >far
is "three days of an earlier boot whose clock was wrong, told bit by bit and again: nothing is refused" "$(grep -o '"reason":[^}]*' far | sort | uniq -c)" ""
is "each is in one piece, once, before the end of that boot" "$(astray 700 $((699 + k)) $((130 - quick)))" ""
is "where they fit they stay" "$(sql "SELECT count(*) FROM unit_node WHERE instance BETWEEN 700 AND $((699 + k)) AND shift_ms = 0")" 7

hours() { sql "SELECT count(DISTINCT unit), sum(cpu_user_ns) FROM unit_$1 WHERE unit IN (SELECT unit FROM unit_node WHERE instance BETWEEN 700 AND $((699 + k)))"; }
summed() { [ "$(hours hour) $(hours day)" = "$k|$((k * 2628)) $k|$((k * 2628))" ]; }
ok "hours and days have what was used, once" wait_for 60 summed || hours hour

# wrong by three hours, or a day, when it was first placed; and its age is known
rm part?
BOOT=400000 k=0
for off in 10800 -10800 86400 -86400; do
	life $((750 + k)) $((now - 259200 - 100)) "boottime=$((BOOT - 259300))"
	{ echo "clock boottime=$((BOOT - off)) realtime=$now"; grep "instance=$((750 + k)) " part0 part1 -h; } | push 0
	k=$((k + 1))
done >far
for off in 10800 86400; do # and first by a wall clock alone, that was ahead
	life $((750 + k)) $((now - 259200 - 100)) "boottime=$((BOOT - 259300))"
	grep "instance=$((750 + k)) " part0 | sed "s/ boottime=[0-9]*//; s/started=[0-9]*/started=$((now + off))/" | push 0
	k=$((k + 1))
done >>far
for part in 1 2 3 2; do { echo "clock boottime=$BOOT realtime=$now"; cat part$part; } | push $((part % 2)); done >>far
BOOT=100000
is "what was placed wrongly is not refused either" "$(grep -o '"reason":[^}]*' far | sort | uniq -c)" ""
is "but moved, within the hour" "$(astray 750 $((749 + k)) 1800; sql "SELECT instance, shift_ms, over_by FROM unit_node WHERE instance BETWEEN 750 AND $((749 + k)) AND (over_by IS NOT NULL OR abs(extract(epoch FROM ended) - $now) > 1900)")" ""

# the record of its run came while it stood a day away
now=$(date +%s)
alone="instance=780 unit=780 started=$((now - 90 - 86400))"
echo "start $alone" | push 0 >one
{ clock; echo "job id=780 user=somebody submit=$((now - 100)) start=$((now - 91)) end=$((now - 20)) state=3 event=1 node_count=1"; } | push 0 >>one
apart() { [ "$(sql "SELECT string_agg(known_by, ' ' ORDER BY known_by) FROM unit WHERE uuid = '780'")" = "jobcomp node" ]; }
ok "a report that stands a day from its run is no part of it" wait_for 60 apart
alone+=" boottime=$((BOOT - 90))"
{ clock; echo "interval $alone t0=$((now - 90 - 86400)) t1=$((now - 30 - 86400)) user=1234"; echo "final $alone ended=$((now - 30 - 86400)) user=1234"; } | push 1 >one
joined() { [ "$(sql "SELECT string_agg(known_by, ' '), sum(cpu_user_ns), (SELECT sum(d.cpu_user_ns) FROM unit_day d JOIN unit v ON v.id = d.unit WHERE v.uuid = '780') FROM unit WHERE uuid = '780'")" = "jobcomp|1234|1234" ]; }
ok "once its age says where it belongs it is" wait_for 60 joined

is "nothing was refused" "$(for i in 0 1; do curl -s "$(U $i)/metrics" | awk '$1 == "ceems_aggregator_ingest_refused_records_total" { print $2 }'; done | tr '\n' ' ')" "0 0 "
# ---- a node that does not say its clocks, moved back by one aggregator: the other one learns it before it writes
now=$(date +%s)
old="instance=790 unit=790 started=$((now - 1800))"
told="interval $old t0=$((now - 1800)) t1=$((now - 1200)) user=1000 tensor=7000000"
printf '%s\n' "start $old" "$told" | push 0 >one
echo "interval $old t0=$((now - 1200)) t1=$((now + 10800)) user=234" | push 1 >>one # a later push: its clock has leapt ahead
printf '%s\n' "$told" | push 0 >>one
like "nothing of it is refused" "$(cat one)" '"accepted":2,"refused":\[\].*"accepted":1,"refused":\[\].*"accepted":1,"refused":\[\]'
is "and what is told again is there once, in one piece" "$(sql "SELECT sum(i.cpu_user_ns), sum(i.ms), min(i.t0) = n.started, n.shift_ms < 0, sum(i.gpu_active_ms[3]) FROM unit_node n JOIN unit_interval i USING (instance) WHERE instance = 790 GROUP BY n.started, n.shift_ms")" "1234|12600000|t|t|7"

# ---- one aggregator moves an instance, the other one writes of it meanwhile
row() { # INSTANCE: CPU time, whether it is in one piece
	sql "SELECT sum(cpu), bool_and(t0 = coalesce(told, started)) FROM (SELECT i.cpu_user_ns AS cpu, i.t0, n.started, lag(i.t0 + i.ms * interval '1 ms') OVER (ORDER BY i.t0) AS told FROM unit_node n JOIN unit_interval i USING (instance) WHERE instance = $1) w"
}
waiting() { [ "$(sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND $1")" != 0 ]; }
sql "CREATE FUNCTION wait_in_move() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(4242); RETURN NULL; END'" >/dev/null
sql "CREATE TRIGGER wait_in_move BEFORE DELETE ON unit_interval EXECUTE FUNCTION wait_in_move()" >/dev/null
old="instance=791 unit=791 started=$((now - 1800))" hold=$SCRATCH/hold
printf '%s\n' "start $old" "interval $old t0=$((now - 1800)) t1=$((now - 1200)) user=1000" | push 0 >one
mkfifo "$hold"
psql_do <"$hold" >/dev/null &
holder=$!
exec 5>"$hold"
echo 'SELECT pg_advisory_lock(4242);' >&5
held() { [ "$(sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4242 AND granted")" = 1 ]; }
ok "(a lock that stops a move on its way)" wait_for 60 held
echo "interval $old t0=$((now - 600)) t1=$((now + 10800)) user=234" | (push 1 >moved) 5>&- & # it leaps ahead
mover=$!
ok "(which it does)" wait_for 60 waiting 'objid = 4242'
(echo "interval $old t0=$((now - 1200)) t1=$((now - 600)) user=70" | push 0 >written; : >wrote) 5>&- & # what it told before comes late
writer=$!
wrote_or_waits() { [ -e wrote ] || waiting 'objid = 6'; }
ok "what is written meanwhile waits, or is there" wait_for 60 wrote_or_waits
echo '\q' >&5
wait $holder $mover $writer
sql "DROP TRIGGER wait_in_move ON unit_interval" >/dev/null
like "both are taken" "$(cat moved written)" '"accepted":1,"refused":\[\].*"accepted":1,"refused":\[\]'
is "what was written while it moved has moved with it" "$(row 791)" "1304|t"

# one that a node's age has moved is looked for by the other aggregator, which knew where it was
old="instance=792 unit=792 started=$((now - 1800)) boottime=$((BOOT - 1800))"
{ clock; printf '%s\n' "start $old" "interval $old t0=$((now - 1800)) t1=$((now - 1500)) user=1000"; } | push 0 >one
{ clock; echo "interval $old t0=$((now - 1500)) t1=$((now - 1200)) user=200"; } | push 0 >one
{ BOOT=$((BOOT + 7200)); clock; echo "interval $old t0=$((now - 1200)) t1=$((now - 900)) user=30"; } | push 1 >one
is "(it is moved by one)" "$(sql 'SELECT shift_ms FROM unit_node WHERE instance = 792')" -7200000
{ clock; echo "interval $old t0=$((now - 900)) t1=$((now - 600)) user=4"; } | push 0 >one
is "one that another aggregator has moved meanwhile is in one piece" "$(row 792)" "1234|t"

# ---- an instance is of the node that told of it first, whatever another one that learnt its number says
{ clock; unit 800 0 7200; } | push 0 >one
stands() { sql "SELECT n.started, n.ended, n.shift_ms, n.cpu_user_ns, n.cpus, (SELECT sum(i.cpu_user_ns) || ' ' || min(i.t0) FROM unit_interval i WHERE i.instance = 800), (SELECT count(*) FROM unit_step s WHERE s.instance = 800) FROM unit_node n WHERE n.instance = 800"; }
stood=$(stands)
others="instance=800 unit=800 node=n2 started=$((now - 7200)) boottime=$((BOOT - 7200 - 86400))" # it would move by a day
for turn in 0 1 0; do # one that knows the instance, and one that has to look for it
	{ clock; echo "start $others uid=0"; echo "interval $others t0=$((now - 3600)) t1=$((now - 1800)) user=99999"; echo "final $others ended=$((now - 60)) user=99999 step=1"; } | push $turn
done >one
is "another node's word is refused" "$(grep -o '"accepted":[0-9]*' one | sort -u) $(grep -o '"refused_count":[0-9]*' one | sort -u)" '"accepted":0 "refused_count":3'
like "with the reason" "$(cat one)" '"reason":"it is told of by another node"'
is "and changes nothing" "$(stands)" "$stood"
is "it is in audit, once" "$(sql "SELECT detail->>'node', detail->>'said_node', detail->>'uuid', count(*) FROM audit WHERE action = 'instance' GROUP BY 1, 2, 3")" "n1|n2|800|1"
{ clock; unit 801 0 7200; echo "final $others ended=$((now - 60)) user=99999"; } | push 1 >one
like "what else such a push says counts" "$(cat one) $(sql 'SELECT cpu_user_ns FROM unit_node WHERE instance = 801')" '"accepted":4,.* 1234$'
is "and no aggregator had an error" "$(cat agg?.log | grep -c 'level=error')" 0
end 0
end 1
tap_done
