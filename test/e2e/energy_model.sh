#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceemsd on a machine without a power sensor: the model's watts become the node's joules,
# which add up, are marked as a model's, and end where it is off. Wrong coefficients are a
# wrong command line.
. "$(dirname "$0")/../tap.sh"

mkdir -p "$SCRATCH/sys" "$SCRATCH/cgroup"
n=0
daemon() { # argument...
	local port
	port=$(free_port) || exit 1
	n=$((n + 1)) log=$SCRATCH/log.$n url=http://127.0.0.1:$port
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run.$n" --path.sysfs="$SCRATCH/sys" --path.cgroupfs="$SCRATCH/cgroup" \
		--web.listen-address="127.0.0.1:$port" --energy.interval=200ms "$@" >"$log" 2>&1 </dev/null &
	pid=$!
	started $pid
	wait_for 20 scrape || sed 's/^/# /' "$log"
}
stop() { kill $pid && wait $pid; }
scrape() { curl -sf -m 20 -o "$SCRATCH/body" "$url/metrics"; }
value() { sed -n "s/^$1{[^}]*$2[^}]*} //p" "$SCRATCH/body"; }
# a condition on numbers of the scrape: awk expression, then its numbers as a, b, c, d
holds() { awk -v a="${2:-x}" -v b="$3" -v c="$4" -v d="$5" "BEGIN { exit !($1) }"; }
node() { scrape && value ceems_node_energy_joules_total 'domain="host",source="model"'; }
grown() { holds "a != \"\" && a + 0 > $1" "$(node)"; }

daemon --energy.model=host --energy.model.idle-watts=100 --energy.model.max-watts=300
ok "the node has energy" wait_for 20 grown 50
is "of the model and nothing else" "$(sed -n 's/^ceems_node_energy_joules_total{.*source="\([^"]*\)".*/\1/p' "$SCRATCH/body" | sort -u)" model
is "whose coefficients are said" "$(value ceems_model_idle_watts 'kind="host",coefficients="configured"') $(value ceems_model_max_watts configured)" "100 300"
ok "power is between them" holds 'a >= 100 && a <= 300' "$(value ceems_model_power_watts configured)"
node=$(value ceems_node_energy_joules_total 'domain="host"')
ok "units + idle + system = node" holds 'a - b - c - d < 1e-6 && b + c + d - a < 1e-6' "$node" \
	"$(value ceems_node_attributed_energy_joules_total 'domain="host"')" \
	"$(value ceems_node_unattributed_energy_joules_total 'domain="host".*kind="idle"')" \
	"$(value ceems_node_unattributed_energy_joules_total 'domain="host".*kind="system"')"
is "the model's idle power is idle power" "$(value ceems_node_idle_power_watts 'domain="host"')" 100
model=$(value ceems_model_energy_joules_total configured)
ok "and no more than the model gave" holds 'a <= b + 0.000001' "$node" "$model"
stop

# the line is flat, so that joules are watts x time whatever runs here meanwhile
daemon --energy.model=host --energy.model.idle-watts=100 --energy.model.max-watts=100
wait_for 20 grown 20
was=$(node)
kill -KILL $pid
{ wait $pid; } 2>/dev/null
from=$(date +%s%N)
sleep 3
to=$(date +%s%N)
n=$((n - 1))
daemon --energy.model=host --energy.model.idle-watts=100 --energy.model.max-watts=100
wait_for 20 grown "$was" # by its first tick
ok "3 s without a daemon are in the node's energy" holds "a - b >= 100 * ($to - $from) / 1e9" \
	"$(value ceems_node_energy_joules_total 'domain="host"')" "$was"
ok "and no more than the model gave since it began" holds 'a <= b + 0.000001' "$(node)" \
	"$(value ceems_model_energy_joules_total configured)"
is "nothing of it is unknown" "$(value ceems_energy_source_gaps_total 'source="model"')" 0
stop

daemon --energy.model=vm --energy.model.curve=0:100,50:250,100:300 --energy.model.host-cpus=$(($(nproc) * 4))
is "a guest has its share of the host" "$(value ceems_model_idle_watts 'kind="vm"') $(value ceems_model_max_watts 'kind="vm"')" "25 75"
stop

daemon --energy.model=off
sleep 1
scrape
is "switched off there is nothing" "$(grep -cE '^ceems_(model|node_energy)_' "$SCRATCH/body")" 0
ok "which is said" wait_for 20 grep -q 'energy source model: not on this machine (--energy.model=off)' "$log"
stop

mkdir -p "$SCRATCH/sys/class/hwmon/hwmon0"
echo power_meter >"$SCRATCH/sys/class/hwmon/hwmon0/name"
echo 5000000 >"$SCRATCH/sys/class/hwmon/hwmon0/power1_average"
daemon --energy.model=host --collector.hwmon
ok "beside a sensor of the node it is not used" wait_for 20 grep -q 'energy model: not used, a sensor measures' "$log"
scrape
is "and has no series" "$(grep -c '^ceems_model_' "$SCRATCH/body")" 0
stop

while IFS='|' read -r line want; do
	out=$("$BUILD/ceemsd" --check-config $line 2>&1)
	is "$line is refused" "$?" 2
	like "and why" "$out" "$want"
done <<'END'
--energy.model.idle-watts=100|together or not at all
--energy.model.idle-watts=200 --energy.model.max-watts=100|less than --energy.model.idle-watts
--energy.model.curve=0:100,60:90,100:300|point 2: watts must not fall
--energy.model.curve=0:100,100:x|point 2 is not .percent:watts
--energy.model.host-cpus=8|says whose
END
tap_done
