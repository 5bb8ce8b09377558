#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A libvirtd that is replaced by a newer release's, with a newer QEMU, while a virtual machine runs: Debian 13's for Debian 12's.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/libvirt.sh"
libvirt_possible
[ "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" != trixie ] || skip_all "this is Debian 13"
newer=$("$TOP/test/vm/sysroot" make amd64-libvirt) || skip_all "$newer"
ok "a libvirtd of our own is up" libvirt_begin lv || tap_done
domains_have_groups
{ printf '\xeb\xfe'; head -c 508 /dev/zero; printf '\x55\xaa'; head -c 1048064 /dev/zero; } >loop.img
loop="<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$SCRATCH/loop.img'/><shareable/><target dev='hda' bus='ide'/></disk>"
domain 1 "$word-old" "$loop"
domain 2 "$word-new" "$loop"
ebpf=()
[ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1 && ebpf=(--collector.ebpf)
ok "ceemsd is up" ceemsd_begin run ${ebpf[@]+"${ebpf[@]}"}
adapter_begin lv run
ok "a domain starts" v create 1.xml
ok "the domain is a unit" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 1)" 1

version() { v version --daemon | sed -n 's/^Running against daemon: //p'; }
old=$(version)
ln -s "$newer/usr" lv/usr
kill "$(libvirtd_pid lv)"
upgraded() { [ "$(version)" != "$old" ] && [ -n "$(version)" ]; }
ok "libvirtd is upgraded" wait_for 90 upgraded
echo "# from $old to $(version)"
ok "ceems-libvirt has found the domain again" wait_for 60 grep -q 'connected, 1 domains' adapter-run.log || sed 's/^/# /' adapter-run.log
scrape
first=$(cpu_us 1)
more() { scrape && [ "$(cpu_us 1)" -gt $((first + 200000)) ]; }
ok "the CPU time of the old domain goes on" wait_for 60 more
is "the domain is the unit and the step that it was" "$(value ceems_units_started_total libvirt) $(value ceems_steps_started_total libvirt)" "1 1"
ok "a domain starts with the newer QEMU" v create 2.xml
release() { v qemu-monitor-command "$(uuid "$1")" --hmp 'info version' | grep -oE '^[0-9]+\.[0-9]+'; }
ok "it is a newer QEMU than that of the old domain" [ "$(printf '%s\n' "$(release 1)" "$(release 2)" | sort -V | tail -n1)" != "$(release 1)" ]
echo "# from QEMU $(release 1) to $(release 2)"
ok "the new domain is a unit" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 2)" 1
ok "a CPU is plugged into it" v setvcpus "$(uuid 2)" 2 --live
ok "which is seen" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 2)" 2
guest() { scrape && [ "$(value ceems_compute_unit_guest_memory_balloon_bytes "$(uuid 2)")" = 67108864 ]; }
ok "the newer libvirtd's statistics of it are exported" wait_for 60 guest

touch lv/hooks/on
for n in old new; do
	[ $n = old ] && i=1 || i=2
	( wait_for 60 test -e lv/hooks/xml && used_us $n >$n.us; rm -f lv/hooks/xml ) &
	hook_pid=$!
	ok "the $n domain ends" v destroy "$(uuid $i)"
	wait $hook_pid
	if [ ${#ebpf[@]} -gt 0 ]; then
		exact() { scrape && [ "$(cpu_us $i)" = "$(cat $n.us)" ]; }
		ok "the $n domain's CPU time is its group's" wait_for 30 exact || tap_say "$(cpu_us $i) of $(cat $n.us)"
	else
		skip "the $n domain's CPU time is its group's" "no ceems-opener, or this kernel does not let it"
	fi
done
ok "both units have ended" wait_for 60 shows ceems_compute_units libvirt 0
is "nothing was complained of" "$(grep -c 'level=error' ceemsd-run.log) $(grep level=warn adapter-run.log | grep -cv 'the connection broke\|Failed to connect\|Connection re')" "0 0"
tap_done
