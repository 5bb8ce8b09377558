#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_kubelet.sh: kubelet and containerd beside systemd, which makes and removes the groups of pods.
mkdir -p /var/tmp
export TMPDIR=/var/tmp # systemd has a /tmp of its own
. "$(dirname "$0")/../tap.sh"
export CEEMS_RIG_CACHE=$1 CEEMS_RIG_KUBELET=$2 CEEMS_RIG_DRIVER=systemd
if [ "${3:-}" != inside ]; then
	. "$TOP/test/vm/init.sh"
	init_prepare
	mkdir -p /opt /var/lib/kubelet
	init_start
	ok "D-Bus is there" inside systemctl start dbus.service
	inside env PATH="$PATH" TMPDIR=/var/tmp TOP="$TOP" BUILD="$BUILD" CEEMS_VM=1 bash "$TOP/test/vm/kubelet_guest.sh" "$@" inside | grep -v "^1\.\."
	tap_done
fi
. "$TOP/test/kubelet.sh"
cg=/sys/fs/cgroup/kubepods.slice
kubelet_there() { [ -d $cg/kubepods-besteffort.slice ]; }
kubelet_start
port=$(free_port) || exit 1
ebpf=()
[ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1 && ebpf=(--collector.ebpf)
"$BUILD/ceemsd" --web.listen-address="127.0.0.1:$port" --collector.k8s --collector.k8s.steps --no-collector.slurm --security.drop-privileges=false \
	--unit.linger=10m ${ebpf[@]+"${ebpf[@]}"} >ceemsd.log 2>&1 </dev/null &
started $!
ok "ceemsd is up" wait_for 60 scrape
"$k8s" --k8s.refresh=1s --k8s.node-name=labnode --k8s.api=off --k8s.kubelet-pods-socket.file="$node/kl/pods-api/pods-api.sock" \
	--k8s.kubelet-podresources-socket.file="$node/kl/pod-resources/kubelet.sock" >adapter.log 2>&1 </dev/null &
started $!
ok "a real kubelet is up" wait_for 200 kubelet_there || { tail -n 5 node.log "$node"/*.log | cut -c1-300 | sed 's/^/# /'; tap_done; }
ok "its slices are found" wait_for 60 grep -q "control groups are there: 0 pods run" adapter.log || sed 's/^/# /' adapter.log

# ---- a pod of each class
slices() { find $cg -type d -name 'kubepods*-pod*.slice' -printf '%P\n' | sort; }
pod guaranteed team 'sleep 1000' 'limits: {cpu: 100m, memory: 32Mi}' >"$node/manifests/one.yaml"
pod burstable team 'sleep 1000' 'requests: {cpu: 50m}' >"$node/manifests/two.yaml"
pod besteffort team 'sleep 1000' >"$node/manifests/three.yaml"
counts() { echo "$(value ceems_compute_units 'manager="k8s"') $(value ceems_steps_started_total k8s) $(value ceems_steps_ended_total k8s)"; }
has() { scrape && [ "$(counts)" = "$1" ]; }
ok "three pods are three units" wait_for 120 has "3 3 0" || { counts; slices; tail -n 3 adapter.log "$node/kubelet.log"; } | cut -c1-300 | sed 's/^/# /'
is "their slices are of three classes" "$(slices | sed 's/-pod[0-9a-f_]*\.slice//; s/.*\///' | xargs)" "kubepods-besteffort kubepods-burstable kubepods"
uids() { sed -n 's/^ceems_compute_unit_cpu_user_seconds_total{manager="k8s".*uuid="\([^"]*\)".*/\1/p' body | sort | xargs; }
is "and called by their UIDs" "$(uids)" "$(slices | sed 's/.*-pod//; s/\.slice//; s/_/-/g' | sort | xargs)"
three=$(uids)
slice_of() { echo $cg/{,kubepods-*.slice/}kubepods*-pod"${1//-/_}".slice | tr ' ' '\n' | grep -v '\*'; } # UID
usage() { sed -n 's/^usage_usec //p' "$@"; }
equal() {
	local p
	scrape
	for p in $three; do [ "$(cpu_us "$p")" = "$(usage "$(slice_of "$p")/cpu.stat")" ] || { echo "# $p: $(cpu_us "$p")"; return 1; }; done
}
ok "their CPU time is that of their slices, to the microsecond" wait_for 60 equal || equal
step_us() { awk -v l="uuid=\"$1\",step=\"c1\"" 'index($1, "ceems_compute_unit_step_cpu_") == 1 && index($1, l) { s += $2 } END { printf "%d\n", s * 1e6 + 0.001 }' body; }
in_scopes() {
	local p
	scrape
	for p in $three; do usage "$(slice_of "$p")"/cri-containerd-*.scope/cpu.stat | grep -qx "$(step_us "$p")" || { echo "# $p: $(step_us "$p")"; return 1; }; done
}
ok "their containers are steps, each in a scope of systemd's" wait_for 60 in_scopes || { in_scopes; head -n 1 "$(slice_of "${three%% *}")"/*/cpu.stat; } | sed 's/^/# /'
named() { [ "$("$BUILD/ceems-ringdump" "$run/ring" | jq -rs '[.[] | select(.type == "step_start") | .hints.name // empty] | unique | join(" ")')" = "besteffort-labnode burstable-labnode guaranteed-labnode" ]; }
ok "they have names by kubelet's Pods API" wait_for 60 named

# ---- systemd and kubelet are started anew
systemctl daemon-reload
systemctl daemon-reexec
kill "$(node_pid kubelet)"
again() { [ "$(grep -c 'kubelet tells of its pods' adapter.log)" -ge 2 ]; }
ok "kubelet is back, and systemd started anew" wait_for 120 again
is "no pod has ended, none started twice" "$(scrape; counts)" "3 3 0"

# ---- the last moment: what the last look at the pod's slice saw, from when it was empty until it was removed
(
	while sleep 0.02; do
		for e in $cg/{,kubepods-*.slice/}kubepods*-pod*.slice/cgroup.events; do
			grep -qs '^populated 0' "$e" || continue
			d=${e%/cgroup.events}
			us=$(usage "$d/cpu.stat" 2>/dev/null) peak=$(cat "$d/memory.peak" 2>/dev/null)
			[ "${us:-0}" -lt 1000 ] || [ -z "$peak" ] || [ ! -d "$d" ] || echo "$us $peak" >"last.$(sed 's/.*-pod//; s/\.slice//; s/_/-/g' <<<"$d")"
		done
	done
) &
started $!
pod short team 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done' >"$node/manifests/short.yaml"
ok "a short pod ends" wait_for 120 has "3 4 1" || { scrape; counts; } | sed 's/^/# /'
short=$(uids | tr ' ' '\n' | grep -vxF "$(tr ' ' '\n' <<<"$three")")
exact() { scrape && [ -e "last.$short" ] && [ "$(cpu_us "$short") $(value ceems_compute_unit_memory_peak_bytes "$short")" = "$(cat "last.$short")" ]; }
ok "its CPU time and memory are its slice's, to the microsecond and byte" wait_for 60 exact || echo "# $(cpu_us "$short") $(value ceems_compute_unit_memory_peak_bytes "$short") of $(cat "last.$short")"
rm "$node"/manifests/*.yaml
ok "the others end, too" wait_for 120 has "0 4 4" || { scrape; counts; } | sed 's/^/# /'
tap_done
