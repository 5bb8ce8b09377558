#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems-courier against Redfish servers by others: OpenStack's sushy-tools, from PyPI. Its
# static server shows a tree in the form of DMTF's mock-ups (test/fixture/redfish/mockup); its
# emulator's chassis have no power, which is said.
. "$(dirname "$0")/../tap.sh"
. test/cache.sh

[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier is not built here (libcurl, json-c)"
venv=$cache/sushy-tools
remove_unfinished "$venv"
if [ ! -x "$venv/bin/sushy-static" ]; then
	command -v python3 >/dev/null || skip_all "python3 is not installed"
	venv=$cache/sushy-tools.$$ # whole or absent: a script in it names its own place
	python3 -m venv "$venv" >/dev/null 2>&1 || { rm -rf "$venv"; skip_all "python3 has no venv (python3-venv)"; }
	timeout 120 "$venv/bin/pip" -q install sushy-tools >"$SCRATCH/pip" 2>&1 ||
		{ rm -rf "$venv"; skip_all "sushy-tools cannot be had from PyPI: $(tail -1 "$SCRATCH/pip")"; }
	ln -sfn "$venv" "$cache/sushy-tools"
fi

look() { # PORT
	printf 'redfish_collector: {protocol: http, hostname: 127.0.0.1, port: %s}\n' "$1" >"$SCRATCH/redfish.yaml"
	"$BUILD/ceems-courier" --collector.redfish --collector.redfish.config.file="$SCRATCH/redfish.yaml" --once --print \
		>"$SCRATCH/out" 2>"$SCRATCH/log"
}
up() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

port=$(free_port) || exit 1
"$venv/bin/sushy-static" -i 127.0.0.1 -p "$port" -m test/fixture/redfish/mockup >"$SCRATCH/static" 2>&1 </dev/null &
started $!
ok "the static server starts" wait_for 30 up "$port"
ok "its tree is read" look "$port"
is "watts of both chassis, energy of the one that has it" "$(sort "$SCRATCH/out" | paste -sd'|')" \
	"redfish GPUs chassis power_avg_uw=118000000|redfish GPUs chassis power_max_uw=250000000|redfish GPUs chassis power_min_uw=60000000|redfish GPUs chassis power_uw=120000000|redfish Self chassis energy_uj=1172430225000000000 host|redfish Self chassis power_uw=374000000|redfish good"
like "the outer one counts for the node" "$(cat "$SCRATCH/log")" "chassis Self: power from /redfish/v1/Chassis/Self/EnvironmentMetrics, counts for the node"

port=$(free_port) || exit 1
"$venv/bin/sushy-emulator" --fake -i 127.0.0.1 -p "$port" >"$SCRATCH/emulator" 2>&1 </dev/null &
started $!
ok "the emulator starts" wait_for 60 up "$port"
ok "a machine without power readings is a failure" eval '! look "$port"'
like "that says so" "$(cat "$SCRATCH/log")" "no chassis of the BMC reports its power"
tap_done
