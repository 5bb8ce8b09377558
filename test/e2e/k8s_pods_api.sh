#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2700
# The Pods API of a real kubelet 1.37: names and requests of pods without an API server, and without rights.
. "$(dirname "$0")/../tap.sh"
export CEEMS_RIG_KUBELET=v1.37.2
. "$TOP/test/kubelet.sh"
kubelet_start
port=$(free_port) || exit 1
"$BUILD/ceemsd" --web.listen-address="127.0.0.1:$port" --collector.k8s --security.drop-privileges=false --unit.linger=10m >ceemsd.log 2>&1 </dev/null &
started $!
ok "ceemsd is up" wait_for 20 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
there() { [ -S "$node/kl/pods-api/pods-api.sock" ]; }
ok "a real kubelet with the Pods API is up" wait_for 120 there || {
	tail -n 5 node.log "$node"/*.log | cut -c1-300 | sed 's/^/# /'
	tap_done
}
"$k8s" --k8s.cgroup-root="/$name/kubepods" --k8s.refresh=1s --k8s.kubelet-pods-socket.file="$node/kl/pods-api/pods-api.sock" \
	--k8s.kubelet-podresources-socket.file="$node/kl/pod-resources/kubelet.sock" >adapter.log 2>&1 </dev/null &
started $!
ok "it tells of its pods" wait_for 30 grep -q 'kubelet tells of its pods' adapter.log || sed 's/^/# /' adapter.log
pod one kube-system 'sleep 1000' 'requests: {cpu: 250m}' >"$node/manifests/one.yaml"
cpus() { scrape && [ "$(value ceems_compute_unit_cpus 'manager="k8s"')" = "$1" ]; }
ok "a pod's CPUs are what it requests" wait_for 60 cpus 0.25
starts() { "$BUILD/ceems-ringdump" "$run/ring" | grep step_start | jq -r 'select(.hints.name) | [.hints.account, .hints.name] | join("/")' | sort -u; }
# kubelet may tell of it just after its group was made: it is told again then
named() { [ "$(starts)" = kube-system/one-labnode ]; }
ok "its name and namespace are in the record of its start" wait_for 30 named || starts | sed 's/^/# /'

# kubelet goes, and with it the call
kill -9 "$(node_pid kubelet)"
again() { [ "$(grep -c 'kubelet tells of its pods' adapter.log)" -ge 2 ]; }
ok "a kubelet that is killed is asked again when it is back" wait_for 120 again || tail -n 5 adapter.log | sed 's/^/# /'
pod two kube-system 'sleep 1000' 'requests: {cpu: 100m}' >"$node/manifests/two.yaml"
two() { scrape && [ "$(value ceems_compute_units 'manager="k8s"')" = 2 ]; }
ok "a pod that starts then is seen, the other goes on" wait_for 90 two
both() { [ "$(starts | tr '\n' ' ')" = "kube-system/one-labnode kube-system/two-labnode " ]; }
ok "with its name" wait_for 60 both || starts | sed 's/^/# /'
scrape
is "nothing was doubled" "$(value ceems_units_started_total k8s)" 2

# one that hangs: it does not answer a second client, nor matter
kill -STOP "$(node_pid kubelet)"
scrape
is "a kubelet that hangs ends no pod" "$(value ceems_compute_units 'manager="k8s"')" 2
kill -CONT "$(node_pid kubelet)"
rm "$node"/manifests/*.yaml
none() { scrape && [ "$(value ceems_compute_units 'manager="k8s"')" = 0 ]; }
ok "pods end" wait_for 90 none
tap_done
