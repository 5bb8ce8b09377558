#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Virtual machines of a real libvirtd with QEMU's emulation: from their start to their last counters.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/chain.sh"
. "$TOP/test/libvirt.sh"
libvirt_possible
run=$SCRATCH/run
export CEEMS_PATH_RUNDIR=$run # for the hook script
ok "a libvirtd of our own is up" libvirt_begin lv || tap_done

# a disk whose first sector is an endless loop: the guest is busy until its end
{ printf '\xeb\xfe'; head -c 508 /dev/zero; printf '\x55\xaa'; head -c 1048064 /dev/zero; } >loop.img
loop="<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$SCRATCH/loop.img'/><shareable/><target dev='hda' bus='ide'/></disk>"
tap=
[ ! -c /dev/net/tun ] || tap="<interface type='ethernet'><target dev='ceems$$'/><model type='e1000'/></interface>"
domain 1 "$word &lt;x&gt; \$(id) 'é' &quot;.."
domain 2 "$word-two" "$loop$tap"
domain 3 "$word-three" "$loop"
domain 4 "$word-short" "$loop"

domains_have_groups

ebpf=()
[ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1 && ebpf=(--collector.ebpf)
ok "ceemsd is up" ceemsd_begin run ${ebpf[@]+"${ebpf[@]}"}
adapter_begin lv run

ignores_pipe() { grep -q '^SigIgn.*[13579bdf]...$' "/proc/$lv_pid/status"; }
ok "a connection that libvirtd closes does not end ceems-libvirt: SIGPIPE is ignored" wait_for 60 ignores_pipe

# ---- a domain starts
ok "a domain of an odd name starts" v create 1.xml
ok "it is a unit" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 1)" 1
like "with the peer's labels" "$(grep "^ceems_compute_unit_cpus{.*$(uuid 1)" body)" '\{manager="libvirt",hostname="[^"]+",cgrouphostname="",uuid="'
is "and the guest's memory" "$(value ceems_compute_unit_memory_total_bytes "$(uuid 1)")" 67108864
before=$(used_us '')
reached() { scrape && [ "$(cpu_us 1)" -ge "${before:-0}" ] && [ "$(cpu_us 1)" -gt 0 ]; }
ok "its CPU time reaches that of its control group" wait_for 60 reached
now=$(used_us '')
ok "but is never more" [ "$(cpu_us 1)" -le $((${now:-0} + 2)) ]
energy() { scrape && [ -n "$(value ceems_compute_unit_energy_joules_total "$(uuid 1)")" ]; }
ok "it has energy" wait_for 60 energy
is "nobody is its owner by the word of its XML" "$("$BUILD/ceems-ringdump" "$run/ring" | grep step_start | jq -r '[.uid, .hints.user] | map(tostring) | join(" ")' | sort -u)" "0 null"

# ---- changes
ok "a second CPU is plugged in" v setvcpus "$(uuid 1)" 2 --live
ok "which is seen by its control group, long before the next list" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 1)" 2
echo "<memory model='dimm'><target><size unit='MiB'>128</size><node>0</node></target></memory>" >dimm.xml
ok "memory is plugged in" v attach-device "$(uuid 1)" dimm.xml --live
ok "which is seen by libvirt's event" wait_for 60 shows ceems_compute_unit_memory_total_bytes "$(uuid 1)" $((192 << 20))
ok "a suspended domain stays" v suspend "$(uuid 1)"
scrape
is "as it is" "$(value ceems_compute_units libvirt) $(value ceems_steps_started_total libvirt)" "1 1"
v resume "$(uuid 1)"

# ---- hard reboot: another group, counters from 0, the same unit
scrape
first=$(cpu_us 1)
ok "a hard reboot" v destroy "$(uuid 1)"
v create 1.xml
ok "is another step of it" wait_for 60 shows ceems_steps_started_total libvirt 2
more() { scrape && [ "$(cpu_us 1)" -gt "$first" ]; }
ok "CPU time goes on" wait_for 60 more
is "as of one unit" "$(value ceems_units_started_total libvirt) $(value ceems_compute_units libvirt)" "1 1"

# ---- libvirtd is restarted; what starts meanwhile is found
kill "$(libvirtd_pid lv)"
gone_and_back() { grep -q 'the connection broke' adapter-run.log && v list; }
ok "libvirtd goes and comes back" wait_for 60 gone_and_back
ok "a second domain starts" v create 2.xml
ok "it is seen, and the first goes on" wait_for 90 shows ceems_compute_units libvirt 2
is "without a step more" "$(value ceems_steps_started_total libvirt)" 3

# ---- the last counters
busy() { scrape && [ "$(cpu_us "$1")" -gt 2000000 ]; }
ok "the guest is busy" wait_for 60 busy 2
# ---- what libvirt knows of the guest
guest() { scrape && [ "$(value "ceems_compute_unit_guest_$1" "$(uuid 2)")" = "$2" ]; }
stat_of() { v domstats --raw "$(uuid 2)" | sed -n "s/^ *$1=//p"; }
ok "the guest's memory is beside the host's" wait_for 60 guest memory_balloon_bytes 67108864
ok "it has read from its disk" [ "$(stat_of block.0.rd.bytes)" -ge 512 ]
ok "what it has read is libvirt's number" wait_for 60 guest disk_read_bytes_total "$(stat_of block.0.rd.bytes)"
like "by the guest's name of the disk" "$(grep '^ceems_compute_unit_guest_disk_reads_total{' body)" ',device="hda"} [1-9]'
if [ -n "$tap" ]; then
	ok "so are packets of its interface" wait_for 60 eval 'guest network_received_packets_total "$(stat_of net.0.rx.pkts)"'
else
	skip "so are packets of its interface" "no /dev/net/tun"
fi

touch lv/hooks/on
hooked() { [ -e lv/hooks/xml ]; }
(
	wait_for 60 hooked || exit
	used_us two >two_us
	"$lv" hook "$word-two" stopped end - <lv/hooks/xml >hook.log 2>&1
	echo $? >hook.status
	rm -f lv/hooks/xml
) &
hook_pid=$!
ok "the second domain ends" v destroy "$(uuid 2)"
wait $hook_pid
is "the hook never fails" "$(cat hook.status) $(cat hook.log)" "0 "
rm -f lv/hooks/on
ended() { shows ceems_compute_units libvirt 1; }
ok "it is over" wait_for 60 ended
exact() { scrape && [ "$(cpu_us 2)" = "$(cat two_us)" ]; }
ok "its CPU time is its group's to the microsecond" wait_for 30 exact || echo "# $(cpu_us 2) of $(cat two_us)"
is "nothing is kept of it" "$(ls "$run/libvirt")" "$(uuid 1)"

# ---- the same by the kernel program, without a hook script
if [ ${#ebpf[@]} -gt 0 ]; then
	ok "a third domain starts" v create 3.xml
	ok "it is busy" wait_for 60 busy 3
	touch lv/hooks/on # to read what it is to be, and no more
	(
		wait_for 60 hooked || exit
		used_us three >last_us
		rm -f lv/hooks/xml
	) &
	hook_pid=$!
	ok "it ends" v destroy "$(uuid 3)"
	wait $hook_pid
	rm -f lv/hooks/on
	by_kernel() { scrape && [ "$(cpu_us 3)" = "$(cat last_us)" ]; }
	ok "its CPU time is exact by the kernel program" wait_for 30 by_kernel || echo "# $(cpu_us 3) of $(cat last_us)"
	# ---- one that ends as soon as it has started
	touch lv/hooks/on
	(
		wait_for 60 hooked || exit
		used_us short >short_us
		cat "$(groups_of short | grep -E '/memory/|^/sys/fs/cgroup/machine/')"/memory.{max_usage_in_bytes,peak} >short_peak 2>/dev/null
		rm -f lv/hooks/xml
	) &
	hook_pid=$!
	v create 4.xml
	ok "a domain that has just started ends" v destroy "$(uuid 4)"
	wait $hook_pid
	rm -f lv/hooks/on
	short_exact() { scrape && [ "$(cpu_us 4)" = "$(cat short_us)" ] && [ "$(value ceems_compute_unit_memory_peak_bytes "$(uuid 4)")" = "$(cat short_peak)" ]; }
	ok "its CPU time and its peak of memory are its group's" wait_for 30 short_exact || tap_say "$(cpu_us 4) of $(cat short_us)" "$(value ceems_compute_unit_memory_peak_bytes "$(uuid 4)") of $(cat short_peak)"
else
	skip "its CPU time and its peak of memory are its group's" "no ceems-opener, or this kernel does not let it"
	skip "its CPU time is exact by the kernel program" "no ceems-opener, or this kernel does not let it"
fi

# ---- a process that is killed
kill -9 "$(pgrep -f "guest=$word <x>" | head -1)"
none() { shows ceems_compute_units libvirt 0; }
ok "a QEMU that is killed ends its unit" wait_for 60 none
seen=$(value ceems_units_started_total libvirt)

# ---- those that are gone when their first event is read
kill -STOP $lv_pid
churn=()
for i in {21..28}; do
	domain $i "$word-churn$i"
	(v create $i.xml && v destroy "$(uuid $i)") & churn+=($!)
done
wait "${churn[@]}"
kill -CONT $lv_pid
v create 2.xml
ok "a domain that starts after eight that ended before their events were read is seen" wait_for 90 shows ceems_compute_unit_cpus "$(uuid 2)" 1
is "of the eight none is left, or was ever taken for a unit" "$(value ceems_compute_units libvirt) $(ls "$run/libvirt") $(($(value ceems_units_started_total libvirt) - seen))" "1 $(uuid 2) 0"
v destroy "$(uuid 2)"
ok "nothing runs any more" wait_for 60 none

# ---- energy: that of all VMs, of the system and of what idled is the node's, to the microjoule
scrape
ok "all energy of the node is of its VMs, of the system or idle" energy_adds_up
ok "VMs have some of it" [ "$(joules compute_unit_energy)" -gt 1000000 ]

# ---- records: ceemsd, courier, aggregator, cacct
chain_begin >why 2>&1
if [ ! -s why ]; then
	ok "a domain's final report reaches the aggregator" wait_for 120 chain_has "$(uuid 2)" || tail -n 3 courier.log agg.log | sed 's/^/# /'
	is "its record has the CPU time of its group, what it had used before it was found included" "$(chain_cpu_us "$(uuid 2)")" "$(cat two_us)"
	is "of what a domain has used since its start nothing is from before" "$(sql "SELECT coalesce(before_cpu_user_ns + before_cpu_system_ns, 0) FROM unit_node WHERE uuid = '$(uuid 1)'")" 0
	is "one unit for two starts" "$(sql "SELECT count(*), bool_and(uid IS NULL) FROM unit_node WHERE uuid = '$(uuid 1)'")" "1|t"
	[ ${#ebpf[@]} = 0 ] || { ok "so does that of the one that had just started" wait_for 120 chain_has "$(uuid 4)"; is "it has all, with energy" "$(chain_cpu_us "$(uuid 4)") $(sql "SELECT memory_peak_bytes, host_uj > 0 FROM unit_node WHERE uuid = '$(uuid 4)'")" "$(cat short_us) $(cat short_peak)|t"; }
	ok "with energy" [ "$(sql "SELECT coalesce(max(host_uj), 0) > 0 FROM unit_node WHERE uuid = '$(uuid 2)'")" = t ]
	ok "an operator sees them with cacct" wait_for 60 eval "[ \"\$(chain_cacct | grep -cE '$(uuid 1)|$(uuid 2)')\" = 2 ]" || tail -n 3 cacct.err | sed 's/^/# /'
	is "nobody else does" "$(chain_other_user)" ""
else
	skip "a domain's final report reaches the aggregator" "$(head -n1 why)"
fi

# ---- a monitor hangs, then libvirt
kill -HUP $lv_pid
kill $lv_pid
wait_for 30 is_gone $lv_pid
is "told to end, ceems-libvirt says so" "$(tail -n1 adapter-run.log | grep -o 'msg=.*')" 'msg="ends on SIGTERM"'
again() { # WORD: ceems-libvirt once more, which says that it has found so many domains
	: >adapter-run.log
	adapter_begin lv run --libvirt.hang=2s
	wait_for 30 grep -q "connected, $1 domains" adapter-run.log
}
again 0
ok "a domain starts again" v create 3.xml
qemu=$(pgrep -f "guest=$word-three" | head -1)
kill -STOP "$qemu"
ok "its monitor hangs: ceems-libvirt starts anew" wait_for 60 is_gone $lv_pid
ok "it finds the domain" again 1
ok "another domain starts meanwhile" v create 2.xml
ok "it is seen" wait_for 60 shows ceems_compute_unit_cpus "$(uuid 2)" 1
sleep 3
ok "libvirt leaves the hanging one out of its statistics: ceems-libvirt goes on" kill -0 $lv_pid
v destroy "$(uuid 3)"
v destroy "$(uuid 2)"
kill $lv_pid 2>/dev/null
wait_for 30 is_gone $lv_pid
again 0
daemon=$(libvirtd_pid lv)
kill -STOP "$daemon"
ok "a libvirtd that hangs ends ceems-libvirt, for systemd to start again" wait_for 60 is_gone $lv_pid
wait $lv_pid
is "with a word" "$? $(grep -c 'libvirt has not answered for [0-9]* s: starting anew' adapter-run.log)" "1 1"
kill -CONT "$daemon"
curl -sf -o /dev/null "http://127.0.0.1:$port/health"
is "ceemsd noticed nothing" "$? $(grep -c 'level=error' ceemsd-run.log)" "0 0"
tap_done
