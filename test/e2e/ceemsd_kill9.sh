#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 of ceemsd while jobs come and go: afterwards the node's counters are exact, as if
# nothing had happened. The jobs are simulated (test/fake/unit_source), ring, table and daemon
# are real. Needs no root.
. "$(dirname "$0")/../tap.sh"

mkdir "$SCRATCH/cgroup"
port=$(free_port) || exit 1
url=http://127.0.0.1:$port
units=4000

start() {
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --path.cgroupfs="$SCRATCH/cgroup" \
		--web.listen-address="127.0.0.1:$port" --collector.slurm --unit.capacity=512 \
		--unit.max-exported=100 >>"$SCRATCH/log" 2>&1 </dev/null &
	pid=$!
	started $pid
}
answers() { curl -sf -o "$SCRATCH/body" "$url/metrics"; }
# value NAME [LABELS]: of the last scrape
value() { sed -n "s/^$1 //p" "$SCRATCH/body"; }
ring() { sed -n "s/^ceems_ring_$1{.*} //p" "$SCRATCH/body"; }
sum_of() { jq "$1" "$SCRATCH/truth"; }
scaled() { awk -v v="$1" 'BEGIN { s = sprintf("%d.%09d", v / 1e9, v % 1e9); sub(/\.?0+$/, "", s); print s }'; }

start
ok "starts" wait_for 20 answers
"$BUILD/unit_source" --ring="$SCRATCH/run/ring" --count=$units --rate=400 --producers=4 --steps=2 \
	>"$SCRATCH/truth" 2>"$SCRATCH/source.err" &
source=$!
started $source
kills=0
while kill -0 $source 2>/dev/null; do
	sleep "0.$((RANDOM % 300 + 50))"
	kill -0 $source 2>/dev/null || break
	kill -9 $pid
	{ wait $pid; } 2>/dev/null
	kills=$((kills + 1))
	start
done
wait $source
is "every record was taken by the ring" $? 0
echo "# $kills kills, $(cat "$SCRATCH/truth")"
ok "the daemon was killed in the middle, several times" test $kills -ge 5
drained() { answers && [ "$(ring pending)" = 0 ]; }
ok "the ring is drained" wait_for 20 drained

host=$(sed -n 's/^ceems_compute_units{manager="slurm",hostname="\([^"]*\)"} .*/\1/p' "$SCRATCH/body")
l="manager=\"slurm\",hostname=\"$host\""
is "user time is exact" "$(value "ceems_units_cpu_seconds_total{$l,mode=\"user\"}")" \
	"$(scaled "$(sum_of .cpu_user_ns)")"
is "system time is exact" "$(value "ceems_units_cpu_seconds_total{$l,mode=\"system\"}")" \
	"$(scaled "$(sum_of .cpu_system_ns)")"
is "no unit is missing or twice" "$(value "ceems_units_started_total{$l}")" $units
is "no step is missing or twice" \
	"$(value "ceems_steps_started_total{$l}") $(value "ceems_steps_ended_total{$l}")" \
	"$((units * 2)) $((units * 2))"
is "nothing was dropped" "$(ring dropped_total)" "$(sum_of .refused)"
is "no record was bad" "$(ring bad_records_total)" 0
is "no table was thrown away" "$(grep -c 'units: new' "$SCRATCH/log")" 1

# and once more, with everything ended and nothing running
kill -9 $pid
{ wait $pid; } 2>/dev/null
start
ok "starts again" wait_for 20 answers
is "and still knows" "$(value "ceems_units_cpu_seconds_total{$l,mode=\"user\"}")" \
	"$(scaled "$(sum_of .cpu_user_ns)")"
tap_done
