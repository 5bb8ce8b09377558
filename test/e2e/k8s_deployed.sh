#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2700
# The pods of contrib/k8s/deploy in a real kubelet, as they are written: read-only roots, no privilege, those capabilities and
# host paths and no others. Only the image (what `make install` installs), the network (there is no CNI here), the folders of the
# ring and the spool (this machine may have its own) and the names in the configuration are the test's.
. "$(dirname "$0")/../tap.sh"
export CEEMS_RIG_KUBELET=v1.37.2 # has the Pods API
. "$TOP/test/kubelet.sh"
. "$TOP/test/pki.sh"
. "$TOP/test/kube_hook.sh"
for c in etcd jq openssl; do command -v $c >/dev/null || skip_all "$c is not installed"; done
for p in ceems-opener ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p is not built"; done
P=9000
hook_prepare
echo 'alicetoken,alice,1001,"system:masters"' >"$node/users.csv"
kubelet_start api "${hook_flags[@]}"

# ---- the image
root=$SCRATCH/root
mkdir -p "$root"/{usr/sbin,etc,tmp,run/ceems,var/spool/ceems,proc,sys,dev}
cp "$BUILD"/{ceemsd,ceems-k8s,ceems-opener,ceems-courier,ceems_k8s_admission_controller} "$root/usr/sbin/"
for f in $(ldd "$root"/usr/sbin/* | grep -oE '/[^ :]+\.so[^ ]*' | sort -u); do
	mkdir -p "$root${f%/*}" && cp -L "$f" "$root$f"
done
printf 'root:x:0:0::/:/nonexistent\nceems:x:64800:64800::/:/nonexistent\nnobody:x:65534:65534::/:/nonexistent\n' >"$root/etc/passwd"
printf 'root:x:0:\nceems:x:64800:\nnogroup:x:65534:\n' >"$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files\n' >"$root/etc/nsswitch.conf"
for f in /lib/x86_64-linux-gnu/libnss_files.so.2; do [ ! -e $f ] || cp -L $f "$root$f"; done
"$TOP/test/rig/k8s_image" image.tar localhost/ceems-k8s:1 "$root" /none
# objects FILE NAME [COMPONENT]: of the manifests, as the API server of the test gets them; a Deployment's or DaemonSet's pod is
# NAME, with what the component adds
objects() {
	python3 - "$TOP/contrib/k8s/deploy/base/$1" "$2" "$SCRATCH" "/$name/kubepods" ${3:+"$TOP/contrib/k8s/deploy/$3/node.yaml"} <<-'END'
		import json, sys, yaml
		file, pod, scratch, groups = sys.argv[1:5]
		paths = {'/run/ceems': scratch + '/run', '/var/spool/ceems': scratch + '/reports',
		         '/var/lib/kubelet/pods-api': scratch + '/node/kl/pods-api', '/var/lib/kubelet/pod-resources': scratch + '/node/kl/pod-resources'}
		for d in yaml.safe_load_all(open(file)):
		    if d['kind'] == 'ConfigMap' and 'ceemsd.yaml' in d['data']:
		        d['data']['ceemsd.yaml'] = d['data']['ceemsd.yaml'].replace('https://aggregator.site.example:9020', 'http://127.0.0.1:1')
		    if d['kind'] in ('DaemonSet', 'Deployment'):
		        d = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': pod, 'namespace': 'ceems', 'labels': d['spec']['template']['metadata']['labels']}, 'spec': d['spec']['template']['spec']}
		        s = d['spec']
		        for f in sys.argv[5:]: # a strategic merge: lists by name
		            more = yaml.safe_load(open(f))['spec']['template']['spec']
		            s['volumes'] += more['volumes']
		            for m in more['containers']:
		                c = next(c for c in s['containers'] if c['name'] == m['name'])
		                c['volumeMounts'] += m['volumeMounts']
		                c['env'] = [e for e in c['env'] if e['name'] not in [x['name'] for x in m['env']]] + m['env']
		        s.update(nodeName='labnode', hostNetwork=True)
		        s.pop('topologySpreadConstraints', None)
		        for c in s['containers']:
		            c['image'] = 'localhost/ceems-k8s:1'
		            c['command'] = [w.replace('https://aggregator.site.example:9020', 'http://127.0.0.1:1') for w in c['command']]
		            if c['name'] == 'ceems-k8s':
		                c['env'].append({'name': 'CEEMS_K8S_CGROUP_ROOT', 'value': groups})
		                if sys.argv[5:]: # an older kubelet, and no kube-proxy here
		                    c['env'] += [{'name': n, 'value': v} for n, v in (('CEEMS_K8S_KUBELET_PODS_SOCKET_FILE', '/none'), ('KUBERNETES_SERVICE_HOST', '127.0.0.1'), ('KUBERNETES_SERVICE_PORT', '6443'))]
		        for v in s['volumes']:
		            if 'hostPath' in v:
		                v['hostPath']['path'] = paths.get(v['hostPath']['path'], v['hostPath']['path'])
		    if d['kind'] in ('ServiceAccount', 'ConfigMap', 'Pod'):
		        print(json.dumps(d))
	END
}
api() { "$rig" api $rig_pid "$@"; }
is_made() { # KIND: of object.json
	api POST "/api/v1/namespaces/ceems/${1}s" object.json >answer.json
	jq -e '.metadata.uid' answer.json >/dev/null
}
send() { # FILE of objects, one a line; an API server knows its classes of priority a moment after it is ready
	local o
	while read -r o; do
		echo "$o" >object.json
		wait_for 60 is_made "$(jq -r '.kind | ascii_downcase' object.json)" || { sed 's/^/# /' answer.json; return 1; }
	done <"$1"
}
secret() { # NAME KEY=FILE...
	python3 - "$@" >secret.json <<-'END'
		import base64, json, sys
		print(json.dumps({'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': sys.argv[1]}, 'data': {k: base64.b64encode(open(f, 'rb').read()).decode() for k, f in (a.split('=') for a in sys.argv[2:])}}))
	END
	api POST /api/v1/namespaces/ceems/secrets secret.json >/dev/null
}
status() { api GET "/api/v1/namespaces/ceems/pods/$1" | jq -c '[.status.containerStatuses[]? | [.name, .ready, .restartCount]]'; }
is_ready() { [ "$(status "$1")" = "$2" ]; }
logs() { find "$node/logs" -path "*ceems_$1_*" -name '*.log' -exec tail -n 12 {} + 2>/dev/null | cut -c1-400 | sed 's/^/# /'; api GET "/api/v1/namespaces/ceems/pods/$1" | jq -c '.status | .containerStatuses, .conditions' | cut -c1-1500 | sed 's/^/# /'; }
ok "a real kubelet and API server are up" wait_for 120 eval 'api GET /api/v1/nodes/labnode | jq -e ".status.conditions" >/dev/null' || { tail -n 3 node.log "$node"/*.log | cut -c1-300 | sed 's/^/# /'; tap_done; }
"$rig" load $rig_pid "$node" "$SCRATCH/image.tar" >load.log 2>&1 || sed 's/^/# /' load.log
echo '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ceems"}}' >ns.json
ok "there is a namespace" wait_for 60 eval 'api POST /api/v1/namespaces ns.json >ns.out; grep -q "\"uid\"\|AlreadyExists" ns.out' || sed "s/^/# /" ns.out
echo a-token >token
secret ceems-aggregator-token token=token

# ---- a node's pod
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "tls_server_config: {cert_file: server.pem, key_file: server.key}\nbasic_auth_users: {prometheus: '%s'}\n" "$hash" >web-config.yaml
secret ceems-node-web web-config.yaml=web-config.yaml server.pem=server.pem server.key=server.key
objects node.yaml node >node.objects
ok "the API server takes the objects of a node" send node.objects
ok "both containers run, and are ready" wait_for 180 is_ready node '[["ceems-k8s",true,0],["ceemsd",true,0]]' || { logs node; tap_done; }
pid_of() { # PROGRAM: in a pod
	local p
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = "$1" ] && grep -qs "/$name/kubepods/" "$p/cgroup" && echo "${p#/proc/}"
	done | head -1
}
rights() { awk '/^Uid:/ { u = $2 } /^Cap(Eff|Prm|Bnd):/ { c = c " " $2 } /^NoNewPrivs:/ { n = $2 } END { print u c, n }' "/proc/$(pid_of "$1")/status"; }
none=0000000000000000
is "ceemsd is user ceems by then, without a capability" "$(rights ceemsd)" "64800 $none $none $none 1"
is "ceems-k8s is root without any" "$(rights ceems-k8s)" "0 $none $none $none 1"
for p in ceemsd ceems-k8s; do
	like "nothing of the root of $p can be written" "$(touch "/proc/$(pid_of $p)/root/x" 2>&1)" 'Read-only file system'
	like "nor its control groups" "$(mkdir "/proc/$(pid_of $p)/root/sys/fs/cgroup/$name-x" 2>&1)" 'Read-only file system|Permission denied'
done
metrics() { "$rig" enter $rig_pid curl -s --cacert site.pem -o body -w '%{http_code}' "$@" https://127.0.0.1:9010/metrics; }
is "a stranger reads no metrics" "$(metrics)" 401
scrape() { [ "$(metrics -u 'prometheus:correct horse')" = 200 ]; }
ok "Prometheus reads them by the password of the secret" scrape
says() { cat "$node"/logs/ceems_"$1"_*/"$2"/*.log; }
has_said() { says node ceemsd | grep -q "$1"; }
ok "the kernel program for last counters is loaded" has_said 'the kernel follows the control groups' || logs node

post() { # NAME COMMAND: a pod of a user; its UID
	pod "$1" default "$2" 'requests: {cpu: 100m}' >pod.yaml
	api POST /api/v1/namespaces/default/pods pod.yaml | jq -r .metadata.uid
}
long=$(post long 'sleep 1000')
runs() { scrape && [ -n "$(value ceems_compute_unit_cpu_user_seconds_total "$1")" ]; }
ok "a user's pod is a unit" wait_for 60 runs "$long"
ok "with what it requests, by kubelet's Pods API" wait_for 60 shows ceems_compute_unit_cpus "$long" 0.1 || logs node
short=$(post short 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done')
record() { "$BUILD/ceems_tool" spool "$SCRATCH/reports/ceemsd" 2>/dev/null | grep -F "\"$short\"" | grep -F '"final"'; }
ok "one that has ended is in a report that waits for the aggregator" wait_for 60 record || { "$BUILD/ceems_tool" spool "$SCRATCH/reports/ceemsd" 2>&1 | tail -n 3 | cut -c1-300 | sed 's/^/# /'; }
# an upgrade: another pod takes over what the first one left
api DELETE "/api/v1/namespaces/ceems/pods/node" >/dev/null
ok "the node's pod is removed" wait_for 90 eval 'api GET /api/v1/namespaces/ceems/pods/node | grep -q "\"NotFound\""'
objects node.yaml node devices | grep '"kind": "Pod"' >again.objects
awk -v RS='\n---\n' '{ print > "role" NR ".yaml" }' "$TOP/contrib/k8s/deploy/devices/rbac.yaml"
api POST /apis/rbac.authorization.k8s.io/v1/clusterroles role1.yaml >/dev/null
api POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings role2.yaml >/dev/null
# what a controller makes in each namespace
jq -n --rawfile ca "$node/pki/apiserver.crt" '{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "kube-root-ca.crt"}, data: {"ca.crt": $ca}}' >ca.json
api POST /api/v1/namespaces/ceems/configmaps ca.json >/dev/null
ok "it is made again, as by an upgrade, with the component for devices" send again.objects
ok "and runs" wait_for 180 is_ready node '[["ceems-k8s",true,0],["ceemsd",true,0]]' || logs node
ok "with the units of before" wait_for 60 runs "$long" || logs node
is "which are not found anew" "$(cat "$node"/logs/ceems_node_*/ceemsd/*.log | grep -c "unit $long: found in mid-life")" 0
later=$(post later 'sleep 1000')
ok "and is told of new ones" wait_for 60 runs "$later" || logs node
ok "with what they request, by the API server and the token of its account" wait_for 90 shows ceems_compute_unit_cpus "$later" 0.1 || logs node
"$rig" devices $rig_pid nvidia.com/gpu GPU-0001 >plugin.log 2>&1 </dev/null &
started $!
ok "a device plugin is registered" wait_for 60 eval 'api GET /api/v1/nodes/labnode | jq -e ".status.allocatable[\"nvidia.com/gpu\"] == \"1\"" >/dev/null' || sed 's/^/# /' plugin.log
pod gpu default 'sleep 1000' 'limits: {nvidia.com/gpu: 1}' >pod.yaml
gpu=$(api POST /api/v1/namespaces/default/pods pod.yaml | jq -r .metadata.uid)
has_gpu() { "$BUILD/ceems-ringdump" "$run/ring" | jq -r "select(.type == \"step_start\" and .unit == \"$gpu\") | .devices[]?.uuid" | grep -qx GPU-0001; }
ok "a pod has its GPU, by kubelet's list of devices" wait_for 90 has_gpu || logs node

# ---- the webhook's
secret ceems-admission-tls tls.crt=server.pem tls.key=server.key ca.crt=site.pem
secret ceems-admission-token token=token
objects admission.yaml hook >hook.objects
ok "the API server takes the objects of the webhook" send hook.objects
ok "it and its courier run, and are ready" wait_for 180 is_ready hook '[["admission",true,0],["courier",true,0]]' || logs hook
is "it is a user of its own without a capability" "$(rights ceems_k8s_admis)" "65532 $none $none $none 1"
like "nothing of its root can be written" "$(touch "/proc/$(pid_of ceems_k8s_admis)/root/x" 2>&1)" 'Read-only file system'
kube() { # as test/kube_api.sh has it
	local token=$1token method=$2 path=$3 type=application/yaml body=()
	[ "$1" != admin ] || token=labtoken
	[ "$2" != PATCH ] || type=$KUBE_PATCH
	[ $# -lt 4 ] || body=(--data-binary "$4")
	"$rig" enter $rig_pid curl -sk -m 20 -X "$method" -H "Authorization: Bearer $token" -H "Content-Type: $type" "${body[@]}" "https://127.0.0.1:6443$path"
}
hook_register >hook.out
for n in probe owned; do pod $n default 'sleep 1000' >$n.yaml; done
probe() { [ "$(kube alice POST '/api/v1/namespaces/default/pods?dryRun=All' @probe.yaml | owner)" = alice ]; }
ok "the API server calls it" wait_for 60 probe || tail -n 3 "$node/apiserver.log" | cut -c1-300 | sed 's/^/# /'
kube alice POST /api/v1/namespaces/default/pods @owned.yaml >owned.json
is "a pod has its owner" "$(owner <owned.json)" alice
spool() { "$BUILD/ceems_tool" spool "$(echo "$node"/kl/pods/*/volumes/kubernetes.io~empty-dir/spool/admission)" 2>/dev/null; }
ok "and a claim, by the API server's certificate" wait_for 30 eval '[ "$(claimed "$(uid_of <owned.json)")" = alice ]' || { spool; logs hook; } | sed 's/^/# /'
# cert-manager renews the certificate
pki_cert later site serverAuth DNS:localhost,IP:127.0.0.1 /CN=later
python3 -c 'import base64, json; b = lambda f: base64.b64encode(open(f, "rb").read()).decode(); print(json.dumps({"data": {"tls.crt": b("later.pem"), "tls.key": b("later.key")}}))' >renewed.json
KUBE_PATCH=application/merge-patch+json kube admin PATCH /api/v1/namespaces/ceems/secrets/ceems-admission-tls @renewed.json >/dev/null
subject() { "$rig" enter $rig_pid openssl s_client -connect 127.0.0.1:9000 </dev/null 2>/dev/null | openssl x509 -noout -subject 2>/dev/null; }
ok "a certificate that is renewed in its secret is served, and nobody sends a signal" wait_for 150 eval '[[ $(subject) == *later ]]' || { subject; says hook admission | tail -n 3; } | sed 's/^/# /'
ok "by it reviews go on" wait_for 60 probe || { tail -n 3 "$node/apiserver.log"; says hook admission | tail -n 5; } | cut -c1-500 | sed 's/^/# /'
tap_done
