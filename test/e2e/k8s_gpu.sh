#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 900
# GPUs of pods of a real kubelet: one as a whole, two that share one, one with a MIG instance. The devices, their
# plugin and the driver's library are made up: no GPU is here.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/gpu.sh"
command -v etcd >/dev/null || skip_all "no etcd"
. "$TOP/test/kubelet.sh"
kubelet_start api

# the names that the made-up library gives: of instances by the number of their handle
gpu() { printf 'GPU-00000000-0000-0000-0000-%012d' "$1"; }
mig() { printf 'MIG-00000000-0000-0000-0000-%012d' "$1"; }
whole=$(gpu 0) common=$(gpu 1) part=$(mig 258)
machine=('device 0 400 busy=80 used=1000' 'device 1 200 busy=80 used=700' 'device 2 100 mig gpm'
	'instance 2 1 0 1 60 100' 'instance 2 2 0 1 20 200')
gpu_machine "${machine[@]}"
port=$(free_port) || exit 1
"$BUILD/ceemsd" --web.listen-address="127.0.0.1:$port" --collector.k8s --no-collector.slurm "${GPU_ARGS[@]}" --energy.interval=500ms \
	--energy.idle=none --energy.gpu-sharing=usage --security.drop-privileges=false --unit.linger=10m --reports.enabled --reports.interval=1h \
	--reports.spool="$SCRATCH/spool" --cluster=cloud >ceemsd.log 2>&1 </dev/null &
started $!
scrape() { curl -sf -m 60 -o body "http://127.0.0.1:$port/metrics" && curl -sf -o units "http://127.0.0.1:$port/units"; }
ok "ceemsd is up" wait_for 60 scrape
ok "a real kubelet is up" wait_for 120 kubelet_there || { tail -n 5 node.log "$node"/*.log | cut -c1-300 | sed 's/^/# /'; tap_done; }
"$rig" enter $rig_pid "$k8s" --k8s.cgroup-root="/$name/kubepods" --k8s.refresh=1s --k8s.node-name=labnode --k8s.kubeconfig.file="$node/kubeconfig" \
	--k8s.kubelet-podresources-socket.file="$node/kl/pod-resources/kubelet.sock" --k8s.kubelet-pods-socket.file="$node/none" >adapter.log 2>&1 </dev/null &
started $!

plugin() { # RESOURCE ID...
	"$rig" devices $rig_pid "$@" >"plugin.${1##*/}.log" 2>&1 </dev/null &
	started $!
}
plugin nvidia.com/gpu "$whole"
plugin nvidia.com/gpu.shared "$common::0" "$common::1"
plugin nvidia.com/mig-1g.10gb "$part"
allocatable() {
	"$rig" api $rig_pid GET /api/v1/nodes/labnode |
		jq -e '.status.allocatable | .["nvidia.com/gpu"] == "1" and .["nvidia.com/gpu.shared"] == "2" and .["nvidia.com/mig-1g.10gb"] == "1"' >/dev/null
}
ok "their plugins are registered" wait_for 90 allocatable || sed 's/^/# /' plugin.*.log
printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n' >team.yaml
"$rig" api $rig_pid POST /api/v1/namespaces team.yaml >team.json
# NAME [LIMITS]: its UID
pod() {
	cat >pod.yaml <<-END
		apiVersion: v1
		kind: Pod
		metadata: {name: "$1", namespace: team}
		spec: {nodeName: labnode, hostNetwork: true, enableServiceLinks: false, terminationGracePeriodSeconds: 1, restartPolicy: Never,
		  containers: [{name: c1, image: "localhost/bb:1", imagePullPolicy: Never, command: [sleep, "1000"], resources: {limits: {${2:-}}}}]}
	END
	"$rig" api $rig_pid POST /api/v1/namespaces/team/pods pod.yaml | jq -r .metadata.uid
}
one=$(pod one 'nvidia.com/gpu: 1')
first=$(pod first 'nvidia.com/gpu.shared: 1')
second=$(pod second 'nvidia.com/gpu.shared: 1')
slice=$(pod slice 'nvidia.com/mig-1g.10gb: 1')
plain=$(pod plain)
unit() { jq -r --arg i "$1" ".units[] | select(.id == \$i) | $2" units; }
value() { sed -n "s/^ceems_compute_unit_gpu_$2{.*uuid=\"$1\".*} //p" body; }
gpus() { for p in $one $first $second $slice $plain; do unit "$p" '.gpus // "none"'; done | paste -sd' '; }
had() { scrape && [ "$(gpus)" = "0 1 1 2.1.0 none" ]; }
ok "each pod has its devices, by the driver's numbers" wait_for 90 had || { gpus; tail -n 5 adapter.log ceemsd.log; } | sed 's/^/# /'
shares() { scrape && [ "$(for p in $one $first $second $slice; do value "$p" index_flag; done | paste -sd' ')" = "1 0.5 0.5 1" ]; }
ok "one as a whole, two a half each, one an instance" wait_for 30 shares || grep index_flag body | sed 's/^/# /'
like "with the device's UUID, and the instance's number" "$(grep "^ceems_compute_unit_gpu_index_flag.*$slice" body)" \
	"index=\"2\".*gpuuuid=\"$(gpu 2)\",gpuiid=\"1\""
busy() { scrape && [ "$(value "$one" busy_ratio) $(value "$one" memory_used_bytes)" = "0.8 1048576000" ]; }
ok "the figures of a device are the pod's that has it as a whole" wait_for 30 busy || grep "gpu.*$one" body | sed 's/^/# /'
instance() { scrape && [ "$(value "$slice" memory_used_bytes) $(value "$slice" sm_active_ratio)" = "104857600 0.6" ]; }
ok "those of an instance its pod's" wait_for 30 instance || grep "gpu.*$slice" body | sed 's/^/# /'

pid_of() { cat $(find /sys/fs/cgroup/cpuacct /sys/fs/cgroup -maxdepth 7 -path "*/$name/kubepods/*$1*/cgroup.procs" 2>/dev/null) | sort -u | while read -r p; do
	[ "$(cat "/proc/$p/comm" 2>/dev/null)" = sleep ] && echo "$p"
done | head -1; }
p1=$(pid_of "$first") p2=$(pid_of "$second") p3=$(pid_of "$plain") p4=$(pid_of "$one")
like "they have processes" "$p1 $p2 $p3 $p4" '^[0-9]+ [0-9]+ [0-9]+ [0-9]+$'
gpu_machine "${machine[@]}" "process 1 $p1 60 500 0" "process 1 $p2 20 100 0" "process 0 $p3 1 1 0" "process 0 $p4 70 900 0"
foreign() { scrape && [ "$(sed -n "s/^ceems_compute_unit_gpu_foreign_processes{.*,uuid=\"\([^\"]*\)\".*} /\1 /p" body)" = "$plain 1" ]; }
ok "a process on a GPU that its pod was not given is told" wait_for 60 foreign || grep -i gpu_processes body | sed 's/^/# /'
holders() { scrape && grep -q '^ceems_gpu_processes.*index="1".*owner="holder"} 2$' body; }
ok "and whose the others are" wait_for 60 holders || grep gpu_processes body | sed 's/^/# /'

joules() { unit "$1" '.energy_joules.gpu // 0'; }
by_use() {
	local a b w s
	scrape && a=$(joules "$first") b=$(joules "$second") w=$(joules "$one") s=$(joules "$slice") && sleep 2 && scrape &&
		awk -v a="$a" -v b="$b" -v w="$w" -v s="$s" -v c="$(joules "$first")" -v d="$(joules "$second")" -v x="$(joules "$one")" -v t="$(joules "$slice")" \
			'BEGIN { if (c <= a || d <= b || x <= w || t <= s) exit 1
				printf "# %.2f to 1, whole %.2f of both\n", (c - a) / (d - b), (x - w) / (c - a + d - b)
				exit !((c - a) / (d - b) > 2.7 && (c - a) / (d - b) < 3.3) }'
}
ok "energy of one that is shared goes by what the processes of each use" wait_for 60 by_use
adds_up() {
	awk '/domain="gpu"/ { split($NF, a, "."); v = a[1] * 1000000 + substr(a[2] "000000", 1, 6)
		if (/^ceems_node_energy_joules_total/) all += v
		if (/^ceems_node_(un)?attributed_energy_joules_total/) parts += v }
		END { exit !(all > 0 && all == parts) }' body
}
ok "all together have what the devices counted" adds_up
is "a pod without a GPU took none" "$(joules "$plain")" 0

"$rig" api $rig_pid DELETE "/api/v1/namespaces/team/pods/second?gracePeriodSeconds=0" >/dev/null
alone() { scrape && [ "$(value "$first" index_flag)" = 1 ]; }
ok "who shares with nobody any more has it as a whole" wait_for 60 alone
for p in one first slice plain; do "$rig" api $rig_pid DELETE "/api/v1/namespaces/team/pods/$p?gracePeriodSeconds=0" >/dev/null; done
final() { jq -r "select(.unit == \"$1\") | $2" finals | tail -1; }
told() {
	"$BUILD/ceems_tool" spool spool | jq -c 'select(.kind == "final")' >finals
	for p in $one $first $second $slice $plain; do [ -n "$(final "$p" .unit)" ] || return; done
}
ok "all are reported" wait_for 120 told || sed 's/^/# /' finals
is "with their devices and how many" "$(for p in $one $first $slice $plain; do final "$p" '"\(.gpus // "none"):\(.gpu_count // 0)"'; done | paste -sd' ')" "0:1 1:1 2.1.0:1 none:0"
is "and what they used" "$(final "$one" .counts.gpu_memory_peak_bytes) $(final "$slice" .counts.gpu_memory_peak_bytes) $(final "$plain" .counts.gpu_memory_peak_bytes)" "1048576000 104857600 null"
sed -n '/level=\(warn\|error\)/s/^/# /p' ceemsd.log
tap_done
