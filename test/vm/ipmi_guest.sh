#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_ipmi.sh: a real /dev/ipmi0 with a simulated BMC behind it.
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
value() { get /metrics >"$SCRATCH/metrics" && sed -n "s/^$1{.*} //p" "$SCRATCH/metrics"; }
shows() { [ "$(value "ceems_ipmi_dcmi_$1_watts")" = "$2" ]; }
said() { grep -q -- "$1" "$SCRATCH/log"; }
# what the BMC answers from now on: see test/fake/ipmi_sim_dcmi.c
bmc() { # watts min max avg state code cut wait_ms
	local n bytes=
	for n; do bytes+=$(printf ' 0x%02x 0x%02x' $((n & 255)) $((n >> 8))); done
	ipmitool raw 0x2c 0xf0 0xdc $bytes >/dev/null
}
age() { get /metrics | sed -n 's/^ceems_energy_source_age_seconds{source="ipmi_dcmi"} \([0-9]*\).*/\1/p'; }
older() { [ "$(age)" -gt "$1" ]; }

ok "the device is there, for root only" [ "$(stat -c '%F %a %U' /dev/ipmi0)" = "character special file 600 root" ]

# Redfish at the address that the BMC says by IPMI; nothing else knows it
redfish=()
is "a BMC without an address says so" "$("$BUILD/ipmi_address")" "ipmi0: the BMC reports no network address"
ipmitool lan set 1 ipsrc static >/dev/null
ipmitool lan set 1 ipaddr 127.0.0.1 >/dev/null
is "its address is known by raw IPMI" "$("$BUILD/ipmi_address")" "127.0.0.1 -"
if [ -x "$BUILD/ceems-courier" ] && [ -x "$BUILD/redfish_bmc" ]; then
	echo "watts 298" >"$SCRATCH/control"
	tail -f /dev/null --pid=$$ | "$BUILD/redfish_bmc" --port 8000 --control "$SCRATCH/control" >"$SCRATCH/redfish.out" 2>&1 &
	started $!
	printf 'redfish_collector:\n  protocol: http\n  port: 8000\n' >"$SCRATCH/redfish.yaml"
	chmod 644 "$SCRATCH/redfish.yaml"
	redfish=(--collector.redfish --collector.redfish.config.file="$SCRATCH/redfish.yaml" --collector.redfish.interval=1s)
fi
"$BUILD/ceemsd" --path.rundir=/run/ceems --web.listen-address=127.0.0.1:$port --collector.disable-defaults --collector.ipmi_dcmi \
	"${redfish[@]}" --collector.ipmi_dcmi.interval=500ms --energy.interval=250ms >"$SCRATCH/log" 2>&1 &
pid=$!
started $pid
ok "the power of the BMC is there" wait_for 20 shows current 312
is "min, max and average, too" "$(value ceems_ipmi_dcmi_min_watts) $(value ceems_ipmi_dcmi_max_watts) $(value ceems_ipmi_dcmi_avg_watts)" "280 400 300"
like "root is given up" "$(grep '^Uid:' "/proc/$pid/status")" $'^Uid:\t[1-9]'
is "the device stays open" "$(readlink "/proc/$pid/fd/"* 2>/dev/null | grep -c '^/dev/ipmi0$')" 1
if [ ${#redfish[@]} -gt 0 ]; then
	by_redfish() { [ "$(value ceems_redfish_current_watts)" = 298 ]; }
	ok "Redfish finds the BMC at the address that IPMI says" wait_for 30 by_redfish
else
	skip "Redfish finds the BMC at the address that IPMI says" "ceems-courier was not built here"
fi

bmc 345 1 2 3 1
ok "what changes is seen" wait_for 20 shows current 345
bmc 345 0 65535 0 1
bare() { shows current 345 && [ -z "$(value ceems_ipmi_dcmi_min_watts)$(value ceems_ipmi_dcmi_max_watts)$(value ceems_ipmi_dcmi_avg_watts)" ]; }
ok "0 and 65535 W are nothing" wait_for 20 bare

works_again() { [ "$(grep -c "source ipmi_dcmi: works again" "$SCRATCH/log")" -ge "$1" ]; }
refused() { # what log text numbers...
	local what=$1 text=$2
	shift 2
	bmc "$@"
	ok "$what is said" wait_for 30 said "$text, its last reading ages"
	is "$what: the last reading stands" "$(value ceems_ipmi_dcmi_current_watts)" 345
	bmc 345 280 400 300 1
	ok "$what: it works again" wait_for 30 works_again $((++again))
}
again=0
refused "a BMC that does not measure" "does not measure power now" 200 1 2 3 0
refused "65535 W" "the BMC says 65535 W" 65535 1 2 3 1
refused "completion code c1" "the BMC says 0xc1: it does not support the command" 200 1 2 3 1 0xc1
refused "a reply that is cut" "power reading of 17 bytes, DCMI defines 19" 200 1 2 3 1 0 2

bmc 346 1 2 3 1 0 0 2500
slow() { shows current 346; }
ok "a slow BMC is waited for" wait_for 30 slow
ok "by nobody else" eval 'get /metrics >/dev/null'
bmc 347 1 2 3 1
ok "and quick again" wait_for 30 shows current 347

# the driver's interface goes and comes back, for ceemsd's group this time
hotmod() { echo "$1,kcs,i/o,0xca2" >/sys/module/ipmi_si/parameters/hotmod; }
hotmod remove
ok "a device that vanishes is said" wait_for 30 said "ipmi0: No such device, its last reading ages"
hotmod add
wait_for 20 test -c /dev/ipmi0
chgrp "$(id -g nobody)" /dev/ipmi0 && chmod 660 /dev/ipmi0
bmc 348 1 2 3 1
ok "it is opened again where its group is ceemsd's" wait_for 60 shows current 348
kill -TERM $pid
wait $pid

# a tool of the machine, at the same device
port=9011
"$BUILD/ceemsd" --path.rundir=/run/ceems --web.listen-address=127.0.0.1:$port --collector.disable-defaults --collector.ipmi_dcmi \
	--collector.ipmi_dcmi.interval=500ms --energy.interval=250ms --collector.ipmi_dcmi.cmd=/usr/bin/ipmitool >"$SCRATCH/log2" 2>&1 &
tool=$!
started $tool
ok "ipmitool reads the device as ceemsd's own user" wait_for 60 shows current 348
is "and ceemsd has it not open" "$(readlink "/proc/$tool/fd/"* 2>/dev/null | grep -c '^/dev/ipmi0$')" 0
kill -TERM $tool
wait $tool

port=9012
"$BUILD/ceemsd" --path.rundir=/run/ceems --web.listen-address=127.0.0.1:$port --collector.disable-defaults --collector.ipmi_dcmi \
	--collector.ipmi_dcmi.interval=500ms --energy.interval=250ms >>"$SCRATCH/log" 2>&1 &
pid=$!
started $pid
ok "the device again" wait_for 60 shows current 348
# the BMC dies: the driver answers for it, or nobody does
ipmitool raw 0x2c 0xf1 0xdc >/dev/null 2>&1
was=$(age)
ok "a dead BMC ages" wait_for 30 older $((${was:-0} + 2))
ok "and is said" wait_for 30 said "ipmi0: .*, its last reading ages"
kill -TERM $pid
wait $pid
is "ceemsd ends well all the same" $? 0
[ $tap_failed = 0 ] || sed 's/^/# /' "$SCRATCH/log"
tap_done
