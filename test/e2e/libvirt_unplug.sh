#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# vCPUs that are plugged in and out of a virtual machine of a real libvirtd. QEMU's emulation of x86 never lets go of a vCPU;
# that of POWER (pseries) does, and asks its guest only for those which it has begun to use.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/libvirt.sh"
libvirt_possible
command -v qemu-system-ppc64 >/dev/null || skip_all "qemu-system-ppc64 is not installed"
ok "a libvirtd of our own is up" libvirt_begin lv || tap_done
domains_have_groups
cat >1.xml <<-END
	<domain type='qemu'><name>$word-power</name><uuid>$(uuid 1)</uuid><memory unit='MiB'>256</memory>
	<vcpu placement='static' current='1'>4</vcpu><os><type arch='ppc64' machine='pseries'>hvm</type></os>
	<devices><emulator>$(command -v qemu-system-ppc64)</emulator></devices></domain>
END
ok "ceemsd is up" ceemsd_begin run
adapter_begin lv run # which lists domains every 30 min
ok "ceems-libvirt is connected" wait_for 60 grep -q 'connected, 0 domains' adapter-run.log
ok "a domain of POWER starts" v create 1.xml
has_cpus() { shows ceems_compute_unit_cpus "$(uuid 1)" "$1"; }
libvirts() { v vcpucount "$(uuid 1)" --live --active; }
groups() { find /sys/fs/cgroup/*/machine /sys/fs/cgroup/machine -path "*$word-power*/vcpu*" -type d 2>/dev/null | sed 's,.*/,,' | sort -u | wc -l; }
ok "a domain of POWER has one CPU" wait_for 60 has_cpus 1
least=0
for cpus in 3 1; do # and no more: QEMU 7.2 crashes when a CPU comes back
	ok "libvirt gives it $cpus CPUs" v setvcpus "$(uuid 1)" $cpus --live
	ok "ceemsd shows $cpus CPUs" wait_for 60 has_cpus $cpus
	is "libvirt and the control group have $cpus" "$(libvirts) $(groups)" "$cpus $cpus"
	ok "CPU time does not fall at $cpus CPUs" [ "$(cpu_us 1)" -ge "$least" ]
	least=$(cpu_us 1)
done
is "all of it is one step of one unit" "$(value ceems_units_started_total libvirt) $(value ceems_steps_started_total libvirt)" "1 1"
used=$(used_us power)
reached() { scrape && [ "$(cpu_us 1)" -ge "$used" ]; }
ok "CPU time of vCPUs that have left remains the unit's" wait_for 60 reached || tap_say "$(cpu_us 1) of $used"
ok "the domain ends" v destroy "$(uuid 1)"
ok "the unit ends" wait_for 60 shows ceems_compute_units libvirt 0
tap_done
