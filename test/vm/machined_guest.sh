#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_machined.sh: a libvirtd beside systemd-machined, on cgroup v2.
mkdir -p /var/tmp
export TMPDIR=/var/tmp # systemd has a /tmp of its own
. "$(dirname "$0")/../tap.sh"
if [ "${1:-}" != inside ]; then
	. "$TOP/test/vm/init.sh"
	init_prepare
	for f in passwd group; do
		grep -q '^libvirt-qemu:' /etc/$f || { [ $f = group ] && echo libvirt-qemu:x:64055: || echo libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin; } >>/etc/$f
	done
	grep -q '^kvm:' /etc/group || echo kvm:x:64056: >>/etc/group
	mkdir -p /etc/libvirt /var/lib/libvirt/qemu /var/cache/libvirt
	printf 'namespaces = [ ]\nuser = "root"\ngroup = "root"\nremember_owner = 0\nstdio_handler = "file"\nsecurity_driver = "none"\n' >/etc/libvirt/qemu.conf
	printf 'auth_unix_ro = "none"\nauth_unix_rw = "none"\nunix_sock_ro_perms = "0777"\n' >/etc/libvirt/libvirtd.conf
	init_start
	ok "D-Bus is there" inside systemctl start dbus.service
	ok "machined is there" inside systemctl start systemd-machined.service
	ok "libvirtd is a service" inside systemd-run -q --unit=lv -p Delegate=yes -p StandardError=append:/var/log/ceems/lv libvirtd
	inside env PATH="$PATH" TMPDIR=/var/tmp TOP="$TOP" BUILD="$BUILD" CEEMS_VM=1 bash "$TOP/test/vm/machined_guest.sh" inside | grep -v "^1\.\."
	tap_done
fi
. "$TOP/test/libvirt.sh"
cd "$SCRATCH" || exit 1
mkdir -p lv /run/ceems && ln -s /run/libvirt lv/sock && ln -s /run/ceems run
ok "libvirtd answers" wait_for 60 v list || { tail -n 3 /var/log/ceems/lv | sed 's/^/# /'; tap_done; }
domain 1 "$word-a.b" # a dot, and a dash that systemd escapes
ebpf=()
[ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1 && ebpf=(--collector.ebpf.io-metrics --collector.perf.software-events)
ok "ceemsd is up" ceemsd_begin run --collector.libvirt.psi-metrics --collector.libvirt.swap-memory-metrics --collector.libvirt.blkio-metrics ${ebpf[@]+"${ebpf[@]}"}
adapter_begin lv run
ok "ceems-libvirt is connected" wait_for 60 grep -q 'connected, 0 domains' adapter-run.log
ok "a domain starts" v create 1.xml || tail -n 3 /var/log/ceems/lv | sed 's/^/# /'
group=$(find /sys/fs/cgroup -maxdepth 2 -type d -path '*/machine.slice/machine-qemu*.scope')
like "machined has made its group" "$group" '/machine\.slice/machine-qemu\\x2d1\\x2d.*\.scope$'
ok "it is a unit" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 1)" 1 || sed 's/^/# /' adapter-run.log
is "in that group" "$("$BUILD/ceems-ringdump" run/ring | grep step_start | grep -oF "$(basename "$group" | sed 's/\\/\\\\/g')" | sort -u | wc -l)" 1
used() { sed -n 's/^usage_usec //p' "$group/cpu.stat"; }
before=$(used)
reached() { scrape && [ "$(cpu_us 1)" -ge "$before" ]; }
ok "its CPU time reaches that of its group" wait_for 60 reached
ok "but is never more" [ "$(cpu_us 1)" -le $(($(used) + 2)) ]
first=$(sed -n 's/^some .*total=//p' "$group/cpu.pressure")
scrape
shown=$(value ceems_compute_unit_cpu_psi_some_seconds "$(uuid 1)" | awk '{ printf "%d\n", $1 * 1e6 + 0.5 }')
ok "its pressure is the kernel's number" [ "${shown:-0}" -ge "$first" -a "${shown:-0}" -le "$(sed -n 's/^some .*total=//p' "$group/cpu.pressure")" ]
is "its swap is that of its group" "$(value ceems_compute_unit_memsw_used_bytes "$(uuid 1)")" "$(cat "$group/memory.swap.current")"
if [ ${#ebpf[@]} -gt 0 ]; then
	reads() { scrape && [ "$(awk -v u="$(uuid 1)" 'index($1, "ceems_ebpf_read_requests_total{") == 1 && index($1, u) { s += $2 } END { print s + 0 }' body)" -gt 0 ]; }
	ok "what it reads is counted by eBPF" wait_for 60 reads
	faults() { scrape && [ "$(value ceems_perf_page_faults_total "$(uuid 1)")" -gt 0 ]; }
	ok "its page faults are counted" wait_for 60 faults
fi
ok "a second CPU is plugged in" v setvcpus "$(uuid 1)" 2 --live
ok "which is seen by its control group" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 1)" 2
# a modular virtqemud has another socket: the same daemon under that name
kill $lv_pid
wait_for 60 is_gone $lv_pid
ln -s libvirt-sock-ro /run/libvirt/virtqemud-sock-ro
: >adapter-run.log
# and now as a service, with all that its unit forbids
units=/run/systemd/system
mkdir -p $units/ceems-libvirt.service.d
cp "$BUILD/ceems-libvirt" /usr/sbin/ # its unit hides /home, /root and /var/tmp, where a clone may be
sed 's,@sbindir@,/usr/sbin,' "$TOP/contrib/packaging/systemd/ceems-libvirt.service.in" >$units/ceems-libvirt.service
cat >$units/ceems-libvirt.service.d/lab.conf <<END
[Service]
Environment=CEEMS_LIBVIRT_URI=qemu:///system?mode=direct
StandardError=append:$SCRATCH/adapter-run.log
END
systemctl daemon-reload
ok "ceems-libvirt starts as it is packaged" systemctl start ceems-libvirt
ok "virtqemud's socket is found inside its fence" wait_for 60 grep -q 'connected, 1 domains' adapter-run.log || sed 's/^/# /' adapter-run.log
systemctl kill --signal=KILL --kill-whom=main ceems-libvirt
again() { [ "$(grep -c 'connected, 1 domains' adapter-run.log) $(systemctl show -P NRestarts ceems-libvirt)" = "2 1" ]; }
ok "killed without a word, it is started again" wait_for 60 again || sed 's/^/# /' adapter-run.log
is "the domain is the unit that it was" "$(scrape; value ceems_compute_units libvirt) $(value ceems_steps_started_total libvirt)" "1 1"
last=$(used)
ok "it ends" v destroy "$(uuid 1)"
none() { shows ceems_compute_units libvirt 0; }
ok "its unit has ended" wait_for 60 none
last_counted() { scrape && [ "$(cpu_us 1)" -ge "$last" ]; }
[ ${#ebpf[@]} = 0 ] || ok "its last moment is counted" wait_for 60 last_counted || echo "# $(cpu_us 1) of $last"
tap_done
