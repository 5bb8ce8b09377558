#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Energy in a real ceemsd: a recorded RAPL tree whose counters this script moves, simulated
# jobs (test/fake/unit_source), scrapes all the while. Every scrape adds up to the microjoule,
# no counter ever falls, and no joule of the sensor is lost over kill -9.
. "$(dirname "$0")/../tap.sh"

sys=$SCRATCH/sys
cp -a test/fixture/rapl_intel2/sys "$sys"
chmod -R a+rX "$sys"
mkdir "$SCRATCH/cgroup"
port=$(free_port) || exit 1
url=http://127.0.0.1:$port
zone=$sys/class/powercap/intel-rapl:0/energy_uj
chmod 0644 "$sys"/class/powercap/*/energy_uj
uj=$(cat "$zone")

start() {
	"$BUILD/ceemsd" --path.sysfs="$sys" --path.rundir="$SCRATCH/run" --path.cgroupfs="$SCRATCH/cgroup" \
		--web.listen-address="127.0.0.1:$port" --collector.slurm --energy.interval=100ms \
		--energy.idle-watts=package:1 --unit.linger=1s --unit.max-exported=100 --unit.capacity=256 \
		>>"$SCRATCH/log" 2>&1 </dev/null &
	pid=$!
	started $pid
}
stop() { # SIGNAL
	kill "-$1" $pid
	{ wait $pid; } 2>/dev/null
}
scrape() { curl -sf -m 20 -o "$SCRATCH/body" "$url/metrics"; }
# in place, as the kernel does it: never empty, same number of digits
move() { uj=$((uj + $1)); printf '%s\n' "$uj" 1<>"$zone"; }

# uj NAME LABEL: sum in microjoules over the samples of the last scrape
uj() {
	awk -v name="$1" -v label="$2" 'index($0, name "{") == 1 && index($0, label) {
		split($NF, a, "."); sum += a[1] * 1000000 + substr(a[2] "000000", 1, 6) }
		END { printf "%.0f\n", sum }' "$SCRATCH/body"
}
node() { uj ceems_node_energy_joules_total 'domain="package"'; }
attributed() { uj ceems_node_attributed_energy_joules_total 'domain="package"'; }
rest() { uj ceems_node_unattributed_energy_joules_total 'domain="package"'; }
units() { uj ceems_compute_unit_energy_joules_total 'domain="package"'; }
node_is() { scrape && [ "$(node)" = "$1" ]; }
ticks() { scrape && grep -q '^ceems_node_energy_joules_total{.*"package"' "$SCRATCH/body"; }
log_scrape() { # appends node attributed rest units, one line per scrape
	scrape && echo "$(node) $(attributed) $(rest) $(units)" >>"$SCRATCH/scrapes"
}

start
ok "begins to tick" wait_for 20 ticks
is "with nothing" "$(node)" 0
move 2500000
ok "counts what the sensor counted" wait_for 20 node_is 2500000
is "which is all of processes outside of jobs, or nobody's" "$(rest)" 2500000

"$BUILD/unit_source" --ring="$SCRATCH/run/ring" --count=600 --rate=100 --producers=2 --steps=2 \
	>"$SCRATCH/truth" 2>"$SCRATCH/source.err" &
source=$!
started $source
while kill -0 $source 2>/dev/null || [ "$(wc -l <"$SCRATCH/scrapes")" -lt 12 ]; do
	move $((RANDOM * 10 + 7))
	log_scrape
done
wait $source
move 1000003
moved=$((uj - $(cat test/fixture/rapl_intel2/sys/class/powercap/intel-rapl:0/energy_uj)))
ok "every microjoule that the sensor counted is in the node's" wait_for 20 node_is $moved
log_scrape
n=$(wc -l <"$SCRATCH/scrapes")
ok "there were scrapes enough" test "$n" -ge 10
is "in each of $n scrapes attributed + idle + system = node" \
	"$(awk '$1 != $2 + $3' "$SCRATCH/scrapes")" ""
is "and units are never more than what was attributed" "$(awk '$4 > $2' "$SCRATCH/scrapes")" ""
is "nothing ever fell" "$(awk '$1 < n || $2 < a || $3 < r; { n = $1; a = $2; r = $3 }' "$SCRATCH/scrapes")" ""
ok "jobs were charged" test "$(attributed)" -gt 0
ok "and had series of their own" awk '$4 > 0 { found = 1 } END { exit !found }' "$SCRATCH/scrapes"

# it moves at any moment before death, and while nobody is there
wrong="" kills=12
for i in $(seq $kills); do
	was=$(node)
	step=$((RANDOM * 100 + i))
	move $step
	sleep "$(printf 0.%03d $((RANDOM % 160)))"
	stop KILL
	move $i
	start
	wait_for 20 node_is $((was + step + i)) || wrong="$wrong $was+$step+$i:$(node)"
	[ "$(node)" = $(($(attributed) + $(rest))) ] || wrong="$wrong sum"
done
is "nothing that the sensor counted is lost in $kills deaths by kill -9" "$wrong" ""

was=$(node)
stop KILL
for i in $(seq 50); do
	move $((RANDOM * 100 + i))
	sleep 0.1
done
moved=$((uj - $(cat test/fixture/rapl_intel2/sys/class/powercap/intel-rapl:0/energy_uj)))
start
ok "nor of 5 s without a daemon, to the microjoule" wait_for 20 node_is $moved
is "which adds up" "$(node)" $(($(attributed) + $(rest)))
ok "and is no small thing" test "$(node)" -gt $((was + 10000000))
is "nothing of it is unknown" "$(grep 'gaps_total{source="rapl"}' "$SCRATCH/body")" \
	'ceems_energy_source_gaps_total{source="rapl"} 0'
is "no table was thrown away" "$(grep -c 'units: new' "$SCRATCH/log")" 1

was="$(node) $(attributed) $(rest)"
stop TERM
start
ok "starts again" wait_for 20 ticks
is "sums survive a restart" "$(node) $(attributed) $(rest)" "$was"
was=$(node)
move 4000000
ok "and go on" wait_for 20 node_is $((was + 4000000))

# a driver that was loaded anew while nobody was there
stop TERM
lower=$((uj - 9000000000)) old=$uj
uj=$lower
move 0
start
ok "starts on a counter that was set back" wait_for 20 ticks
gap() { scrape && grep -q '^ceems_energy_source_gaps_total{source="rapl"} 1$' "$SCRATCH/body"; }
wait_for 20 gap
is "which makes no jump" "$(node)" $((was + 4000000))
is "is counted" "$(grep 'gaps_total{source="rapl"}' "$SCRATCH/body")" \
	'ceems_energy_source_gaps_total{source="rapl"} 1'
ok "and said" grep -q 'energy source rapl: what 1 of its counters measured while ceemsd was down is unknown' "$SCRATCH/log"
uj=$old
move 0
sleep 0.5

# the sensor goes, and comes back somewhere else
mv "$zone" "$zone.gone"
: >"$zone"
sleep 0.5
scrape
is "a sensor that cannot be read counts nothing" "$(node)" $((was + 4000000))
is "its sums still add up" "$(node)" $(($(attributed) + $(rest)))

is "the collector never failed" "$(grep -c 'ceems_scrape_collector_success{collector="energy"} 0' "$SCRATCH/body")" 0
ok "nobody complained of ticks" test -z "$(grep 'no energy is attributed' "$SCRATCH/log")"
tap_done
