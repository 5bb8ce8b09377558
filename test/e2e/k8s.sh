#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2700
# Pods of a real kubelet with containerd, without and with an API server: from their start to their last counters.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/chain.sh"
. "$TOP/test/kubelet.sh"
ceemsd=$BUILD/ceemsd
# what ceems-k8s is to the API server: it may read pods, until it gets the role of contrib/k8s/deploy/devices
echo 'nodetoken,system:serviceaccount:ceems:ceems-node,2' >"$node/users.csv"
api=
command -v etcd >/dev/null && api=api
kubelet_start $api

port=$(free_port) || exit 1
ebpf=()
[ -x "$BUILD/ceems-opener" ] && "$BUILD/ceems-opener" >/dev/null 2>&1 && ebpf=(--collector.ebpf)
"$ceemsd" --web.listen-address="127.0.0.1:$port" --collector.k8s --collector.k8s.steps --energy.interval=1s \
	--security.drop-privileges=false --unit.linger=10m --reports.enabled --reports.interval=1h --reports.spool="$SCRATCH/spool" \
	--cluster=cloud ${ebpf[@]+"${ebpf[@]}"} >ceemsd.log 2>&1 </dev/null &
started $!
ok "ceemsd is up" wait_for 20 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
# before kubelet: it waits for it
"$rig" enter $rig_pid "$k8s" --k8s.cgroup-root="/$name/kubepods" --k8s.refresh=1s --k8s.node-name=labnode --k8s.api=off \
	--k8s.cri-socket.file="$node/ctd.sock" --k8s.kubelet-podresources-socket.file="$node/kl/pod-resources/kubelet.sock" --k8s.kubelet-pods-socket.file="$node/none" >adapter.log 2>&1 </dev/null &
k8s_pid=$!
started $k8s_pid
ok "a real kubelet is up" wait_for 120 kubelet_there || { tail -n 5 node.log "$node"/*.log | cut -c1-300 | sed 's/^/# /'; tap_done; }
ok "ceems-k8s, which was started before, finds its control groups" wait_for 20 grep -q "control groups are there: 0 pods run" adapter.log
runtime_answers() { ! grep -q 'container runtime: .*asked again' adapter.log || grep -q 'container runtime: answers again' adapter.log; }
ok "and asks the container runtime" wait_for 60 runtime_answers || tail -n 3 adapter.log | sed 's/^/# /'

pods() { find /sys/fs/cgroup -type d -path "*/$name/kubepods/*" -name 'pod*' -printf '%f\n' 2>/dev/null | sort -u | sed 's/^pod//'; }
busy='i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 1'
# what the last look at each pod's group saw: UID CPU-us PEAK, from when it was empty until it was removed
(
	while sleep 0.02; do
		for e in /sys/fs/cgroup/unified/"$name"/kubepods/{,burstable/,besteffort/}pod*/cgroup.events /sys/fs/cgroup/"$name"/kubepods/{,burstable/,besteffort/}pod*/cgroup.events; do
			[ -e "$e" ] && grep -qs '^populated 0' "$e" || continue
			d=${e%/cgroup.events} peak=
			us=$(sed -n 's/^usage_usec //p' "$d/cpu.stat" 2>/dev/null)
			v1=/sys/fs/cgroup/memory/${d#/sys/fs/cgroup/unified/}
			peak=$(cat "$v1/memory.max_usage_in_bytes" 2>/dev/null || cat "$d/memory.peak" 2>/dev/null)
			v1=/sys/fs/cgroup/cpuacct/${d#/sys/fs/cgroup/unified/}
			ns=$(cat "$v1/cpuacct.usage" 2>/dev/null) && us=$((ns / 1000))
			[ "${us:-0}" -lt 1000 ] || [ -z "$peak" ] || [ ! -d "$d" ] || echo "$us $peak" >"last.${d##*/pod}"
		done
	done
) &
started $!

# ---- a static pod
pod static kube-system "$busy" 'requests: {cpu: 100m, memory: 16Mi}, limits: {memory: 64Mi}' >"$node/manifests/static.yaml"
has_one() { scrape && [ "$(value ceems_units_started_total k8s)" = 1 ]; }
ok "a static pod is a unit" wait_for 60 has_one || {
	{ cat adapter.log; tail -n 3 "$node/kubelet.log"; } | cut -c1-300 | sed 's/^/# /'
	tap_done
}
hash=$(grep -o '^ceems_compute_unit_cpu_user_seconds_total{manager="k8s".*uuid="[^"]*"' body | sed 's/.*uuid="//; s/"$//')
like "its id is that of its control group, a hash" "$hash" '^[0-9a-f]{32}$'
ended() { scrape && [ "$(value ceems_steps_ended_total k8s)" = "$1" ]; }
ok "it ends" wait_for 90 ended 1
exact() { scrape && [ -e "last.$1" ] && [ "$(cpu_us "$1") $(value ceems_compute_unit_memory_peak_bytes "$1")" = "$(cat "last.$1")" ]; }
ok "its CPU time and memory are its control group's, to the microsecond and byte" wait_for 15 exact "$hash" ||
	echo "# $(cpu_us "$hash") $(value ceems_compute_unit_memory_peak_bytes "$hash") of $(cat "last.$hash")"
parts_of() { "$BUILD/ceems-ringdump" "$run/ring" | jq -rs "map(select(.unit == \"$1\" and .type == \"step_stop\" and (.flags // [] | index(\"part\"))))"; }
cri_names() { [ "$(parts_of "$hash" | jq -r 'map(.hints.command) | join(" ")') $("$BUILD/ceems-ringdump" "$run/ring" | jq -rs "map(select(.unit == \"$hash\" and .type == \"step_stop\" and (.flags | index(\"part\") | not)))[0].hints | .account + \" \" + .name")" = "c1 kube-system static-labnode" ]; }
ok "its name and its container's are the container runtime's (CRI), for nobody else is asked" wait_for 30 cri_names || parts_of "$hash" | sed 's/^/# /'
is "pause containers and classes are no units" "$(grep -c '^ceems_compute_unit_cpu_user_seconds_total{manager="k8s"' body)" 1
rm "$node/manifests/static.yaml"

# ---- kubelet is restarted; ceemsd notices nothing
pod other kube-system 'sleep 1000' >"$node/manifests/other.yaml"
two() { scrape && [ "$(value ceems_compute_units 'manager="k8s"')" = 1 ]; }
ok "a second pod runs" wait_for 60 two
kill "$(node_pid kubelet)"
sleep 3
scrape
is "a restart of kubelet ends no pod and starts none" "$(value ceems_compute_units 'manager="k8s"') $(value ceems_steps_started_total k8s)" "1 2"
rm "$node/manifests/other.yaml"
ok "it ends when its manifest is gone" wait_for 90 ended 2
is "what kubelet answers about devices is understood" "$(grep -c 'left out' adapter.log)" 0

# ---- names and requests from the API server, which may be away
if [ -z "$api" ]; then
	skip "names and requests come from the API server" "no etcd"
	tap_done
fi
kill $k8s_pid
wait_for 20 is_gone $k8s_pid
# roles FILE: a role and its binding, as the deployment has them
roles() {
	awk -v RS='\n---\n' '{ print > "role" NR ".yaml" }' "$1"
	"$rig" api $rig_pid POST /apis/rbac.authorization.k8s.io/v1/clusterroles role1.yaml >role.out
	"$rig" api $rig_pid POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings role2.yaml >>role.out
}
sed 's/name: ceems-node$/name: pods-only/; s/name: ceems-node}$/name: pods-only}/; /resource.k8s.io/,/verbs/d' "$TOP/contrib/k8s/deploy/devices/rbac.yaml" >pods-only.yaml
roles pods-only.yaml
(umask 077 && sed 's/labtoken/nodetoken/' "$node/kubeconfig" >"$node/kubeconfig-node")
"$rig" enter $rig_pid "$k8s" --k8s.cgroup-root="/$name/kubepods" --k8s.refresh=1s --k8s.node-name=labnode --k8s.kubeconfig.file="$node/kubeconfig-node" \
	--k8s.kubelet-podresources-socket.file="$node/kl/pod-resources/kubelet.sock" --k8s.kubelet-pods-socket.file="$node/none" >adapter2.log 2>&1 </dev/null &
started $!
ok "a watch of the API server begins" wait_for 60 grep -q 'watching the pods of node labnode' adapter2.log || sed 's/^/# /' adapter2.log
printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n' >team.yaml
"$rig" api $rig_pid POST /api/v1/namespaces team.yaml >team.json
# NAMESPACE: posts pod.yaml; its UID
post() { "$rig" api $rig_pid POST "/api/v1/namespaces/$1/pods" pod.yaml | jq -r .metadata.uid; }
init="initContainers: [{name: i, image: \"localhost/bb:1\", imagePullPolicy: Never, command: [\"true\"]}, {name: side, restartPolicy: Always, image: \"localhost/bb:1\", imagePullPolicy: Never, command: [sh, -c, \"sleep 1000\"], resources: {requests: {cpu: 50m}}}],"
pod web-0 team 'sleep 1000' 'requests: {cpu: 250m, memory: 16Mi}' "$init" >pod.yaml
web=$(post team)
ok "a pod's CPUs are what it requests, sidecar included" wait_for 60 shows ceems_compute_unit_cpus "$web" 0.3
# ---- containers that run have series of their own
steps_of() { sed -n "s/^ceems_compute_unit_step_cpu_user_seconds_total{.*uuid=\"$1\",step=\"\([^\"]*\)\".*/\1/p" body | sort | xargs; }
has_steps() { scrape && [ "$(steps_of "$1")" = "$2" ]; }
ok "containers that run have series, and one that has ended; the pause container has none" wait_for 60 has_steps "$web" "c1 i side" || echo "# $(steps_of "$web")"
step_us() { awk -v l="uuid=\"$1\",step=\"$2\"" 'index($1, "ceems_compute_unit_step_cpu_") == 1 && index($1, l) { s += $2 } END { printf "%d\n", s * 1e6 + 0.001 }' body; }
group_us() { # of the container with this id
	local d
	d=$(find /sys/fs/cgroup/cpuacct /sys/fs/cgroup -maxdepth 6 -type d -path "*/$name/kubepods/*" -name "*$1*" 2>/dev/null | head -1)
	if [ -f "$d/cpuacct.usage" ]; then echo $(($(cat "$d/cpuacct.usage") / 1000)); else sed -n 's/^usage_usec //p' "$d/cpu.stat"; fi
}
id=$("$rig" api $rig_pid GET /api/v1/namespaces/team/pods/web-0 | jq -r '.status.containerStatuses[0].containerID | sub(".*//"; "")')
as_its_group() { scrape && [ "$(step_us "$web" c1)" -gt 0 ] && [ "$(step_us "$web" c1)" = "$(group_us "$id")" ]; }
ok "their CPU time is that of their control group, to the microsecond" wait_for 20 as_its_group || echo "# $(step_us "$web" c1) of $(group_us "$id") of $id"
# ---- resized in place
"$rig" api $rig_pid GET /api/v1/namespaces/team/pods/web-0 | jq '.spec.containers[0].resources.requests.cpu = "500m"' >resize.json
"$rig" api $rig_pid PUT /api/v1/namespaces/team/pods/web-0/resize resize.json >resized.json
ok "a pod that is resized in place has what it requests then" wait_for 120 shows ceems_compute_unit_cpus "$web" 0.55 || jq -c '.message, .status.conditions' resized.json | sed 's/^/# /'
# one whose user says that it is a static pod, a job of Slurm's and root's
scrape
before=$(cpu_us "$hash")
pod two-seconds default "$busy" 'requests: {cpu: 100m}' | sed "s|metadata: {|&annotations: {kubernetes.io/config.hash: $hash, kubernetes.io/config.source: file, created-by: root}, labels: {slurm-job-id: \"4711\"}, |
	s|image:|env: [{name: SLURM_JOB_ID, value: \"4711\"}, {name: SLURM_JOB_USER, value: root}, {name: CEEMS_CLUSTER, value: other}], &|" >pod.yaml
short=$(post default)
ok "a pod of two seconds is there" wait_for 60 ended 3
ok "its CPU time and memory are its control group's" wait_for 15 exact "$short" ||
	echo "# $(cpu_us "$short") $(value ceems_compute_unit_memory_peak_bytes "$short") of $(cat "last.$short")"
is "names and namespaces are in the records, no user is" \
	"$("$BUILD/ceems-ringdump" "$run/ring" | grep step_stop | jq -r "select(.unit == \"$short\" and (.flags | index(\"part\") | not)) | [.hints.account, .hints.name, .hints.user, .uid] | map(tostring) | join(\" \")")" "default two-seconds null 0"

is "what a user says of it gives it nothing of another unit's, nor another unit of its" \
	"$(cpu_us "$hash") $("$BUILD/ceems-ringdump" "$run/ring" | jq -rs "[.[] | select(.hints.name == \"two-seconds\") | .unit] | unique | join(\" \")")" "$before $short"

# ---- containers are parts of it: init, a sidecar, one that is started again. Their names are those of a job's steps
cat >pod.yaml <<-END
	apiVersion: v1
	kind: Pod
	metadata: {name: parts, namespace: team}
	spec: {nodeName: labnode, hostNetwork: true, enableServiceLinks: false, terminationGracePeriodSeconds: 1, restartPolicy: OnFailure,
	  volumes: [{name: v, emptyDir: {}}],
	  initContainers: [{name: "0", image: "localhost/bb:1", imagePullPolicy: Never, command: ["true"]},
	    {name: extern, restartPolicy: Always, image: "localhost/bb:1", imagePullPolicy: Never, command: [sleep, "1000"]}],
	  containers: [{name: batch, image: "localhost/bb:1", imagePullPolicy: Never, volumeMounts: [{name: v, mountPath: /tmp}],
	    command: [sh, -c, '${busy% sleep 1} [ -e /tmp/x ] && exit 0; echo >/tmp/x; exit 7']}]}
END
parts=$(post team)
ok "a pod with several containers is there" wait_for 60 ended 4
has_parts() { [ "$(parts_of "$parts" | jq -r 'map(.hints.command + ":" + (.exit_status // 0 | tostring)) | sort | join(" ")')" = "$1" ]; }
ok "each container is a part of it, by its name, with its exit code" wait_for 60 has_parts "0:0 batch:0 batch:$((7 << 8)) extern:$((137 << 8))" || parts_of "$parts" | sed 's/^/# /'
scrape
is "what they used is in the pod's, and no more" "$(parts_of "$parts" | jq --argjson pod "$(cpu_us "$parts")" \
	'map(.counters | .cpu_user_ns + .cpu_system_ns) | add / 1000 | . <= $pod and . > $pod * 0.8')" true
# ---- devices: kubelet hands them out, by a device plugin that has none
"$rig" devices $rig_pid nvidia.com/gpu GPU-0001 GPU-0002::0 GPU-0002::1 >plugin.log 2>&1 </dev/null &
plugin_pid=$!
started $plugin_pid
allocatable() { "$rig" api $rig_pid GET /api/v1/nodes/labnode | jq -e '.status.allocatable["nvidia.com/gpu"] == "3"' >/dev/null; }
ok "a device plugin is registered" wait_for 60 allocatable || sed 's/^/# /' plugin.log
pod gpu-0 team 'sleep 1000' 'limits: {nvidia.com/gpu: 3}' >pod.yaml
first=$(post team)
devices_of() { "$BUILD/ceems-ringdump" "$run/ring" | grep step_start | jq -rs "map(select(.unit == \"$1\")) | last | [.devices[]? | .uuid + \":\" + (.share_permille // 0 | tostring)] | sort | join(\" \")"; }
has_devices() { [ "$(devices_of "$1")" = "GPU-0001:1000 GPU-0002:0" ]; }
ok "a pod has its GPUs by UUID, replicas of one as that one" wait_for 60 has_devices "$first" || echo "# $(devices_of "$first")"
"$rig" api $rig_pid DELETE "/api/v1/namespaces/team/pods/gpu-0?gracePeriodSeconds=0" >/dev/null
second=$(post team)
ok "one made again with its name has them then" wait_for 90 has_devices "$second" || echo "# $(devices_of "$second")"
ok "as another unit" [ "$first" != "$second" ]
"$rig" api $rig_pid DELETE "/api/v1/namespaces/team/pods/gpu-0?gracePeriodSeconds=0" >/dev/null
ok "both end" wait_for 90 ended 6
kill $plugin_pid

# ---- dynamic resource allocation: kubelet prepares a claim by a driver that has no devices, and which has registered as one does
long=gpu-2-of-a-name-that-no-record-has-room-for
"$rig" dra "$node" gpu.nvidia.com pool-1 gpu-0 gpu-1 "$long" >dra.log 2>&1 </dev/null &
dra_pid=$!
started $dra_pid
ok "a driver of dynamic resource allocation is registered" wait_for 90 grep -q 'registered true' dra.log || sed 's/^/# /' dra.log
slice() { # GENERATION UUID
	cat <<-END
		apiVersion: resource.k8s.io/v1
		kind: ResourceSlice
		metadata: {name: "slice-$1"}
		spec: {driver: gpu.nvidia.com, nodeName: labnode, pool: {name: pool-1, generation: $1, resourceSliceCount: 1}, devices: [
		  {name: gpu-0, attributes: {uuid: {string: "$2"}, type: {string: gpu}}},
		  {name: gpu-1, attributes: {uuid: {string: GPU-0005}, resource.kubernetes.io/pciBusID: {string: "0000:3b:00.0"}}},
		  {name: $long, attributes: {type: {string: gpu}}}]}
	END
}
slice 1 GPU-0004 >slice.yaml
"$rig" api $rig_pid POST /apis/resource.k8s.io/v1/resourceslices slice.yaml >slice.json
is "the API server takes a slice" "$(jq -r .spec.pool.name slice.json)" pool-1
cat >claim.yaml <<-END
	apiVersion: resource.k8s.io/v1
	kind: ResourceClaim
	metadata: {name: claim, namespace: team}
	spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpus, allocationMode: ExactCount, count: 3}}]}}
END
"$rig" api $rig_pid POST /apis/resource.k8s.io/v1/namespaces/team/resourceclaims claim.yaml >claim.json
# what the scheduler does, of which there is none: a claim is allocated and reserved for the pod, and the pod bound to the node
pod dra-0 team 'sleep 1000' 'claims: [{name: c}]' 'resourceClaims: [{name: c, resourceClaimName: claim}],' | sed 's/nodeName: labnode, //' >pod.yaml
dra=$(post team)
jq --arg uid "$dra" --arg long "$long" '.status = {allocation: {devices: {results: [("gpu-0", "gpu-1", $long) | {request: "r", driver: "gpu.nvidia.com", pool: "pool-1", device: .}]}},
	reservedFor: [{resource: "pods", name: "dra-0", uid: $uid}]}' claim.json >status.json
"$rig" api $rig_pid PUT /apis/resource.k8s.io/v1/namespaces/team/resourceclaims/claim/status status.json >claim.json
echo '{apiVersion: v1, kind: Binding, metadata: {name: dra-0}, target: {apiVersion: v1, kind: Node, name: labnode}}' >binding.yaml
"$rig" api $rig_pid POST /api/v1/namespaces/team/pods/dra-0/binding binding.yaml >binding.json
dra_devices() { "$BUILD/ceems-ringdump" "$run/ring" | grep step_start | jq -rs "map(select(.unit == \"$dra\")) | last | [.devices[]? | (.uuid | sub(\"#[0-9a-f]{16}\$\"; \"#HASH\")) + (if .pci then \"@\" + .pci else \"\" end)] | sort | join(\" \")"; }
has_dra() { [ "$(dra_devices)" = "$1" ]; }
why() { echo "# $(dra_devices)"; { tail -n 3 adapter2.log; head -c 500 claim.json; cat binding.json; tail -n 3 "$node/kubelet.log"; } | cut -c1-300 | sed 's/^/# /'; }
ok "without the right to read slices devices have the names that kubelet tells" \
	wait_for 90 has_dra "gpu.nvidia.com/pool-1/gpu-0 gpu.nvidia.com/pool-1/gpu-1 gpu.nvidia.com/pool-1/gpu-2-of#HASH" || why
said() { [ "$(grep -c 'status 403 (it needs list and watch of resourceslices)' adapter2.log)" = 1 ]; }
ok "that it is missing is said once" wait_for 60 said || why
roles "$TOP/contrib/k8s/deploy/devices/rbac.yaml"
ok "with the role of the deployment they have UUIDs and PCI addresses by the node's ResourceSlices" \
	wait_for 120 has_dra "GPU-0004 GPU-0005@0000:3b:00.0 gpu.nvidia.com/pool-1/gpu-2-of#HASH" || why
slice 2 GPU-0014 >slice.yaml
"$rig" api $rig_pid POST /apis/resource.k8s.io/v1/resourceslices slice.yaml >slice.json
ok "a pool's newer generation replaces the older one" wait_for 60 has_dra "GPU-0005@0000:3b:00.0 GPU-0014 gpu.nvidia.com/pool-1/gpu-2-of#HASH" || why
"$rig" api $rig_pid DELETE "/api/v1/namespaces/team/pods/dra-0?gracePeriodSeconds=0" >/dev/null
ok "a pod with a claim ends" wait_for 90 ended 7
kill $dra_pid

touch "$node/apiserver.off"
kill -9 "$(node_pid kube-apiserver)"
ok "an API server that is killed is noticed" wait_for 60 grep -q 'not known until it answers' adapter2.log
pod while-away kube-system 'sleep 1000' >"$node/manifests/away.yaml"
more() { shows ceems_compute_units 'manager="k8s"' 2; }
ok "pods go on, and one that starts meanwhile is seen" wait_for 60 more
rm "$node/apiserver.off"
back() { [ "$(grep -c 'watching the pods of node' adapter2.log)" -ge 2 ]; }
ok "the watch goes on when it is back" wait_for 120 back || tail -n 5 adapter2.log | sed 's/^/# /'
mirrored() { "$BUILD/ceems-ringdump" "$run/ring" | grep -c 'while-away-labnode'; }
ok "and the static pod has the name of its mirror" wait_for 90 eval '[ "$(mirrored)" -gt 0 ]'
scrape
is "nothing was lost or doubled" "$(value ceems_compute_units 'manager="k8s"') $(value ceems_units_started_total k8s)" "2 9"
"$rig" api $rig_pid DELETE "/api/v1/namespaces/team/pods/web-0?gracePeriodSeconds=0" >/dev/null
rm "$node/manifests/away.yaml"
ok "a pod that is deleted ends" wait_for 90 ended 9

# ---- energy: that of all pods, of the system and of what idles is the node's
scrape
ok "all energy of the node is of its pods, of the system or idle" energy_adds_up
ok "a pod of two seconds has some of it" [ "$(value ceems_compute_unit_energy_joules_total "$short" | tr -d .)" -gt 0 ]

# ---- records: ceemsd, courier, aggregator, cacct
chain_begin >why 2>&1
if [ ! -s why ]; then
	# as --clusters.file does: a job of a test beside this one, which ceemsd reports too, would make it a cluster of Slurm's
	sql "SELECT k8s_cluster_id('cloud')" >/dev/null
	ok "a pod's final report reaches the aggregator" wait_for 120 chain_has "$short" || tail -n 3 courier.log agg.log | sed 's/^/# /'
	is "its record has the CPU time of its group" "$(chain_cpu_us "$short")" "$(cut -d' ' -f1 "last.$short")"
	is "and its energy" "$(sql "SELECT sum(host_uj) > 0 FROM unit_node WHERE uuid = '$short'")" t
	# of pods alone: jobs of a test beside this one go on
	rolled_up() { [ "$(sql "SELECT (SELECT count(*) FROM dirty JOIN unit_node n USING (instance) JOIN unit u ON u.id = n.unit AND u.known_by = 'k8s') + (SELECT count(*) FROM unit WHERE known_by = 'k8s' AND as_of IS NULL)")" = 0 ]; }
	ok "that of a pod whose energy was settled later, too" wait_for 120 chain_has "$web"
	ok "sums are there" wait_for 60 rolled_up
	is "a pod that requests 100m has a tenth of a CPU" "$("$BUILD/cacct" -a -n -P -o JobIDRaw,CPUs | grep "^$short|")" "$short|0.1"
	is "its CPU time and efficiency are of that" "$(sql "SELECT abs(cpu_alloc_ms - node_ms * 0.1) < 1 FROM unit WHERE uuid = '$short'") $(sql "SELECT (cpu_user_ns + cpu_system_ns) / 10000 / cpu_alloc_ms FROM unit WHERE uuid = '$short'" |
		awk -v e="$("$BUILD/cacct" -a -n -P -o JobIDRaw,CPUEff | sed -n "s/^$short|\(.*\)%$/\1/p")" '{ print (e > 0 && e - $1 < 0.1 && $1 - e < 0.1) }')" "t 1"
	is "one that was resized has each size for its time" "$(sql "SELECT n.millicpus, n.earlier_millicpus, abs(u.cpu_alloc_ms - 0.3 * extract(epoch FROM n.earlier_until[1] - n.started) * 1000
		- 0.55 * extract(epoch FROM n.ended - n.earlier_until[1]) * 1000) <= 2 FROM unit_node n JOIN unit u ON u.id = n.unit WHERE n.uuid = '$web'")" "550|{300}|t"
	is "a pod is one unit of the manager k8s, of no user" "$(sql "SELECT count(*), bool_and(uid IS NULL), (SELECT min(manager) FROM cluster) FROM unit_node WHERE uuid = '$short'")" "1|t|k8s"
	is "containers are steps of its record, by their names" "$(sql "SELECT string_agg(s.command || ' ' || s.exit_status, ', ' ORDER BY s.command, s.exit_status)
		FROM unit_step s JOIN unit_node n ON n.instance = s.instance WHERE n.uuid = '$parts' AND s.command IS NOT NULL")" "0 0, batch 0, batch $((7 << 8)), extern $((137 << 8))"
	has_all() { [ "$(chain_cacct | grep -cE "$short|$hash|$first|$second|$web")" = 5 ]; }
	ok "an operator sees pods and static pods with cacct" wait_for 60 has_all || { tail -n 3 cacct.err; chain_cacct; } | sed 's/^/# /'
	is "nobody else does" "$(chain_other_user)" ""
else
	skip "a pod's final report reaches the aggregator" "$(head -n1 why)"
fi
tap_done
