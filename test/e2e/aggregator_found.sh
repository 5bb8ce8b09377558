#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What units are billed that a node found already running: the usage that their control group had counted by then,
# less what earlier instances reported; once, in whatever order and however often reports come,
# in the hours between, and as time that was not observed.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
agg_begin
T=$(($(date +%s) / 3600 * 3600 - 4 * 3600)) # full hours that are over
S=1000000000
billed() { sql "SELECT (SELECT cpu_user_ns + cpu_system_ns FROM unit WHERE uuid = '$1') || ' ' || (SELECT sum(d.cpu_user_ns + d.cpu_system_ns) FROM unit_day d JOIN unit u ON u.id = d.unit WHERE u.uuid = '$1')"; }
bills() { [ "$(billed "$1")" = "$2 $2" ]; }
hours() { sql "SELECT string_agg(((extract(epoch FROM h.hour) - $T) / 3600)::integer || ':' || h.cpu_user_ns + h.cpu_system_ns, ' ' ORDER BY h.hour) FROM unit_hour h JOIN unit u ON u.id = h.unit WHERE u.uuid = '$1'"; }
coverage() { sql "SELECT round(observed_ms::numeric / node_ms, 4) FROM unit WHERE uuid = '$1'"; }
job() { echo "job id=$1 submit=$((T - 10)) start=$T end=$((T + 10800)) nodes=n1 node_count=1"; }

# ---- the first start of ceemsd: nobody has told of what was before
first() { # unit instance
	echo "start instance=$2 unit=$1 started=$((T + 7200)) cpus=2 before_user=$((70 * S + 1)) before_system=$((30 * S))"
	echo "interval instance=$2 unit=$1 started=$((T + 7200)) t0=$((T + 7200)) t1=$((T + 7500)) user=$((5 * S)) system=0 before_user=$((70 * S + 1)) before_system=$((30 * S))"
	echo "interval instance=$2 unit=$1 started=$((T + 7200)) t0=$((T + 7500)) t1=$((T + 10800)) user=$((6 * S)) system=7 before_user=$((70 * S + 1)) before_system=$((30 * S))"
}
last() { echo "final instance=$2 unit=$1 started=$((T + 7200)) ended=$((T + 10800)) user=$((11 * S)) system=7 before_user=$((70 * S + 1)) before_system=$((30 * S)) cpus=2"; }
mapfile -t lines < <(first 1 10)
push "${lines[@]}"
ok "a unit that was found is billed with what it had used" wait_for 60 bills 1 $((111 * S + 8))
push "${lines[@]}" "$(job 1)"
settle
ok "once, however often it is told" bills 1 $((111 * S + 8))
is "over the hours since its record says that it began" "$(hours 1)" "0:$((50 * S)) 1:$((50 * S + 1)) 2:$((11 * S + 7))"
push "$(last 1 10)"
settle
ok "its final report has what was since, and is added to" bills 1 $((111 * S + 8))
is "a third of its life was watched" "$(coverage 1)" 0.3333
is "its person's day has it too" "$(sql "SELECT sum(cpu_ns) FROM usage_day")" $((111 * S + 8))
is "the unit's node is shown as found, with all that it used" "$(sql "SELECT string_agg((n->>'found_at_ts')::bigint / 1000 - $T || ' ' || (n->>'cpu_user_seconds')::numeric + (n->>'cpu_system_seconds')::numeric, ',') FROM unit u, jsonb_array_elements(api_nodes(u.id)) n WHERE u.uuid = '1'")" "7200 111.000000"

# ---- a table begun anew: an earlier instance has told of most
earlier() { # unit instance
	echo "start instance=$2 unit=$1 started=$T cpus=2"
	echo "interval instance=$2 unit=$1 started=$T t0=$T t1=$((T + 3600)) user=$((60 * S)) system=0"
}
earlier_late() { echo "interval instance=$2 unit=$1 started=$T t0=$((T + 3600)) t1=$((T + 5400)) user=$((10 * S)) system=$((20 * S))"; }
all=$((111 * S + 8))
# every order of who comes when: the one before, its last interval, the one that was found, the record
n=1
for order in "e l f j" "f e l j" "f j l e" "j f e l" "l f e j" "e f j l"; do
	n=$((n + 1))
	for part in $order; do
		case $part in
		e) mapfile -t lines < <(earlier $n $((n * 10))) ;;
		l) mapfile -t lines < <(earlier_late $n $((n * 10))) ;;
		f) mapfile -t lines < <(first $n $((n * 10 + 1))) ;;
		j) lines=("$(job $n)") ;;
		esac
		push "${lines[@]}"
		settle
		push "${lines[@]}"
	done
	settle
	ok "in the order $order it is billed once" bills $n $all
	is "and where it belongs" "$(hours $n)" "0:$((60 * S)) 1:$((40 * S + 1)) 2:$((11 * S + 7))"
	is "half an hour was not watched" "$(coverage $n)" 0.8333
done
push "$(last 3 31)"
settle
ok "a final report of the last one changes nothing" bills 3 $all
# the table had been kept after all, and its final report was only late: it had told more
push "final instance=40 unit=4 started=$T ended=$((T + 5400)) user=$((75 * S)) system=$((30 * S)) cpus=2"
settle
is "never more than the control group had, where it is known" "$(sql "SELECT coalesce(sum(carried_cpu_user_ns + carried_cpu_system_ns), -1) FROM unit_node WHERE uuid = '4'")" 0

# ---- three times, on two nodes
n=20
push "start instance=200 unit=$n started=$T" "interval instance=200 unit=$n started=$T t0=$T t1=$((T + 600)) user=$S system=0" \
	"start instance=201 unit=$n started=$((T + 1200)) before_user=$((4 * S)) before_system=0" \
	"interval instance=201 unit=$n started=$((T + 1200)) t0=$((T + 1200)) t1=$((T + 1800)) user=$S system=0 before_user=$((4 * S)) before_system=0" \
	"start instance=202 unit=$n started=$((T + 2400)) before_user=$((9 * S)) before_system=0" \
	"interval instance=202 unit=$n started=$((T + 2400)) t0=$((T + 2400)) t1=$((T + 3000)) user=$S system=0 before_user=$((9 * S)) before_system=0" \
	"start instance=203 unit=$n node=n2 started=$((T + 2400)) before_user=$((2 * S)) before_system=0" \
	"interval instance=203 unit=$n node=n2 started=$((T + 2400)) t0=$((T + 2400)) t1=$((T + 3000)) user=$S system=0 before_user=$((2 * S)) before_system=0" \
	"job id=$n submit=$T start=$T end=$((T + 7200)) nodes=n[1-2] node_count=2"
settle
ok "each time what came between, on each node" bills $n $(((10 + 3) * S))

# ---- tables begun anew that take from the ring what the ones before had taken: all begin when the unit did
recalled() { # unit instance before window
	echo "start instance=$2 unit=$1 started=$T before_user=$(($3 * S)) before_system=0"
	echo "interval instance=$2 unit=$1 started=$T t0=$T t1=$((T + 600)) user=$(($4 * S)) system=0 before_user=$(($3 * S)) before_system=0"
	echo "final instance=$2 unit=$1 started=$T ended=$((T + 600)) user=$(($4 * S)) system=0 before_user=$(($3 * S)) before_system=0"
}
for order in "0 1 2 3" "3 2 1 0" "2 0 3 1"; do
	n=$((n + 1))
	for part in $order; do
		case $part in
		0) mapfile -t lines < <(echo "start instance=$((n * 100 + 3)) unit=$n started=$((T + 1))"; echo "interval instance=$((n * 100 + 3)) unit=$n started=$((T + 1)) t0=$((T + 1)) t1=$((T + 300)) user=$((5 * S)) system=0") ;;
		1) mapfile -t lines < <(recalled $n $((n * 100 + 2)) 7 2) ;;
		2) mapfile -t lines < <(recalled $n $((n * 100 + 1)) 9 0) ;;
		3) lines=("job id=$n submit=$T start=$T end=$((T + 600)) nodes=n1 node_count=1") ;;
		esac
		push "${lines[@]}"
		settle
	done
	ok "what was taken from the ring again is billed once, in the order $order" bills $n $((9 * S))
done

# ---- a table begun anew on a node whose clock is 100 s behind, which counts as right: by it both began before their run
behind() { # unit instance started
	echo "start instance=$2 unit=$1 started=$3 before_user=$(($4 * S)) before_system=0"
	echo "interval instance=$2 unit=$1 started=$3 t0=$3 t1=$(($3 + 60)) user=$((2 * S)) system=0 before_user=$(($4 * S)) before_system=0"
}
for order in "0 1 2" "0 2 1" "2 0 1" "1 0 2"; do
	n=$((n + 1))
	for part in $order; do
		case $part in
		0) mapfile -t lines < <(behind $n $((n * 100)) $((T + 100)) 0) ;;
		1) mapfile -t lines < <(behind $n $((n * 100 + 1)) $((T + 170)) 5) ;;
		2) lines=("job id=$n submit=$((T + 190)) start=$((T + 200)) end=$((T + 400)) nodes=n1 node_count=1") ;;
		esac
		push "${lines[@]}"
		settle
	done
	is "both instances are of the run, in the order $order" "$(sql "SELECT count(DISTINCT unit) || ' ' || count(*) FROM unit_node WHERE uuid = '$n'") $(sql "SELECT cpu_user_ns + cpu_system_ns FROM unit WHERE uuid = '$n' AND known_by = 'jobcomp'")" "1 2 $((7 * S))"
done
n=$((n + 1)) # it had ended and was told, and is told again by the ring's records
push "start instance=$((n * 100)) unit=$n started=$((T + 100))" "final instance=$((n * 100)) unit=$n started=$((T + 100)) ended=$((T + 150)) user=$((7 * S)) system=0" \
	"job id=$n submit=$((T + 190)) start=$((T + 200)) end=$((T + 250)) nodes=n1 node_count=1"
settle
push "start instance=$((n * 100 + 1)) unit=$n started=$((T + 100)) before_user=$((7 * S)) before_system=0" "final instance=$((n * 100 + 1)) unit=$n started=$((T + 100)) ended=$((T + 150)) user=0 system=0 before_user=$((7 * S)) before_system=0"
settle
is "what is told again is of the same run, and billed once" "$(sql "SELECT count(DISTINCT unit) || ' ' || count(*) FROM unit_node WHERE uuid = '$n'") $(sql "SELECT cpu_user_ns + cpu_system_ns FROM unit WHERE uuid = '$n' AND known_by = 'jobcomp'")" "1 2 $((7 * S))"
n=$((n + 1)) # a run that was requeued is not what went on: the one before had told its end
push "start instance=$((n * 100)) unit=$n started=$((T + 100))" "final instance=$((n * 100)) unit=$n started=$((T + 100)) ended=$((T + 150)) user=$S system=0" \
	"job id=$n submit=$((T + 190)) start=$((T + 200)) end=$((T + 250)) nodes=n1 node_count=1 restarts=0"
settle
push "start instance=$((n * 100 + 1)) unit=$n started=$((T + 170)) before_user=0 before_system=0" "interval instance=$((n * 100 + 1)) unit=$n started=$((T + 170)) t0=$((T + 170)) t1=$((T + 230)) user=$((3 * S)) system=0"
settle
is "what came after a told end is not" "$(sql "SELECT count(DISTINCT unit) FROM unit_node WHERE uuid = '$n'")" 2

# ---- its clock was set meanwhile, by less than what counts as wrong: how long after the boot each was seen decides
BOOT=1000000 now=$(date +%s)
again="started=$((T + 230)) boottime=$((BOOT - now + T + 205))" # by a clock that was 30 s ahead, and then 5 s
set_back() { # unit part: it was 100 s behind, and another half minute when the table was lost
	case $2 in
	0) behind $1 $(($1 * 100)) $((T + 100)) 0 | sed 's/$/ boottime=1000/' ;;
	1) behind $1 $(($1 * 100 + 1)) $((T + 70)) 5 | sed 's/$/ boottime=1030/' ;;
	2) echo "job id=$1 submit=$((T + 190)) start=$((T + 200)) end=$((T + 400)) nodes=n1 node_count=1" ;;
	esac
}
told_again() { # unit part
	local first="instance=$(($1 * 100)) unit=$1 $again before_user=$((5 * S)) before_system=0" next="instance=$(($1 * 100 + 1)) unit=$1 $again before_user=$((7 * S)) before_system=0"
	case $2 in
	0) printf '%s\n' "start $first" "interval $first t0=$((T + 230)) t1=$((T + 233)) user=$((2 * S)) system=0" "final $first ended=$((T + 233)) user=$((2 * S)) system=0" ;;
	1) printf '%s\n' "clock boottime=$BOOT realtime=$now" "start $next" "final $next ended=$((T + 233)) user=0 system=0" ;;
	2) echo "job id=$1 submit=$((T + 190)) start=$((T + 200)) end=$((T + 202)) nodes=n1 node_count=1" ;;
	esac
}
met_late() { # unit part: it was met among the control groups three seconds after it began, and is told again by a clock that was 90 s ahead
	local first="instance=$(($1 * 100)) unit=$1 started=$((T + 203)) boottime=1003" next="instance=$(($1 * 100 + 1)) unit=$1 started=$((T + 290)) boottime=1000 before_user=$((7 * S)) before_system=0"
	case $2 in
	0) printf '%s\n' "start $first" "interval $first t0=$((T + 203)) t1=$((T + 205)) user=$((2 * S)) system=0" ;;
	1) printf '%s\n' "start $next" "final $next ended=$((T + 295)) user=0 system=0" ;;
	2) echo "job id=$1 submit=$((T + 190)) start=$((T + 200)) end=$((T + 205)) nodes=n1 node_count=1" ;;
	esac
}
seen_at_end() { # unit part: its whole life is told, and then found again by the last record of its second step, a second after its end, by a clock that was 90 s ahead
	local first="instance=$(($1 * 100)) unit=$1 started=$((T + 203)) boottime=1003" next="instance=$(($1 * 100 + 1)) unit=$1 started=$((T + 296)) boottime=1006 before_user=$((5 * S)) before_system=0"
	case $2 in
	0) printf '%s\n' "start $first" "interval $first t0=$((T + 203)) t1=$((T + 205)) user=$((7 * S)) system=0" "final $first ended=$((T + 205)) user=$((7 * S)) system=0" ;;
	1) printf '%s\n' "start $next" "final $next ended=$((T + 296)) user=0 system=0" ;;
	2) echo "job id=$1 submit=$((T + 190)) start=$((T + 200)) end=$((T + 205)) nodes=n1 node_count=1" ;;
	esac
}
orders=(012 021 201 210 102 120)
for turn in 0 1 2; do
	for k in "${!orders[@]}"; do
		mapfile -t lines < <(set_back $((n + 1 + k)) "${orders[k]:turn:1}")
		push "${lines[@]}"
		mapfile -t lines < <(told_again $((n + 7 + k)) "${orders[k]:turn:1}")
		push "${lines[@]}"
		mapfile -t lines < <(met_late $((n + 13 + k)) "${orders[k]:turn:1}")
		push "${lines[@]}"
		mapfile -t lines < <(seen_at_end $((n + 19 + k)) "${orders[k]:turn:1}")
		push "${lines[@]}"
	done
	settle
done
both() { sql "SELECT count(DISTINCT n.unit) || ' ' || count(*) || ' ' || max(u.cpu_user_ns + u.cpu_system_ns) FILTER (WHERE u.known_by = 'jobcomp') FROM unit_node n JOIN unit u ON u.id = n.unit WHERE n.uuid = '$1'"; }
for k in "${!orders[@]}"; do
	is "a clock that was set back between them parts no instances, in the order ${orders[k]}" "$(both $((n + 1 + k)))" "1 2 $((7 * S))"
	is "what was found and is told again, placed by another clock, is of the same life, in the order ${orders[k]}" "$(both $((n + 7 + k)))" "1 2 $((7 * S))"
	is "what was met late and is told again from its beginning is of one life, in the order ${orders[k]}" "$(both $((n + 13 + k)))" "1 2 $((7 * S))"
	is "what is found by the record of its end is of that life, in the order ${orders[k]}" "$(both $((n + 19 + k)))" "1 2 $((7 * S))"
done
n=$((n + 24))

# ---- a full disk took its intervals, and an earlier instance never told its end
n=$((n + 1))
push "start instance=$((n * 100)) unit=$n started=$T" "interval instance=$((n * 100)) unit=$n started=$T t0=$T t1=$((T + 300)) user=$((5 * S)) system=0" \
	"start instance=$((n * 100 + 1)) unit=$n started=$((T + 300)) before_user=$((7 * S)) before_system=0" \
	"final instance=$((n * 100 + 1)) unit=$n started=$((T + 300)) ended=$((T + 600)) user=$((2 * S)) system=0 before_user=$((7 * S)) before_system=0" \
	"job id=$n submit=$T start=$T end=$((T + 600)) nodes=n1 node_count=1"
settle
is "its final report counts" "$(sql "SELECT cpu_user_ns + cpu_system_ns FROM unit WHERE uuid = '$n'")" $((9 * S))
tap_done
