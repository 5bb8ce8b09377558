#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceemsd reads the power of the node by the real ipmitool, FreeIPMI and ipmiutil, which ask a
# simulated BMC (OpenIPMI's ipmi_sim) over LAN.
. "$(dirname "$0")/../tap.sh"

why=$(test/rig/bmc possible) || skip_all "$why"
[ -x "$BUILD/ceemsd" ] || skip_all "ceemsd was not built here"
command -v curl >/dev/null || skip_all "curl is not installed"
bmc=$SCRATCH/bmc
test_cleanup() { test/rig/bmc stop "$bmc"; }
ok "a BMC" test/rig/bmc start "$bmc"
. "$bmc/env"

scrape() { curl -sf -m 20 -o "$SCRATCH/body" "http://127.0.0.1:$port/metrics"; }
value() { scrape && sed -n "s|^$1.*} ||p" "$SCRATCH/body"; }
shows() { [ "$(value "ceems_ipmi_dcmi_$1_watts")" = "$2" ]; }
said() { grep -q -- "$1" "$SCRATCH/log"; }
age() { value ceems_energy_source_age_seconds; }
older() { awk -v a="$(age)" -v b="$1" 'BEGIN { exit !(a > b) }'; }

joules() { value 'ceems_node_energy_joules_total{[^}]*domain="host",source="ipmi_dcmi"'; }
start() { # command option...
	port=$(free_port) || exit 1
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address="127.0.0.1:$port" --collector.disable-defaults \
		--collector.ipmi_dcmi --collector.ipmi_dcmi.interval=500ms --energy.interval=250ms \
		--collector.ipmi_dcmi.cmd="$1" "${@:2}" >"$SCRATCH/log" 2>&1 </dev/null &
	pid=$!
	started $pid
}

try() { # name command
	command -v "$1" >/dev/null || { skip "$1" "$1 is not installed"; return; }
	echo "312 280 400 300 1" >"$BMC_WATTS"
	start "$(command -v "$1") $2"
	ok "$1: current power" wait_for 30 shows current 312
	is "$1: min, max and average" "$(value ceems_ipmi_dcmi_min_watts) $(value ceems_ipmi_dcmi_max_watts) $(value ceems_ipmi_dcmi_avg_watts)" "280 400 300"
	echo "345 280 400 300 1" >"$BMC_WATTS"
	ok "$1: what changes is seen" wait_for 30 shows current 345
	echo "346 280 400 300 0" >"$BMC_WATTS"
	ok "$1: a BMC that does not measure is said" wait_for 30 said "its last reading ages"
	was=$(age)
	ok "$1: and ages" wait_for 30 older "${was:-0}"
	is "$1: its watts are not believed" "$(value ceems_ipmi_dcmi_current_watts)" 345
	echo "347 280 400 300 1" >"$BMC_WATTS"
	ok "$1: it comes back" wait_for 30 shows current 347
	kill -TERM $pid
	ok "$1: ceemsd ends" wait_for 20 is_gone $pid
	[ $tap_failed = 0 ] || sed 's/^/# /' "$SCRATCH/log"
}
try ipmitool "-I lan -H 127.0.0.1 -p $BMC_LAN_PORT -U ipmiusr -P test dcmi power reading"
try ipmi-dcmi "-h 127.0.0.1:$BMC_LAN_PORT -u ipmiusr -p test -D LAN --get-system-power-statistics"
try ipmiutil "dcmi -N 127.0.0.1 -p $BMC_LAN_PORT -U ipmiusr -P test -F lan -V 4 power"

# FreeIPMI looks at the checksums of answers over LAN (ipmitool does not)
if command -v ipmi-dcmi >/dev/null; then
	echo "312 280 400 300 1" >"$BMC_WATTS"
	"$BUILD/udp_flip" "$BMC_LAN_PORT" "$SCRATCH/flip" >"$SCRATCH/flip.port" &
	started $!
	wait_for 5 test -s "$SCRATCH/flip.port"
	start "$(command -v ipmi-dcmi) -h 127.0.0.1:$(cat "$SCRATCH/flip.port") -u ipmiusr -p test -D LAN --get-system-power-statistics"
	ok "a reading over a good line" wait_for 30 shows current 312
	touch "$SCRATCH/flip"
	echo "999 280 999 300 1" >"$BMC_WATTS"
	was=$(age)
	ok "a reply with a wrong checksum is no reading: the last one ages" wait_for 40 older "$(awk -v a="${was:-0}" 'BEGIN { print a + 3 }')"
	ok "and its watts are not believed" test "$(value ceems_ipmi_dcmi_current_watts)" != 999
	rm "$SCRATCH/flip"
	ok "when the line is good again there are readings" wait_for 60 shows current 999
	kill -TERM $pid
	ok "ceemsd ends" wait_for 20 is_gone $pid
else
	skip "a reply with a wrong checksum is no reading" "ipmi-dcmi is not installed"
fi

# a dead BMC is not one at constant power
if command -v ipmitool >/dev/null; then
	echo "312 280 400 300 1" >"$BMC_WATTS"
	start "$(command -v ipmitool) -I lan -H 127.0.0.1 -p $BMC_LAN_PORT -U ipmiusr -P test dcmi power reading" --collector.energy
	some() { awk -v j="$(joules)" 'BEGIN { exit !(j > 0) }'; }
	ok "watts become joules of the node" wait_for 30 some
	# a scrape takes what it takes: two of them are between so and so many seconds apart
	t0=$(date +%s%N) from=$(joules) t1=$(date +%s%N)
	more() { awk -v j="$(joules)" -v f="$from" 'BEGIN { exit !(j > f + 1500) }'; }
	ok "and more of them" wait_for 60 more
	t2=$(date +%s%N) to=$(joules) t3=$(date +%s%N)
	watts() { awk -v a="$from" -v b="$to" -v t="$1" 'BEGIN { printf "%.0f", (b - a) * 1e9 / t }'; }
	least=$(watts $((t3 - t0))) most=$(watts $((t2 - t1)))
	echo "# $least to $most W between two scrapes, 312 W by the BMC"
	near() { [ "$most" -gt 234 ] && [ "$least" -lt 390 ]; }
	ok "as many as the BMC's watts make" near
	kill -STOP "$BMC_PID"
	ok "a dead BMC ages" wait_for 60 older 3
	from=$(joules)
	ok "for long" wait_for 60 older 13
	is "its joules stand still" "$(joules)" "$from"
	kill -CONT "$BMC_PID"
	ok "they go on when it lives" wait_for 90 eval '[ "$(joules)" != "$from" ]'
	kill -TERM $pid
	wait_for 20 is_gone $pid
fi

# a BMC that takes its time is waited for by nobody else
echo "312 280 400 300 1 0 0 3000" >"$BMC_WATTS"
kill -STOP "$BMC_PID" # until it has been seen that nobody waits
start "$(command -v ipmitool || echo /usr/bin/ipmitool) -I lan -N 9 -H 127.0.0.1 -p $BMC_LAN_PORT -U ipmiusr -P test dcmi power reading"
ok "scrapes are answered while the BMC is silent" wait_for 10 scrape
if command -v ipmitool >/dev/null; then
	is "without watts so far" "$(value ceems_ipmi_dcmi_current_watts)" ""
	kill -CONT "$BMC_PID"
	ok "and have them when it has spoken" wait_for 30 shows current 312
fi
kill -CONT "$BMC_PID"
kill -TERM $pid
wait_for 20 is_gone $pid
tap_done
