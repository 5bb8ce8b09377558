#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2700
# Pods of a real kubelet that run while ceemsd, ceems-k8s, kubelet and containerd are killed, alone, together and in any
# order, and while the node's clock leaps by an hour and a day: each pod is one unit, with what its control group counted.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/chain.sh"
. "$TOP/test/clock_off.sh"
. "$TOP/test/kubelet.sh"
. "$TOP/test/restarts.sh"
manager=k8s
ebpf=()
[ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1 && ebpf=(--collector.ebpf)
port=$(free_port) || exit 1
start_ceemsd() {
	"${leaping[@]}" "$BUILD/ceemsd" --web.listen-address="127.0.0.1:$port" --collector.k8s --no-collector.slurm --energy.interval=1s --security.drop-privileges=false \
		--unit.linger=10m --reports.enabled --reports.interval=2s --reports.spool="$SCRATCH/spool" --cluster=cloud ${ebpf[@]+"${ebpf[@]}"} >>ceemsd.log 2>&1 </dev/null &
	ceemsd_pid=$!
	started $ceemsd_pid
}
start_ceems_k8s() {
	"${leaping[@]}" "$k8s" --k8s.cgroup-root="/$name/kubepods" --k8s.refresh=1s --k8s.node-name=labnode --k8s.api=off --k8s.cri-socket.file="$node/ctd.sock" \
		--k8s.kubelet-podresources-socket.file="$node/kl/pod-resources/kubelet.sock" --k8s.kubelet-pods-socket.file="$node/none" >>adapter.log 2>&1 </dev/null &
	k8s_pid=$!
	started $k8s_pid
}
# kubelet and containerd come back by themselves
kill_program() {
	case $1 in
	ceemsd) kill9 $ceemsd_pid ;;
	ceems-k8s) kill9 $k8s_pid ;;
	*) kill -9 "$(node_pid "$1")" ;;
	esac
}
start_program() { case $1 in ceemsd) start_ceemsd ;; ceems-k8s) start_ceems_k8s ;; esac; }
say_why() { tail -qn 3 adapter.log ceemsd.log "$node/kubelet.log"; }
kubelet_start
start_ceemsd
start_ceems_k8s
ok "a real kubelet is up" wait_for 120 kubelet_there || { tail -n 5 node.log "$node"/*.log | cut -c1-300 | sed 's/^/# /'; tap_done; }

# ---- two pods: one that is always busy a little, one that is quiet
began=$(date +%s)
pod busy kube-system 'while :; do i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; sleep 0.1; done' >"$node/manifests/busy.yaml"
pod quiet kube-system 'sleep 10000' >"$node/manifests/quiet.yaml"
has_units "two pods are two units" "2 2 0"
units=$(uuids)
group_us() { # UID: CPU time of its control group
	local d
	d=$(find /sys/fs/cgroup/cpuacct /sys/fs/cgroup -maxdepth 5 -type d -path "*/$name/kubepods/*" -name "*$1" 2>/dev/null | head -1)
	if [ -f "$d/cpuacct.usage" ]; then echo $(($(cat "$d/cpuacct.usage") / 1000)); else sed -n 's/^usage_usec //p' "$d/cpu.stat"; fi
}
ok "they have what their control groups counted" wait_for 60 has_its_groups
kill_and_start ceems-k8s
goes_on "ceems-k8s is killed" "2 2 0"
kill_and_start ceemsd
goes_on "ceemsd is killed" "2 2 0"
clock_file off 86400
goes_on "the clock leaps by a day" "2 2 0"
kill_and_start kubelet
goes_on "kubelet is killed" "2 2 0"
kill_and_start containerd
goes_on "containerd is killed" "2 2 0"
clock_file off -3600
goes_on "the clock is an hour behind" "2 2 0"
kill_and_start ceemsd ceems-k8s
goes_on "ceemsd and ceems-k8s are killed with that clock" "2 2 0"
clock_file off 0
kill_and_start ceems-k8s ceemsd
goes_on "ceems-k8s comes back before ceemsd" "2 2 0"
kill_and_start kubelet ceems-k8s containerd ceemsd
goes_on "all four are killed" "2 2 0"
again() { [ "$(node_pid kubelet)" ] && [ "$(node_pid containerd)" ]; }
ok "kubelet and containerd are back" wait_for 60 again

# ---- pods that come and go while nobody looks
kill9 $k8s_pid
pod late kube-system 'sleep 10000' >"$node/manifests/late.yaml"
groups() { find /sys/fs/cgroup -type d -path "*/$name/kubepods/*" -name 'pod*' -printf '%f\n' 2>/dev/null | sort -u | wc -l; }
three() { [ "$(groups)" = 3 ]; }
ok "a pod starts while ceems-k8s is away" wait_for 90 three
start_ceems_k8s
has_units "it is found" "3 3 0"
kill9 $ceemsd_pid
kill9 $k8s_pid
rm "$node/manifests/late.yaml"
gone() { [ "$(groups)" = 2 ]; }
ok "it ends while ceemsd is away, too" wait_for 90 gone
start_ceemsd
start_ceems_k8s
has_units "its end is found, and nothing else has ended" "2 3 1"
ok "they have what their control groups counted" wait_for 60 has_its_groups

# ---- the end, by a clock that is a day ahead
clock_file off 86400
rm "$node"/manifests/*.yaml
has_units "pods end" "0 3 3"
clock_file off 0
chain_begin >why 2>&1
if [ ! -s why ]; then
	sql "SELECT k8s_cluster_id('cloud')" >/dev/null
	for p in $units; do ok "the final report of $p reaches the aggregator" wait_for 120 chain_has "$p" || tail -n 3 courier.log agg.log | sed 's/^/# /'; done
	# jobs of a test beside this one are reported, too
	is "three pods are three units" "$(sql "SELECT count(DISTINCT uuid), count(DISTINCT unit) FROM unit_node WHERE uuid ~ '^[0-9a-f]{32}\$'")" "3|3"
	once() { scrape && [ "$(in_records "$1")" = "$(cpu_us "$1")" ]; }
	for p in $units; do ok "the CPU time of $p is there once" wait_for 60 once "$p" || echo "# $(in_records "$p") of $(cpu_us "$p")"; done
	is "they lived when they lived" "$(sql "SELECT count(*) FROM unit_node WHERE uuid ~ '^[0-9a-f]{32}\$' AND (started < to_timestamp($began - 8) OR ended > now() + interval '8 s' OR ended < started)")" 0
else
	skip "the final reports reach the aggregator" "$(head -n1 why)"
fi
tap_done
