#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_machine_events.sh: a libvirtd and its QEMU on a processor that counts. Of two domains one
# executes a loop, the other waits for ever; perf counts beside ceemsd.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/libvirt.sh"
echo "+cpu +cpuset +memory +pids +io" >/sys/fs/cgroup/cgroup.subtree_control
echo libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin >>/etc/passwd
printf 'libvirt-qemu:x:64055:\nkvm:x:64056:\n' >>/etc/group
mkdir -p /etc/libvirt /var/lib/libvirt/qemu /var/cache/libvirt /var/log/libvirt
printf 'namespaces = [ ]\nuser = "root"\ngroup = "root"\nremember_owner = 0\nstdio_handler = "file"\nsecurity_driver = "none"\n' >/etc/libvirt/qemu.conf
printf 'auth_unix_ro = "none"\nauth_unix_rw = "none"\nunix_sock_ro_perms = "0777"\n' >/etc/libvirt/libvirtd.conf
cd "$SCRATCH" || exit 1
mkdir lv && ln -s /run/libvirt lv/sock
libvirtd >libvirtd.log 2>&1 &
started $!
ok "libvirtd answers" wait_for 120 v list || { tail -n 3 libvirtd.log | sed 's/^/# /'; tap_done; }
machine() { # NUMBER NAME CODE: a domain that executes these bytes, and no more
	printf "$3" >"$2.bin"
	cat >"$1.xml" <<-END
		<domain type='qemu'><name>$word-$2</name><uuid>$(uuid "$1")</uuid><memory unit='MiB'>32</memory><vcpu>1</vcpu>
		<os><type arch='aarch64' machine='virt'>hvm</type><kernel>$SCRATCH/$2.bin</kernel></os>
		<cpu mode='custom'><model>cortex-a57</model></cpu><features><gic version='2'/></features>
		<devices><emulator>/usr/bin/qemu-system-aarch64</emulator><controller type='usb' model='none'/><memballoon model='none'/></devices></domain>
	END
}
machine 1 spins '\x00\x00\x00\x14'                 # b .
machine 2 waits '\x7f\x20\x03\xd5\xff\xff\xff\x17' # wfi; b .-4

ok "ceemsd is up" ceemsd_begin run --collector.perf.hardware-events --collector.perf.software-events || tail -n 3 ceemsd-run.log | sed 's/^/# /'
like "this processor counts" "$(cat ceemsd-run.log)" "hardware events of units: CpuCycles, CpuInstr;"
adapter_begin lv run --libvirt.statistics=0 # for which QEMU would have to answer
ok "ceems-libvirt is connected" wait_for 60 grep -q 'connected, 0 domains' adapter-run.log
count() { local n=$(value "ceems_perf_$1_total" "$(uuid "$2")"); echo "${n:-0}"; } # EVENT NUMBER, of the last scrape
ok "two domains start" eval "v create 1.xml && v create 2.xml" || tail -n 3 libvirtd.log | sed 's/^/# /'
counted() { scrape && [ "$(count instructions 1)" -gt 1000000000 ] && [ "$(count instructions 2)" -gt 1000000 ]; }
ok "instructions of both are counted" wait_for 120 counted || tap_say "$(grep ceems_perf_ body)"

# ---- beside perf, from one pause of the first to the next
settled() { scrape && local now=$(count instructions 1) && [ "$now" = "$last" ] || { last=$now; return 1; }; }
v suspend "$(uuid 1)"
last='' && wait_for 60 settled
before=$(count instructions 1) cycles=$(count cpucycles 1) idle=$(count instructions 2)
perf stat -x, -o perf.out -e instructions,cycles -p "$(pgrep -f "guest=$word-spins")" -- \
	bash -c "virsh -q -c '$(uri_of lv)' resume $(uuid 1) && sleep 2 && virsh -q -c '$(uri_of lv)' suspend $(uuid 1)"
is "perf counts its QEMU from one pause to the next" "$? $(grep -cE '^[0-9]+,,(instructions|cycles),' perf.out)" "0 2"
last='' && wait_for 60 settled
of_perf() { sed -n "s/^\([0-9]*\),,$1,.*/\1/p" perf.out; }
near() { echo "# $1, $2"; [ "$2" -gt 0 ] && [ $((($1 - $2) * 200)) -lt "$2" ] && [ $((($2 - $1) * 200)) -lt "$2" ]; } # to 0.5 %
ok "its instructions are those that perf has counted" near $(($(count instructions 1) - before)) "$(of_perf instructions)"
ok "so are its cycles" near $(($(count cpucycles 1) - cycles)) "$(of_perf cycles)"
idle=$(($(count instructions 2) - idle))
echo "# the other one: $idle"
ok "the domain that waits has none of them" [ $idle -lt $(($(of_perf instructions) / 1000)) ]
ok "context switches are counted beside them" [ "$(count context_switches 1)" -gt 10 ]
# one instruction is one nanosecond here, so that what it executed since its start is its CPU time
ok "all of its instructions are its CPU time" near "$(count instructions 1)" $(($(cpu_us 1) * 1000))

# ---- the end
ok "both end" eval "v destroy $(uuid 1) && v destroy $(uuid 2)"
ok "their units, too" wait_for 60 shows ceems_compute_units libvirt 0
final() { "$BUILD/ceems_tool" spool spool | jq -s "[.[] | select(.kind == \"final\" and .unit == \"$(uuid "$1")\")] | last | .counts.$2 // 0"; }
told() { [ "$(final 1 instructions)" != 0 ] && [ "$(final 2 instructions)" != 0 ]; }
ok "both have a final report" wait_for 60 told
scrape
for n in 1 2; do is "domain $n's has the instructions and cycles that were exported last" "$(final $n instructions) $(final $n cpu_cycles)" "$(count instructions $n) $(count cpucycles $n)"; done
ok "no instruction is lost after the pause" [ "$(final 1 instructions)" -ge $((before + $(of_perf instructions) * 199 / 200)) ]
tap_done
