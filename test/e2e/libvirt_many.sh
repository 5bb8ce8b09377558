#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems-libvirt with 200 domains of libvirt's own test driver, which runs inside the program and has no
# processes: their control groups are a tree of files, which a real ceemsd reads. Needs no root.
. "$(dirname "$0")/../tap.sh"
ceemsd=$BUILD/ceemsd lv=$BUILD/ceems-libvirt
[ -x "$lv" ] || skip_all "ceems-libvirt was not built here (libvirt-dev, libxml2-dev)"
[ -x "$ceemsd" ] || skip_all "ceemsd was not built here"
cd "$SCRATCH" || exit 1
n=200 cg=$SCRATCH/cgroup run=$SCRATCH/run
mkdir -p "$cg/unified/machine" "$cg/memory/machine"
: >"$cg/unified/cgroup.controllers"
uuid() { printf '3f1d2c7a-0000-4000-8000-%012d' "$1"; }
# NUMBER NAME USEC: the group of a domain
group() {
	local g=machine/test-$1-$2.libvirt-test
	mkdir "$cg/unified/$g" "$cg/memory/$g"
	printf 'usage_usec %s\nuser_usec %s\nsystem_usec 0\n' "$3" "$3" >"$cg/unified/$g/cpu.stat"
	echo 1000000 >"$cg/memory/$g/memory.usage_in_bytes"
	echo 9223372036854771712 >"$cg/memory/$g/memory.limit_in_bytes"
	echo 2000000 >"$cg/memory/$g/memory.max_usage_in_bytes"
	echo 0 >"$cg/memory/$g/memory.failcnt"
	printf 'hierarchical_memory_limit 9223372036854771712\ntotal_cache 0\ntotal_rss 900000\n' >"$cg/memory/$g/memory.stat"
	echo 'oom_kill 0' >"$cg/memory/$g/memory.oom_control"
}
{
	echo '<node>'
	for ((i = 1; i <= n; i++)); do
		echo "<domain type='test'><name>vm$i</name><uuid>$(uuid $i)</uuid><memory>65536</memory><vcpu>$((i % 3 + 1))</vcpu><os><type>hvm</type></os></domain>"
	done
	# names that are not names of groups; the second has none
	echo "<domain type='test'><name>&lt;a b=&quot;c&quot;&gt; \$(id) 'é' ..</name><uuid>$(uuid 901)</uuid><memory>65536</memory><vcpu>1</vcpu><os><type>hvm</type></os></domain>"
	echo "<domain type='test'><name>no-group</name><uuid>$(uuid 902)</uuid><memory>65536</memory><vcpu>1</vcpu><os><type>hvm</type></os></domain>"
	echo '</node>'
} >many.xml
for ((i = 1; i <= n; i++)); do group $i vm$i $((i * 1000000)); done
group 201 abcid 7000000 # what libvirt leaves of the name

port=$(free_port) || exit 1
"$ceemsd" --web.listen-address="127.0.0.1:$port" --path.rundir="$run" --path.cgroupfs="$cg" --collector.libvirt \
	--unit.max-exported=1000 --security.drop-privileges=false >ceemsd.log 2>&1 </dev/null &
started $!
ok "ceemsd is up" wait_for 20 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
"$lv" --libvirt.uri="test://$SCRATCH/many.xml" --path.rundir="$run" --path.cgroupfs="$cg" --libvirt.run-dir="$SCRATCH/none" --libvirt.refresh=500ms >lv.log 2>&1 </dev/null &
lv_pid=$!
started $lv_pid
scrape() { curl -sf -o body "http://127.0.0.1:$port/metrics"; }
value() { awk -v m="$1" -v u="$2" 'index($1, m "{") == 1 && index($1, u) { print $2; exit }' body; }
all_there() { scrape && [ "$(value ceems_compute_units 'manager="libvirt"')" = $((n + 1)) ]; }
ok "200 domains and one of an odd name are units" wait_for 30 all_there || { sed 's/^/# /' lv.log; grep -a level=warn ceemsd.log | head -5; }
read_all() { scrape && [ "$(value ceems_compute_unit_cpu_user_seconds_total "$(uuid 200)")" = 200 ]; }
ok "their CPU time is that of their groups" wait_for 30 read_all
is "of each" "$(for ((i = 1; i <= n; i++)); do [ "$(value ceems_compute_unit_cpu_user_seconds_total "$(uuid $i)")" = $i ] || echo $i; done | head -3)" ""
is "CPUs are the guest's" "$(value ceems_compute_unit_cpus "$(uuid 1)") $(value ceems_compute_unit_cpus "$(uuid 2)")" "2 3"
is "memory too" "$(value ceems_compute_unit_memory_total_bytes "$(uuid 1)") $(value ceems_compute_unit_memory_rss_bytes "$(uuid 1)")" "67108864 900000"
is "a name of any characters" "$(value ceems_compute_unit_cpu_user_seconds_total "$(uuid 901)")" 7
is "labels are the peer's" "$(grep -o "^ceems_compute_unit_cpus{.*$(uuid 1)\"}" body | sed 's/hostname="[^"]*"/hostname="H"/')" \
	"ceems_compute_unit_cpus{manager=\"libvirt\",hostname=\"H\",cgrouphostname=\"\",uuid=\"$(uuid 1)\"}"
is "a domain without a control group is no unit" "$(grep -c "$(uuid 902)" body)" 0
group 202 no-group 5000000
late() { scrape && [ "$(value ceems_compute_unit_cpu_user_seconds_total "$(uuid 902)")" = 5 ]; }
ok "until it has one" wait_for 30 late
ok "what was found running is said to be" wait_for 30 grep -q "$(uuid 1): found in mid-life, it had used 1.000 s" ceemsd.log
# pages of libraries that nobody has written to are not its own: libvirtd has them too
kb=$(awk '/^Private_Dirty/ { print $2 }' "/proc/$lv_pid/smaps_rollup")
echo "# $kb kB, libvirt's test driver with its domains included"
ok "200 domains are less than 10 MB of its own" [ "${kb:-99999}" -lt 10240 ]

kill $lv_pid
wait_for 30 is_gone $lv_pid
"$lv" --once --libvirt.uri="test://$SCRATCH/many.xml" --path.rundir="$run" --path.cgroupfs="$cg" >once.log 2>&1
is "a second one tells the same and exits" "$?" 0
sleep_scrape() { scrape && [ -n "$(value ceems_ring_records_total '')" ]; }
wait_for 30 sleep_scrape
is "nothing is counted twice" "$(value ceems_units_started_total 'manager="libvirt"') $(value ceems_steps_started_total 'manager="libvirt"')" "202 202"
"$lv" --once --libvirt.uri=test:///nowhere/x.xml --path.rundir="$run" --path.cgroupfs="$cg" >bad.log 2>&1
is "a driver that cannot be asked is an error" "$? $(grep -c 'test:///nowhere/x.xml: ' bad.log)" "1 1"
is "nothing else was complained of" "$(grep -v level=info lv.log)" ""
tap_done
