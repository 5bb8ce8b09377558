# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after tap.sh, by tests of pods of a real kubelet (test/rig/k8s): skips them where there can be none, and
# goes to $SCRATCH. Sets rig, k8s (ceems-k8s), name (of the control groups above its own), node (its folder) and
# run (ceemsd's); its groups are removed at the end.
#   kubelet_start [api]   in the background; rig_pid. api: with an API server, if there is an etcd
#   kubelet_there         its control groups are
#   node_pid PROGRAM      of that node: kubelet, containerd, kube-apiserver, as this process namespace has it
#   pod NAME NAMESPACE COMMAND [RESOURCES [MORE]]  YAML of a pod with one container
#   scrape; value METRIC LABELS; shows METRIC LABELS VALUE  of the ceemsd at $port
rig=$TOP/test/rig/k8s k8s=$BUILD/ceems-k8s
[ -x "$k8s" ] || skip_all "ceems-k8s was not built here"
[ -x "$BUILD/ceemsd" ] || skip_all "ceemsd was not built here"
why=$("$rig" make) || skip_all "$why"
why=$("$rig" possible) || skip_all "$why"
cd "$SCRATCH" || exit 1
name=ceemstest-k8s-$$ run=$SCRATCH/run node=$SCRATCH/node
export CEEMS_PATH_RUNDIR=$run
mkdir -p "$node" "$run"
test_cleanup() {
	[ -z "${rig_pid:-}" ] || kill9 "$rig_pid"
	for _ in {1..100}; do
		"$rig" clean "$name"
		[ -n "$(find /sys/fs/cgroup -type d -path "*/$name*" 2>/dev/null | head -1)" ] || break
		sleep 0.1
	done
}
kubelet_start() {
	"$rig" run "$node" "$name" "$@" >node.log 2>&1 </dev/null &
	rig_pid=$!
	started $rig_pid
}
kubelet_there() { [ -n "$(find /sys/fs/cgroup -maxdepth 4 -type d -path "*/$name/kubepods/burstable" 2>/dev/null | head -1)" ]; }
# the file has its number in the node's own namespace
node_pid() {
	local p
	for p in /proc/[0-9]*; do
		grep -qs "^NSpid:.*[[:space:]]$(cat "$node/${1#kube-}.pid")$" "$p/status" && [ "$(cat "$p/comm" 2>/dev/null)" = "$1" ] && echo "${p#/proc/}"
	done | head -1
}
pod() {
	cat <<-END
		apiVersion: v1
		kind: Pod
		metadata: {name: "$1", namespace: "$2"}
		spec: {nodeName: labnode, hostNetwork: true, enableServiceLinks: false, terminationGracePeriodSeconds: 1, restartPolicy: Never, ${5:-}
		  containers: [{name: c1, image: "localhost/bb:1", imagePullPolicy: Never, command: [sh, -c, '$3'], resources: {${4:-}}}]}
	END
}
scrape() { curl -sf -o body "http://127.0.0.1:$port/metrics"; }
value() { awk -v m="$1" -v u="$2" 'index($1, m "{") == 1 && index($1, u) { print $2; exit }' body; }
# METRIC LABEL VALUE: a scrape has it
shows() { scrape && [ "$(value "$1" "$2")" = "$3" ]; }
# UID: CPU time of a pod by its series
cpu_us() { awk -v u="$1" 'index($1, "ceems_compute_unit_cpu_") == 1 && /_(user|system)_seconds_total\{/ && index($1, u) { s += $2 } END { printf "%d\n", s * 1e6 + 0.001 }' body; }
