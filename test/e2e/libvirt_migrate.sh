#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A virtual machine that migrates between two real libvirtds, each a host of its own to libvirt, with a ceemsd and a ceems-libvirt
# of its own: one unit that lives on two nodes, and nothing of it is counted twice.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/chain.sh"
. "$TOP/test/libvirt.sh"
libvirt_possible
for p in as ld; do command -v $p >/dev/null || skip_all "$p is not installed"; done
ok "a libvirtd is up" libvirt_begin lv || tap_done
domains_have_groups
ok "so is another one" libvirt_begin lw || tap_done
guest_image disk.img
domain 1 "$word-one" "<disk type='file' device='disk'><driver name='qemu' type='raw' cache='none'/><source file='$SCRATCH/disk.img'/><shareable/><target dev='hda' bus='ide'/></disk>"
# both make their groups in one tree: ids that are another's are another's names
domain 8 "$word-first"
for _ in 1 2 3 4 5 6 7 8; do virsh_at lw create 8.xml && virsh_at lw destroy "$(uuid 8)"; done

ebpf=()
[ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1 && ebpf=(--collector.ebpf)
declare -A ports
for node in one two; do
	ok "ceemsd of node $node is up" ceemsd_begin $node ${ebpf[@]+"${ebpf[@]}"}
	ports[$node]=$port
done
adapter_begin lv one
adapter_begin lw two
at() { port=${ports[$1]}; "${@:2}"; } # NODE COMMAND...: of its ceemsd
cpu_at() { at "$1" scrape && cpu_us 1; }
# the group of a run: the kernel's CPU time, as long as it is there
group_us() { sed -n 's/^usage_usec //p' "$1/cpu.stat"; }
group_now() { find /sys/fs/cgroup -mindepth 2 -maxdepth 3 -type d -path "*/machine/qemu-*$word-one.*" | grep -E '/unified/|^/sys/fs/cgroup/machine/'; }
runs_at() { at "$1" shows ceems_compute_units libvirt "$2"; } # NODE HOW-MANY
busy_at() { [ "$(cpu_at "$1")" -gt "$2" ]; }                  # NODE MICROSECONDS
# FROM-LIBVIRTD TO-LIBVIRTD [OPTIONS]
migrate() { virsh_at "$1" migrate --live --unsafe "$(uuid 1)" "qemu+unix:///system?socket=$SCRATCH/$2/sock/libvirt-sock" --migrateuri "unix://$SCRATCH/migrate.sock" "${@:3}"; }
# what the kernel says of a domain that ends, by the hook of its libvirtd, which waits for us: LIBVIRTD FILE
touch lv/hooks/on lw/hooks/on
watch_end() {
	local group
	wait_for 60 test -e "$1/hooks/xml" || return
	for group in $(group_now); do
		grep -q . "$group/cgroup.procs" 2>/dev/null || grep -q 'populated 1' "$group/cgroup.events" || group_us "$group" >"$2"
	done
	rm -f "$1/hooks/xml"
}

# ---- there
ok "a domain starts on node one" v create 1.xml
ok "it is a unit there" wait_for 60 busy_at one 300000
watch_end lv first_us & watcher=$!
ok "it migrates to node two" migrate lv lw
wait $watcher
ok "its unit on node one ends" wait_for 60 runs_at one 0
ok "and goes on on node two" wait_for 60 runs_at two 1
if [ ${#ebpf[@]} -gt 0 ]; then
	first_exact() { [ "$(cpu_at one)" = "$(cat first_us)" ]; }
	ok "its last counters on node one are its group's" wait_for 30 first_exact || tap_say "$(cpu_at one) $(cat first_us)"
else
	skip "its last counters on node one are its group's" "no ceems-opener, or this kernel does not let it"
fi
ok "on node two its counters are those of the new group" wait_for 60 busy_at two 200000
ok "and no more" [ "$(cpu_at two)" -le "$(($(group_us "$(group_now)") + 2))" ]

# ---- records
chain_begin >why 2>&1
if [ ! -s why ]; then
	# nodes with a final report of it
	finals_of() { sql "SELECT string_agg(DISTINCT n.name, ' ' ORDER BY n.name) FROM unit_node u JOIN node n ON n.id = u.node WHERE uuid = '$(uuid 1)' AND final AND unit IS NOT NULL"; }
	first_final() { chain_ship one two; [ "$(finals_of)" = one ]; }
	ok "its final report of node one reaches the aggregator" wait_for 120 first_final || tail -n 3 courier.log agg.log | sed 's/^/# /'
	running() { chain_ship one two; [ "$(sql "SELECT string_agg(state, ' ') FROM unit WHERE uuid = '$(uuid 1)'")" = RUNNING ]; }
	ok "it is one unit that runs" wait_for 60 running || tap_say "$(sql "SELECT id, uuid, state, started, ended FROM unit WHERE uuid = '$(uuid 1)'")"
else
	skip "its final report of node one reaches the aggregator" "$(head -n1 why)"
fi

# ---- migrations that come to nothing: the target has had a domain for a moment
steps=$(at one scrape; value ceems_steps_started_total libvirt)
migrate lw lv --bandwidth 1 >abort.log 2>&1 & migration=$!
ok "a slow migration back begins: node one has a unit again" wait_for 60 runs_at one 1
ok "it is cancelled" virsh_at lw domjobabort "$(uuid 1)"
wait $migration
is "so that it has failed" "$?" 1
ok "node one's unit ends" wait_for 60 runs_at one 0
grown=$(cpu_at two)
ok "that of node two goes on" wait_for 60 busy_at two $((grown + 50000))
is "as the step that it was" "$(value ceems_steps_started_total libvirt) $(value ceems_compute_units libvirt)" "1 1"
migrate lw lv --bandwidth 1 >kill.log 2>&1 & migration=$!
ok "another one begins" wait_for 60 runs_at one 1
kill -9 "$(pgrep -n -f "guest=$word-one")" # the newest one
wait $migration
is "whose target is killed" "$?" 1
ok "then, too, node one's unit ends" wait_for 60 runs_at one 0
grown=$(cpu_at two)
ok "and that of node two goes on" wait_for 60 busy_at two $((grown + 50000))

# ---- back, to be suspended there
rm -f lw/hooks/xml lv/hooks/xml
watch_end lw second_us & watcher=$!
ok "it migrates back, and is suspended there" migrate lw lv --suspend
wait $watcher
ok "it is a unit of node one" wait_for 60 runs_at one 1
ok "and none of node two" wait_for 60 runs_at two 0
like "which is suspended" "$(v domstate "$(uuid 1)")" paused
is "libvirt has started it there three times" "$(($(at one scrape; value ceems_steps_started_total libvirt) - steps))" 3
v resume "$(uuid 1)"
grown=$(cpu_at one)
ok "it goes on there when it is resumed" wait_for 60 busy_at one $((grown + 50000))
rm -f lv/hooks/on lw/hooks/on
ok "it is shut down" v destroy "$(uuid 1)"
ok "its unit has ended" wait_for 60 runs_at one 0
if [ ! -s why ]; then
	finals() { chain_ship one two; [ "$(finals_of)" = "one two" ]; }
	ok "final reports of both nodes are there" wait_for 120 finals
	sum_us="SELECT sum(cpu_user_ns + cpu_system_ns + coalesce(before_cpu_user_ns + before_cpu_system_ns, 0)) / 1000 FROM unit_node WHERE uuid = '$(uuid 1)'"
	whole() { # each of the numbers is cut to microseconds
		local off
		chain_ship one two
		off=$(($(sql "$sum_us" | cut -d. -f1) - $(cpu_at one) - $(cpu_at two)))
		[ "$off" -ge -4 -a "$off" -le 4 ]
	}
	ok "their CPU times are what both nodes have counted, each moment once" wait_for 120 whole || tap_say "$(sql "$sum_us") $(cpu_at one) $(cpu_at two)" "$(sql "SELECT node, instance, started, ended, final, cpu_user_ns, cpu_system_ns, before_cpu_user_ns FROM unit_node WHERE uuid = '$(uuid 1)'")"
	energy_uj() { at "$1" scrape && awk -v u="uuid=\"$(uuid 1)\",domain=\"host\"" 'index($1, "ceems_compute_unit_energy_joules_total{") == 1 && index($1, u) { printf "%.0f\n", $2 * 1e6 }' body; } # NODE
	charged() { # NODE: in its records
		chain_ship one two
		[ "$(energy_uj "$1")" -gt 0 ] && [ "$(sql "SELECT sum(host_uj) FROM unit_node u JOIN node n ON n.id = u.node WHERE uuid = '$(uuid 1)' AND n.name = '$1'")" = "$(energy_uj "$1")" ]
	}
	for node in one two; do ok "the energy that node $node charged is in its records, once" wait_for 60 charged $node || tap_say "$(energy_uj $node)" "$(sql "SELECT node, host_uj FROM unit_node WHERE uuid = '$(uuid 1)'")"; done
	is "the VM is one unit of two nodes" "$(sql "SELECT count(DISTINCT unit), count(DISTINCT node) FROM unit_node WHERE uuid = '$(uuid 1)'")" "1|2"
	is "cacct shows one VM" "$(chain_cacct | grep -c "$(uuid 1)")" 1
fi
tap_done
