#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's IPMI driver in a virtual machine with OpenIPMI's simulated BMC: ceemsd reads
# the node's power at the real /dev/ipmi0 (test/vm/ipmi_guest.sh). And QEMU's own BMC, which
# knows no DCMI.
# busy
# timeout 2000
. "$(dirname "$0")/../tap.sh"

why=$(test/vm/run possible --host) || skip_all "$why"
why=$(test/rig/bmc possible) || skip_all "$why"
command -v ipmitool >/dev/null || skip_all "ipmitool is not installed"
[ -x "$BUILD/ceemsd" ] || skip_all "ceemsd was not built here"
bmc=$SCRATCH/bmc
test_cleanup() { test/rig/bmc stop "$bmc"; }
test/rig/bmc start "$bmc" || exit 1
. "$bmc/env"
vm=(test/vm/run --host --timeout=550 --module=ipmi_si --module=ipmi_devintf)

"${vm[@]}" --qemu=-chardev --qemu=socket,id=bmcline,host=127.0.0.1,port="$BMC_VM_PORT",reconnect=1 \
	--qemu=-device --qemu=ipmi-bmc-extern,id=bmc0,chardev=bmcline --qemu=-device --qemu=isa-ipmi-kcs,bmc=bmc0 \
	test/vm/ipmi_guest.sh >"$SCRATCH/out"
rc=$?
while IFS= read -r line; do
	case $line in
	"ok "*) tap_result ok "${line#ok * - }" ;;
	"not ok "*) tap_result not-ok "${line#not ok * - }" ;;
	1..*) ;;
	*) echo "$line" ;;
	esac
done <"$SCRATCH/out"
is "the guest ends well" "$rc $(grep -c '^1\.\.' "$SCRATCH/out")" "0 1"

out=$("${vm[@]}" --qemu=-device --qemu=ipmi-bmc-sim,id=bmc0 --qemu=-device --qemu=isa-ipmi-kcs,bmc=bmc0 \
	timeout 200 bash -c '"$BUILD/ceemsd" --path.rundir=/run/ceems --web.listen-address=127.0.0.1:9010 --collector.ipmi_dcmi >/run/said 2>&1 &
		for i in $(seq 150); do grep -q "ipmi_dcmi: ipmi0: " /run/said && break; sleep 1; done; kill $!; wait $!; cat /run/said')
like "a BMC without DCMI is said" "$out" "energy source ipmi_dcmi: ipmi0: the BMC says 0xc1: it does not support the command"
tap_done
