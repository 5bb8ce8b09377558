#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Containers of libvirt's own driver (lxc:///), beside a virtual machine of the same libvirtd: from their start to their last counters.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/libvirt.sh"
libvirt_possible
[ -x /usr/lib/libvirt/libvirt_lxc ] || skip_all "libvirt-daemon-driver-lxc is not installed"
busybox=$(command -v busybox) || skip_all "busybox is not installed"
ldd "$busybox" >/dev/null 2>&1 && skip_all "this busybox needs libraries (busybox-static)"
[ -d /sys/fs/cgroup/cpuacct ] && [ -c /dev/fuse ] || skip_all "libvirt's containers need cgroup v1 here, and /dev/fuse"
export LIBVIRT_RIG_V1=1
ok "a libvirtd of our own is up" libvirt_begin lv || tap_done
lxc_uri="lxc:///system?socket=$SCRATCH/lv/sock/libvirt-sock"
l() { timeout 60 virsh -q -c "$lxc_uri" "$@"; }
mkdir -p root/{bin,proc,sys,dev,tmp,etc,usr,run} && cp "$busybox" root/bin/busybox
container() { # NUMBER NAME COMMAND
	cat >"$1.xml" <<-END
		<domain type='lxc'><name>$2</name><uuid>$(uuid "$1")</uuid><memory unit='MiB'>64</memory><vcpu>1</vcpu>
		<os><type arch='x86_64'>exe</type><init>/bin/busybox</init><initarg>sh</initarg><initarg>-c</initarg><initarg>$3</initarg></os>
		<devices><emulator>/usr/lib/libvirt/libvirt_lxc</emulator><filesystem type='mount'><source dir='$SCRATCH/root'/><target dir='/'/></filesystem><console type='pty'/></devices></domain>
	END
}
group_of() { ls -d "/sys/fs/cgroup/cpuacct/machine/lxc-"*"$word-$1.libvirt-lxc" 2>/dev/null; }
container 1 "$word-busy" "while :; do :; done"
# until it is told to end
container 2 "$word-short" "i=0; while [ ! -e /tmp/end ]; do i=0; while [ \$i -lt 100 ]; do i=\$((i + 1)); done; /bin/busybox sleep 0.05; done"
domain 3 "$word-vm"
why=$(l create 1.xml 2>&1) && [ -n "$(group_of busy)" ] || {
	skip "containers of a real libvirtd" "libvirt cannot start one here with a control group: $(tail -n1 <<<"$why")"
	tap_done
}
l destroy "$(uuid 1)"

ebpf=()
[ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1 && ebpf=(--collector.ebpf.io-metrics)
ok "ceemsd is up" ceemsd_begin run ${ebpf[@]+"${ebpf[@]}"}
adapter_begin lv run --libvirt.uri="$lxc_uri-ro"
ok "ceems-libvirt asks both drivers" wait_for 60 eval '[ "$(grep -c "connected, 0 domains run" adapter-run.log)" = 2 ]'
ok "a container starts" l create 1.xml
ok "it is a unit" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 1)" 1
like "with the peer's labels" "$(grep "^ceems_compute_unit_cpus{.*$(uuid 1)" body)" '\{manager="libvirt",hostname="run",cgrouphostname="",uuid="'
is "its memory is its limit" "$(value ceems_compute_unit_memory_total_bytes "$(uuid 1)")" $((64 << 20))
before=$(($(cat "$(group_of busy)/cpuacct.usage") / 1000))
reached() { scrape && [ "$(cpu_us 1)" -ge "$before" ]; }
ok "its CPU time reaches that of its control group" wait_for 60 reached
ok "but is never more" [ "$(cpu_us 1)" -le $(($(cat "$(group_of busy)/cpuacct.usage") / 1000 + 2)) ]
ok "a virtual machine starts beside it" v create 3.xml
ok "they are two units" wait_for 60 shows ceems_compute_units libvirt 2
ok "the container is suspended" l suspend "$(uuid 1)"
ok "it is frozen" wait_for 60 grep -q FROZEN "/sys/fs/cgroup/freezer/machine/$(basename "$(group_of busy)")/freezer.state"
still=$(($(cat "$(group_of busy)/cpuacct.usage") / 1000))
same() { scrape && [ "$(cpu_us 1)" -ge $((still - 2)) -a "$(cpu_us 1)" -le "$still" ]; }
ok "its CPU time stands" wait_for 60 same || tap_say "$(cpu_us 1) $still"
l resume "$(uuid 1)"
if [ ${#ebpf[@]} -gt 0 ]; then
	ok "what it reads is counted by eBPF" wait_for 60 eval 'scrape; grep -q "^ceems_ebpf_read_requests_total{.*$(uuid 1)" body'
fi
last=$(($(cat "$(group_of busy)/cpuacct.usage") / 1000))
ok "it ends" l destroy "$(uuid 1)"
ended() { shows ceems_compute_units libvirt 1; }
ok "its unit ends" wait_for 60 ended
if [ ${#ebpf[@]} -gt 0 ]; then
	whole() { scrape && [ "$(cpu_us 1)" -ge "$last" ]; }
	ok "its last moment is counted" wait_for 60 whole || tap_say "$(cpu_us 1) $last"
else
	skip "its last moment is counted" "no ceems-opener, or this kernel does not let it"
fi
ok "the virtual machine goes on" v destroy "$(uuid 3)"

ok "a container that ends by itself starts" l create 2.xml
ok "it is a unit as well" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 2)" 1
touch root/tmp/end
none() { shows ceems_compute_units libvirt 0; }
ok "its unit ends with it" wait_for 60 none
is "nothing went wrong" "$(grep -c level=error ceemsd-run.log) $(grep -c -E 'level=(warn|error)' adapter-run.log)" "0 0"
tap_done
