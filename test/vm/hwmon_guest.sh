#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_hwmon.sh: ceemsd and the kernel's acpi_power_meter.
. "$(dirname "$0")/../tap.sh"
port=9010
get() { # path: the body of ceemsd's answer
	local line
	exec 5<>"/dev/tcp/127.0.0.1/$port" || return
	printf 'GET %s HTTP/1.0\r\nHost: vm\r\n\r\n' "$1" >&5
	while read -r line <&5 && [ "$line" != $'\r' ] && [ -n "$line" ]; do :; done
	cat <&5
	exec 5>&-
}
scrape() { get /metrics >"$SCRATCH/metrics"; }
watts() { scrape && sed -n 's/^ceems_hwmon_power_avg_watts{.*} //p' "$SCRATCH/metrics"; }
more_than() { awk -v a="$(watts)" -v b="$1" 'BEGIN { exit !(a > b) }'; }
age_above() {
	scrape && awk -v a="$1" '/^ceems_energy_source_age_seconds.*"hwmon"/ { found = $2 > a } END { exit !found }' "$SCRATCH/metrics"
}
said() { grep -q -- "$1" "$SCRATCH/log"; }

daemon() { # argument...
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --energy.interval=300ms \
		--collector.hwmon "$@" >"$SCRATCH/log" 2>&1 &
	pid=$!
	started $pid
	wait_for 20 get /health >/dev/null || sed 's/^/# /' "$SCRATCH/log"
}
stop() { kill "$pid" && wait "$pid"; }

meter=$(echo /sys/class/hwmon/hwmon*/device/power1_average /sys/class/hwmon/hwmon*/power1_average)
like "the kernel has a power meter" "$(cat $meter 2>/dev/null)" '^187000000'
# it can be the host's only where the guest's model stands back
daemon
first=$(watts)
like "its watts are the metric" "$first" '^18[789]$|^19[0-9]$'
like "under the chip's name and the driver's" "$(grep '^ceems_hwmon_power_avg' "$SCRATCH/metrics")" \
	'sensor="power1",chip="[a-z0-9:_]*acpi000d:00",chip_name="power_meter"}'
ok "they follow the meter" wait_for 30 more_than "$first"
is "it is the host's sensor: nothing is estimated" "$(grep -c '^ceems_model_' "$SCRATCH/metrics")" 0
ok "which is said" said "energy model: not used, a sensor measures"
joules() { scrape && sed -n 's/^ceems_node_energy_joules_total{.*domain="host",source="hwmon"} //p' "$SCRATCH/metrics"; }
above() { awk -v a="$(joules)" -v b="$1" 'BEGIN { exit !(a > b) }'; }
ok "the node's energy comes from it" wait_for 30 above 187
# the driver goes and comes back; the class is walked each 10 s
bus=/sys/bus/acpi/drivers/power_meter
device=$(basename "$(dirname "$(readlink -f "${meter%% *}")")")
ok "the kernel takes the meter away" eval 'echo "$device" >$bus/unbind'
ok "its reading ages" wait_for 40 age_above 5
is "the daemon goes on" "$(grep -c '^ceems_cpu_count' "$SCRATCH/metrics")" 1
ok "the kernel brings it back" eval 'echo "$device" >$bus/bind'
ok "and it is read again" wait_for 40 eval '! age_above 2 && more_than 186'
stop
chip=$(sed -n 's/^ceems_hwmon_power_avg_watts{.*chip="\([^"]*\)".*/\1/p' "$SCRATCH/metrics")
daemon --collector.hwmon.host-sensor="$chip/power1"
ok "declared by its labels it is the host's, too" wait_for 20 said "energy model: not used, a sensor measures"
stop
daemon --collector.hwmon.host-sensor="other/power1"
ok "where another is declared it is not" wait_for 20 eval 'scrape && grep -q "^ceems_model_power_watts" "$SCRATCH/metrics"'
ok "and that one is missed" said "host-sensor=other/power1: no such sensor"
stop
tap_done
