#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel counts for virtual machines of a real libvirtd, flag by flag of CEEMS' libvirt collector: eBPF, software events,
# swap, pressure, block devices. Each number is compared with one of libvirt's, the kernel's, or of who received the bytes.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/chain.sh"
. "$TOP/test/libvirt.sh"
libvirt_possible
for p in as ld; do command -v $p >/dev/null || skip_all "$p is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here"
why=$("$BUILD/ceems-opener" 2>&1 >/dev/null) || skip_all "this kernel does not let its programs in: $(tail -n1 <<<"$why")"
ok "a libvirtd of our own is up" libvirt_begin lv || tap_done
domains_have_groups

guest_image disk.img
cp disk.img direct.img
disk() { echo "<disk type='file' device='disk'><driver name='qemu' type='raw' cache='$2'/><source file='$SCRATCH/$1'/><target dev='hda' bus='ide'/></disk>"; }
serial="<serial type='tcp'><source mode='bind' host='127.0.0.1' service='4555'/><protocol type='raw'/><target port='0'/></serial>"
tap=
[ ! -c /dev/net/tun ] || tap="<interface type='ethernet'><target dev='ceems$$'/><model type='e1000'/></interface>"
domain 1 "$word-one" "$(disk disk.img writethrough)$serial$tap"
domain 2 "$word-two" "$(disk direct.img none)"

profiles=()
if [ -x "$BUILD/ceems-profiler" ]; then
	store=$(free_port)
	echo 200 >control
	: >pushed
	python3 "$TOP/test/fake/push_host.py" "$store" control pushed >host.log 2>&1 </dev/null &
	started $!
	wait_for 30 grep -q ready host.log
	profiles=(--profiling.policy=always --profiling.interval=2s --profiles.spool="$SCRATCH/profiles" --profiles.url="http://127.0.0.1:$store")
fi
ok "ceemsd is up" ceemsd_begin run "${profiles[@]}" --collector.libvirt.swap-memory-metrics --collector.libvirt.psi-metrics --collector.libvirt.blkio-metrics \
	--collector.ebpf.io-metrics --collector.ebpf.network-metrics --collector.perf.software-events
adapter_begin lv run
ok "a domain starts" v create 1.xml
nsenter -n -t "$(libvirtd_pid lv)" bash -c 'exec cat </dev/tcp/127.0.0.1/4555' >received 2>received.log &
started $!
of_unit() { grep "^$1{.*uuid=\"$(uuid "${2:-1}")\"" body; }                       # METRIC [NUMBER]
sum() { of_unit "$@" | awk '{ s += $NF } END { printf "%d\n", s }'; }            # over all labels
above() { scrape && [ "$(sum "$1" "${3:-1}")" -gt "$2" ]; }                      # METRIC VALUE [NUMBER]
stat_of() { v domstats --raw "$(uuid "$1")" | sed -n "s/^ *$2=//p"; }            # NUMBER NAME

# ---- eBPF
ok "what its disk writes is counted by eBPF" wait_for 60 above ceems_ebpf_write_bytes_total 20000
[ -z "$tap" ] || nsenter -n -t "$(libvirtd_pid lv)" ping -6 -q -c 3 -I "ceems$$" ff02::1 >/dev/null 2>&1 # to the guest
ok "a domain is suspended" v suspend "$(uuid 1)"
same_written() { scrape && [ "$(sum ceems_ebpf_write_bytes_total)" = "$(stat_of 1 block.0.wr.bytes)" ]; }
ok "its written bytes by eBPF are those that libvirt says its disk wrote" wait_for 60 same_written || tap_say "$(of_unit ceems_ebpf_write_bytes_total)" "$(stat_of 1 block.0.wr.bytes)"
ok "it has read its disk at least once for each write" [ "$(sum ceems_ebpf_read_requests_total)" -ge "$(stat_of 1 block.0.wr.reqs)" ]
same_sent() { scrape && [ "$(sum ceems_ebpf_egress_bytes_total)" = "$(stat -c %s received)" ]; }
ok "its sent bytes by eBPF are those that came out of its serial port's connection" wait_for 60 same_sent || tap_say "$(of_unit ceems_ebpf_egress_bytes_total)" "$(stat -c %s received)"
ok "they are some" [ "$(sum ceems_ebpf_egress_bytes_total)" -ge 20 ]
if [ -n "$tap" ]; then
	guest() { scrape && [ "$(sum ceems_compute_unit_guest_network_received_packets_total)" = "$(stat_of 1 net.0.rx.pkts)" ]; }
	ok "packets that its interface receives are those that libvirt counts" wait_for 60 guest
	ok "it is some" [ "$(sum ceems_compute_unit_guest_network_received_packets_total)" -ge 1 ]
else
	skip "packets that its interface receives are those that libvirt counts" "no /dev/net/tun"
fi
guest_wrote() { scrape && [ "$(sum ceems_compute_unit_guest_disk_written_bytes_total)" = "$(stat_of 1 block.0.wr.bytes)" ]; }
ok "beside them is what libvirt says of its disk" wait_for 60 guest_wrote
v resume "$(uuid 1)"

# ---- software events
ok "its page faults are counted" wait_for 60 above ceems_perf_page_faults_total 100
ok "so are its context switches" wait_for 60 above ceems_perf_context_switches_total 100

# ---- profiles
if grep -q '^ceems_profiler_rate_hertz{.*} [1-9]' body; then
	profiled() { [ -n "$(jq -r --arg u "$(uuid 1)" 'select(.labels.uuid == $u and .labels.manager == "libvirt") | .stacks[].frames[]' pushed)" ]; }
	ok "its profile says where its CPU time goes" wait_for 60 profiled || tail -n 3 courier.log ceemsd-run.log | sed 's/^/# /'
else
	skip "its profile says where its CPU time goes" "this kernel lets no profiler in: $(grep -m1 -o 'profile[^"]*' ceemsd-run.log)"
fi

# ---- the control group's own
file_of() { find /sys/fs/cgroup -path "*/machine/qemu-*$word-one.*/$1" -not -path '*/vcpu*' -not -path '*/emulator/*' | head -1; } # NAME
if [ -n "$(file_of memory.memsw.usage_in_bytes)$(file_of memory.swap.current)" ]; then
	scrape
	ok "its swap is exported" [ -n "$(of_unit ceems_compute_unit_memsw_used_bytes)" ]
	ok "with its limit" [ "$(sum ceems_compute_unit_memsw_total_bytes)" -gt 0 ]
else
	skip "its swap is exported" "this kernel has no swap accounting"
fi
if [ -n "$(file_of cpu.pressure)" ]; then
	some_us() { sed -n 's/^some .*total=//p' "$(file_of cpu.pressure)"; }
	first=$(some_us)
	scrape
	shown=$(of_unit ceems_compute_unit_cpu_psi_some_seconds | awk '{ printf "%d\n", $NF * 1e6 + 0.5 }')
	ok "its pressure is the kernel's number" [ "${shown:-0}" -ge "$first" -a "${shown:-0}" -le "$(some_us)" ] || tap_say "$first $shown $(some_us)"
	is "of CPU, memory and IO" "$(grep "^ceems_compute_unit_.*_psi_seconds{.*$(uuid 1)" body | sed 's/{.*//' | sort -u | tr '\n' ' ')" \
		"ceems_compute_unit_cpu_psi_seconds ceems_compute_unit_io_psi_seconds ceems_compute_unit_memory_psi_seconds "
else
	skip "its pressure is the kernel's number" "this kernel has none of control groups"
fi

ok "a domain that writes past the page cache starts" v create 2.xml
# since Linux 6.11 v1 counts nothing on a device before somebody limits it
device=$(findmnt -no MAJ:MIN -T .)
for f in "/sys/fs/cgroup/blkio/machine/"qemu-*"$word-two."*/blkio.throttle.{read,write}_bps_device; do echo "$device 1000000000" >"$f"; done 2>/dev/null
wrote() { [ "$(stat_of 2 block.0.wr.reqs)" -ge 20 ]; }
ok "it writes" wait_for 60 wrote
v suspend "$(uuid 2)"
device_bytes() { # as the kernel counts them, of one operation
	local f
	for f in "/sys/fs/cgroup/blkio/machine/"qemu-*"$word-two."*/blkio.throttle.io_service_bytes /sys/fs/cgroup/machine/qemu-*"$word-two."*/io.stat; do
		[ ! -e "$f" ] || awk -v v1="$1" -v v2="$2" '$2 == v1 { s += $3 } { for (i = 2; i <= NF; i++) if (index($i, v2 "=") == 1) s += substr($i, length(v2) + 2) } END { printf "%d\n", s }' "$f"
	done
}
if [ "$(device_bytes Write wbytes)" -gt 0 ]; then
	same_device() { scrape && [ "$(sum ceems_compute_unit_blkio_write_total_bytes 2)" = "$(device_bytes Write wbytes)" ]; }
	ok "what it writes to block devices is the kernel's number" wait_for 60 same_device || tap_say "$(of_unit ceems_compute_unit_blkio_write_total_bytes 2)" "$(device_bytes Write wbytes)"
	same_device() { scrape && [ "$(sum ceems_compute_unit_blkio_read_total_bytes 2)" = "$(device_bytes Read rbytes)" ]; }
	ok "so is what it reads from them" wait_for 60 same_device
else
	skip "what it writes to block devices is the kernel's number" "this folder is on none that the kernel counts by control group"
fi

# ---- records
v suspend "$(uuid 1)"
ok "all that was written is counted before its end" wait_for 60 same_written
written=$(stat_of 1 block.0.wr.bytes)
v destroy "$(uuid 1)"
v destroy "$(uuid 2)"
none() { shows ceems_compute_units libvirt 0; }
ok "both have ended" wait_for 60 none
scrape
# QEMU writes a line into its log when it is told to end
last=$(sum ceems_ebpf_write_bytes_total)
ok "the last count, of what was written up to the end, stays" [ "$last" -ge "$written" -a "$last" -le $((written + 4096)) ] || tap_say "$last $written"
ok "threads that have ended are in the events" [ "$(sum ceems_perf_context_switches_total)" -gt 100 ]
chain_begin >why 2>&1
if [ ! -s why ]; then
	ok "its final report reaches the aggregator" wait_for 120 chain_has "$(uuid 1)" || tail -n 3 courier.log agg.log | sed 's/^/# /'
	is "with what the kernel counted" "$(sql "SELECT c.counts->>'write_bytes' FROM unit_node JOIN unit_counts c USING (instance) WHERE uuid = '$(uuid 1)'")" "$last"
else
	skip "its final report reaches the aggregator" "$(head -n1 why)"
fi
tap_done
