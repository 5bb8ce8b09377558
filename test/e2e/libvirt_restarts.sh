#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Virtual machines of a real libvirtd that run while ceemsd, ceems-libvirt and libvirtd are killed, alone, together and in any
# order, while the node's clock leaps by an hour and a day, and that get another name: one unit each, with what its groups counted.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/chain.sh"
. "$TOP/test/clock_off.sh"
. "$TOP/test/libvirt.sh"
libvirt_possible
. "$TOP/test/restarts.sh"
manager=libvirt units="1 2"
ok "a libvirtd of our own is up" libvirt_begin lv || tap_done
domains_have_groups
{ printf '\xeb\xfe'; head -c 508 /dev/zero; printf '\x55\xaa'; head -c 1048064 /dev/zero; } >loop.img
domain 1 "$word-busy" "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='$SCRATCH/loop.img'/><target dev='hda' bus='ide'/></disk>"
domain 2 "$word-quiet"

ebpf=()
[ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1 && ebpf=(--collector.ebpf)
port=$(free_port) || exit 1
start_ceemsd() {
	"${leaping[@]}" "$ceemsd" --web.listen-address="127.0.0.1:$port" --path.rundir="$SCRATCH/run" --collector.libvirt --no-collector.slurm --energy.interval=1s \
		--security.drop-privileges=false --unit.linger=10m --reports.enabled --reports.interval=2s \
		--reports.spool="$SCRATCH/spool" --cluster=cloud ${ebpf[@]+"${ebpf[@]}"} >>ceemsd.log 2>&1 </dev/null &
	ceemsd_pid=$!
	started $ceemsd_pid
}
start_ceems_libvirt() {
	"${leaping[@]}" "$lv" --libvirt.uri="$(uri_of lv)-ro" --libvirt.run-dir="$SCRATCH/lv/sock" --path.rundir="$SCRATCH/run" --libvirt.refresh=1s >>adapter.log 2>&1 </dev/null &
	lv_pid=$!
	started $lv_pid
}
# libvirtd comes back by itself
kill_program() {
	case $1 in
	ceemsd) kill9 $ceemsd_pid ;;
	ceems-libvirt) kill9 $lv_pid ;;
	libvirtd) kill -9 "$(libvirtd_pid lv)" ;;
	esac
}
start_program() { case $1 in ceemsd) start_ceemsd ;; ceems-libvirt) start_ceems_libvirt ;; esac; }
say_why() { tail -qn 3 adapter.log ceemsd.log; }
declare -A earlier=([1]=0 [2]=0) names=([1]=busy [2]=quiet) # what its groups had before this one
group_us() { echo $(($(used_us "${names[$1]}") + ${earlier[$1]})); }
mkdir run
start_ceemsd
start_ceems_libvirt
began=$(date +%s)
ok "domains start" v create 1.xml
v create 2.xml
has_units "two domains are two units" "2 2 0"
goes_on "nothing happens" "2 2 0"
kill_and_start ceems-libvirt
goes_on "ceems-libvirt is killed" "2 2 0"
kill_and_start ceemsd
goes_on "ceemsd is killed" "2 2 0"
clock_file off 86400
goes_on "the clock leaps by a day" "2 2 0"
kill_and_start libvirtd
answers() { v list; }
wait_for 60 answers
goes_on "libvirtd is killed" "2 2 0"
clock_file off -3600
kill_and_start ceemsd ceems-libvirt
goes_on "ceemsd and ceems-libvirt are killed while the clock is an hour behind" "2 2 0"
clock_file off 0
kill_and_start ceems-libvirt libvirtd ceemsd
wait_for 60 answers
goes_on "all three are killed" "2 2 0"

# ---- another name, which libvirt gives only to one that does not run
wait_for 60 has_its_groups
ok "a domain is kept" v define 2.xml
kill9 $lv_pid # so that nobody reads the group once more but the kernel, or the daemon
ok "it is stopped" v destroy "$(uuid 2)"
start_ceems_libvirt
has_units "which is found" "1 2 1"
scrape
earlier[2]=$(cpu_us 2)
ok "it gets another name" v domrename "$word-quiet" "$word-other"
ok "and starts" v start "$(uuid 2)"
names[2]=other
goes_on "with another name" "2 3 1"

# ---- the end, by a clock that is a day ahead
clock_file off 86400
for i in 1 2; do v destroy "$(uuid $i)"; done
has_units "domains end" "0 3 3"
clock_file off 0
chain_begin >why 2>&1
if [ ! -s why ]; then
	for i in 1 2; do ok "the final report of domain $i reaches the aggregator" wait_for 120 chain_has "$(uuid $i)" || tail -n 3 courier.log agg.log | sed 's/^/# /'; done
	is "two domains are two units" "$(sql "SELECT count(DISTINCT uuid), count(DISTINCT unit) FROM unit_node WHERE uuid LIKE '3f1d2c7a-%'")" "2|2"
	once() { scrape && [ "$(in_records "$(uuid "$1")")" = "$(cpu_us "$1")" ]; }
	for i in 1 2; do ok "the CPU time of domain $i is there once" wait_for 60 once $i || echo "# $(in_records "$(uuid $i)") of $(cpu_us $i)"; done
	is "they lived when they lived" "$(sql "SELECT count(*) FROM unit_node WHERE uuid LIKE '3f1d2c7a-%' AND (started < to_timestamp($began - 8) OR ended > now() + interval '8 s' OR ended < started)")" 0
else
	skip "the final reports reach the aggregator" "$(head -n1 why)"
fi
tap_done
