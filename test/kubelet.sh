# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after tap.sh, by tests of pods of a real kubelet (test/rig/k8s): skips them where there can be none, and
# goes to $SCRATCH. Sets rig, k8s (ceems-k8s), name (of the control groups above its own), node (its folder) and
# run (ceemsd's); its groups are removed at the end.
#   kubelet_start [api]   in the background; rig_pid. api: with an API server, if there is an etcd
#   kubelet_there         its control groups are
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
