#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Control groups with the names of both of kubelet's drivers and of all classes, made by hand in this machine's hierarchies, so
# that they can be gone at once: who reads them then is the kernel program alone, and without it cgroup.events.
. "$(dirname "$0")/../tap.sh"
ceemsd=$BUILD/ceemsd k8s=$BUILD/ceems-k8s
[ -x "$k8s" ] && [ -x "$ceemsd" ] || skip_all "ceems-k8s was not built here"
[ "$(id -u)" = 0 ] || skip_all "needs root"
cd "$SCRATCH" || exit 1
name=ceemstest-pods-$$ mounts=()
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
	unified=/sys/fs/cgroup
else
	unified=/sys/fs/cgroup/unified
	for c in cpuacct memory; do [ ! -d /sys/fs/cgroup/$c ] || mounts+=(/sys/fs/cgroup/$c); done
fi
[ -f $unified/cgroup.procs ] || skip_all "no unified hierarchy"
mounts+=("$unified")
mkdir "$unified/$name" 2>/dev/null || skip_all "control groups may not be made here"
test_cleanup() {
	for m in "${mounts[@]}"; do
		find "$m/$name" -depth -type d -exec rmdir {} + 2>/dev/null
	done
}
uid() { printf '%08x-2222-4000-8000-000000000000' "$1"; }
# NUMBER: the path of a pod's group
path() {
	local u slice
	u=$(uid "$1") slice=$(uid "$1" | tr - _)
	case $1 in
	1) echo "kubepods/pod$u" ;;
	2) echo "kubepods/burstable/pod$u" ;;
	3) echo "kubepods/besteffort/pod$u" ;;
	4) echo "kubepods.slice/kubepods-pod$slice.slice" ;;
	5) echo "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod$slice.slice" ;;
	6) echo "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod$slice.slice" ;;
	esac
}
busy='i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'
between=${busy/60000/4000} # a task enters one hierarchy after the other, and may work between
# NUMBER WAIT [blind]: a pod with two containers, one after the other; all is removed at once, or after WAIT. What it has used is
# in used.NUMBER. blind: both daemons hang from its first task until it is gone, so that the kernel program alone has counted it
run_pod() {
	local m d
	for m in "${mounts[@]}"; do mkdir -p "$m/$name/$(path "$1")/cri-1" "$m/$name/$(path "$1")/cri-2"; done
	[ -z "${3:-}" ] || { sleep 0.3; kill -STOP "${k8s_pids[@]}" "$ceemsd_pid"; }
	for c in cri-1 cri-2; do
		(
			for m in "${mounts[@]}"; do
				echo $BASHPID >"$m/$name/$(path "$1")/$c/cgroup.procs"
				eval "$between"
			done
			exec sh -c "$busy"
		)
	done
	d=$(path "$1")
	if [ -f "/sys/fs/cgroup/cpuacct/$name/$d/cpuacct.usage" ]; then
		echo $(($(cat "/sys/fs/cgroup/cpuacct/$name/$d/cpuacct.usage") / 1000))
	else
		sed -n 's/^usage_usec //p' "$unified/$name/$d/cpu.stat"
	fi >"used.$1"
	sleep "$2"
	for m in "${mounts[@]}"; do rmdir "$m/$name/$d"/cri-* "$m/$name/$d"; done
	kill -CONT "${k8s_pids[@]}" "$ceemsd_pid"
}
# LOG EBPF-OPTION...: ceemsd and one ceems-k8s per driver
begin() {
	rm -rf run
	port=$(free_port) || exit 1
	"$ceemsd" --web.listen-address="127.0.0.1:$port" --path.rundir="$SCRATCH/run" --collector.k8s --energy.interval=1s \
		--security.drop-privileges=false --unit.linger=10m "${@:2}" >"$1" 2>&1 </dev/null &
	ceemsd_pid=$!
	started $ceemsd_pid
	wait_for 20 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
	k8s_pids=()
	for root in kubepods kubepods.slice; do
		for m in "${mounts[@]}"; do mkdir -p "$m/$name/$root"; done
		"$k8s" --path.rundir="$SCRATCH/run" --k8s.cgroup-root="/$name/$root" --k8s.refresh=1s --k8s.api=off >"k8s.$root.log" 2>&1 </dev/null &
		k8s_pids+=($!)
		started $!
	done
	for c in burstable besteffort; do
		for m in "${mounts[@]}"; do mkdir -p "$m/$name/kubepods/$c" "$m/$name/kubepods.slice/kubepods-$c.slice"; done
	done
	wait_for 20 grep -q 'are there' k8s.kubepods.log
	wait_for 20 grep -q 'are there' k8s.kubepods.slice.log
	sleep 2 # folders of classes are looked for once a second
}
finish() {
	kill "${k8s_pids[@]}" "$ceemsd_pid"
	for p in "${k8s_pids[@]}" "$ceemsd_pid"; do wait_for 20 is_gone "$p"; done
	for m in "${mounts[@]}"; do find "$m/$name" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null; done
}
cpu_us() { awk -v u="$(uid "$1")" 'index($1, "ceems_compute_unit_cpu_") == 1 && /_(user|system)_seconds_total\{/ && index($1, u) { s += $2 } END { printf "%d\n", s * 1e6 + 0.001 }' body; }
# which of the six differ: they may by the microsecond that v2 cuts off in each group
wrong() {
	curl -sf -o body "http://127.0.0.1:$port/metrics"
	for i in 1 2 3 4 5 6; do
		local d=$(($(cpu_us $i) - $(cat used.$i)))
		[ $d -ge -1 ] && [ $d -le 3 ] || echo "$i: $(cpu_us $i) of $(cat used.$i)"
	done
}
all_exact() { [ -z "$(wrong)" ]; }

if [ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1; then
	begin ebpf.log --collector.ebpf
	for i in 1 2 3; do run_pod $i 0; done
	for i in 4 5 6; do run_pod $i 0 blind; done
	ok "pods of both drivers and all classes have all their CPU time, removed at once" wait_for 30 all_exact ||
		{ wrong; grep -E "^ceems_(ring_dropped|steps_lost)" body; tail -n 5 ebpf.log k8s.*.log; } | sed "s/^/# /"
	is "six units, and nothing else" "$(grep -c '^ceems_compute_unit_cpu_user_seconds_total{manager="k8s"' body)" 6
	finish
else
	skip "pods of both drivers and all classes have all their CPU time, removed at once" "no ceems-opener, or this kernel does not let it"
fi
begin plain.log
for i in 1 2 3 4 5 6; do run_pod $i 0.3; done
ok "without the kernel program, too, if they stay a moment as kubelet lets them" wait_for 30 all_exact || wrong | sed 's/^/# /'
finish
tap_done
