#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The manifests of contrib/k8s/deploy: a real API server takes each object (server-side dry run with strict fields), nothing
# is privileged, host paths and capabilities are those that the documentation names, and the aggregator's role is enough
# and no more. helm makes the same objects of the chart, and kustomize builds them, alone and with the component for devices.
# timeout 1200
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pki.sh"
. "$TOP/test/kube_api.sh"
base=$TOP/contrib/k8s/deploy/base chart=$TOP/contrib/k8s/deploy/helm/ceems page=$TOP/doc/k8s_deploy.md
cd "$SCRATCH" || exit 1
python3 -c 'import yaml' 2>/dev/null || skip_all "python3-yaml is not installed"
# objects FILE...: DIR/N.json of each object of YAML files
objects() {
	python3 - "$@" <<-'END'
		import sys, yaml, json, os
		out, n = sys.argv[1], 0
		os.makedirs(out, exist_ok=True)
		for f in sys.argv[2:]:
		    for d in yaml.safe_load_all(open(f)):
		        if d:
		            json.dump(d, open('%s/%02d.json' % (out, n), 'w'))
		            n += 1
	END
}
listed=$(sed -n 's/^  - \(.*\.yaml\)$/\1/p' "$base/kustomization.yaml")
is "each file is in the kustomization" "$(cd "$base" && ls ./*.yaml | sed 's|./||' | grep -v kustomization | sort)" "$(sort <<<"$listed")"
objects base $(sed "s|^|$base/|" <<<"$listed")
ok "there are objects" [ "$(ls base | wc -l)" -ge 13 ]
# differ DIR DIR: what is not the same in two sets of objects but for their namespace, lists by name in any order
differ() {
	python3 - "$@" <<-'END'
		import sys, json, glob
		def plain(x):
		    if isinstance(x, dict):
		        return {k: plain(v) for k, v in x.items()}
		    if isinstance(x, list):
		        return sorted(map(plain, x), key=lambda e: e.get('name', '') if isinstance(e, dict) else '')
		    return x
		sets = []
		for folder in sys.argv[1:]:
		    docs = [json.load(open(f)) for f in glob.glob(folder + '/*.json')]
		    sets.append({d['kind'] + '/' + d['metadata']['name']: plain(d) for d in docs if d['kind'] != 'Namespace'})
		for name in sorted(sets[0].keys() | sets[1].keys()):
		    if sets[0].get(name) != sets[1].get(name):
		        print(name, json.dumps(sets[0].get(name)), json.dumps(sets[1].get(name)), sep='\n')
	END
}
# program NAME: where it is installed, else one that is built once; or why there is none
program() {
	local dir
	command -v "$1" && return
	dir=$("$TOP/test/rig/go_program" make "$1" 2>/dev/null) && echo "$dir/$1" || { echo "$dir"; false; }
}
query() { python3 - base "$1" <<-'END'
	import sys, json, glob
	docs = [json.load(open(f)) for f in sorted(glob.glob(sys.argv[1] + '/*.json'))]
	pods = [d['spec']['template']['spec'] for d in docs if d['kind'] in ('DaemonSet', 'Deployment')]
	cs = [c for p in pods for c in p['containers']]
	print(eval(sys.argv[2]))
	END
}
is "nothing is privileged" "$(query "[c['name'] for c in cs if c['securityContext'].get('privileged') or c['securityContext']['allowPrivilegeEscalation']]")" "[]"
is "each root file system is read-only" "$(query "[c['name'] for c in cs if not c['securityContext']['readOnlyRootFilesystem']]")" "[]"
is "all capabilities are dropped first" "$(query "[c['name'] for c in cs if c['securityContext']['capabilities']['drop'] != ['ALL']]")" "[]"
is "only ceemsd has some" "$(query "[c['name'] for c in cs if c['securityContext']['capabilities'].get('add')]")" "['ceemsd']"
is "no pod has a token for the API server" "$(query "[p['serviceAccountName'] for p in pods if p['automountServiceAccountToken']]")" "[]"
is "host paths are read-only but for the ring and the spool" "$(query "sorted({m['mountPath'] for p in pods for c in p['containers'] for m in c['volumeMounts'] for v in p['volumes'] if v['name'] == m['name'] and 'hostPath' in v and not m.get('readOnly')})")" "['/run/ceems', '/var/spool/ceems']"
bad=
for w in $(sed -n 's/.*hostPath: {path: \([^,]*\).*/\1/p' "$base/../devices/node.yaml") $(query "' '.join([v['hostPath']['path'] for p in pods for v in p['volumes'] if 'hostPath' in v] + [k for c in cs for k in c['securityContext']['capabilities'].get('add', [])])"); do
	grep -qF "\`$w\`" "$page" || bad+="$w "
done
is "the documentation names each host path and capability" "$bad" ""

if why=$(kube_possible); then
	ok "a real API server is up" kube_begin || tap_done
	# apply DIR: the dry run of each; namespaces must be there for it
	kube_namespace ceems
	apply() {
		local f path left=
		for f in "$1"/*.json; do
			path=$(python3 - "$f" <<-'END'
				import sys, json
				d = json.load(open(sys.argv[1])); g, _, v = d['apiVersion'].rpartition('/')
				many = {'NetworkPolicy': 'networkpolicies'}.get(d['kind'], d['kind'].lower() + 's')
				m = d['metadata']
				print(('/apis/%s/%s' % (g, v) if g else '/api/' + v) + ('/namespaces/' + m['namespace'] if 'namespace' in m else '') + '/%s/%s' % (many, m['name']))
			END
			)
			local KUBE_PATCH=application/apply-patch+yaml
			s=$(kube_status admin PATCH "$path?dryRun=All&fieldManager=test&fieldValidation=Strict&force=true" "@$f")
			case $s in 200 | 201) ;; *) left+="$path: $s $(kube admin PATCH "$path?dryRun=All&fieldManager=test&fieldValidation=Strict&force=true" "@$f" | grep -m1 '"message"')"$'\n' ;; esac
		done
		echo -n "$left"
	}
	is "the API server takes each object, every field of it" "$(apply base)" ""
	mkdir wrong && python3 -c 'import json,glob; d=[json.load(open(f)) for f in glob.glob("base/*.json")]; x=[o for o in d if o["kind"]=="Deployment"][0]; x["spec"]["replicaz"]=1; json.dump(x,open("wrong/0.json","w"))'
	like "a field that does not exist is seen" "$(apply wrong)" 'replicaz'

	# the aggregator's role, for the account of the tests
	for f in base/*.json; do
		case $(cat "$f") in *'"kind": "ClusterRole"'*) kube admin POST /apis/rbac.authorization.k8s.io/v1/clusterroles "@$f" >/dev/null ;; esac
	done
	kube admin POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings '{"metadata":{"name":"t"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"ceems-aggregator"},"subjects":[{"kind":"User","name":"ceems-aggregator","apiGroup":"rbac.authorization.k8s.io"}]}' >/dev/null
	may() { kube_status agg GET "$1"; }
	wait_for 20 eval '[ "$(may /api/v1/pods)" = 200 ]'
	is "with its role the aggregator lists pods, namespaces and role bindings" "$(may /api/v1/pods) $(may /api/v1/namespaces) $(may /apis/rbac.authorization.k8s.io/v1/rolebindings)" "200 200 200"
	is "and asks for rights" "$(kube_status agg POST /apis/authorization.k8s.io/v1/subjectaccessreviews '{"spec":{"user":"alice","resourceAttributes":{"verb":"get","resource":"pods"}}}')" 201
	is "but reads no secret, no config map, and writes nothing" "$(may /api/v1/secrets) $(may /api/v1/configmaps) $(kube_status agg POST /api/v1/namespaces/ceems/pods "$(pod_yaml x)")" "403 403 403"
	# the component for devices: its role, and its patch, which the API server merges
	objects rbac "$base/../devices/rbac.yaml"
	is "the API server takes the role of the component for devices" "$(apply rbac)" ""
	for f in rbac/*.json; do kube admin POST "/apis/rbac.authorization.k8s.io/v1/clusterrole$(grep -q ClusterRoleBinding "$f" && echo bindings || echo s)" "@$f" >/dev/null; done
	as_node() { kube_status admin "$@" -H 'Impersonate-User: system:serviceaccount:ceems:ceems-node'; }
	wait_for 20 eval '[ "$(as_node GET /api/v1/pods)" = 200 ]'
	is "with it ceems-k8s reads pods and slices, no secret and no claim, and writes no slice" \
		"$(as_node GET /apis/resource.k8s.io/v1/resourceslices) $(as_node GET /api/v1/secrets) $(as_node GET /apis/resource.k8s.io/v1/resourceclaims) $(as_node POST /apis/resource.k8s.io/v1/resourceslices '{}')" "200 403 403 403"
	objects patch "$base/../devices/node.yaml"
	kube admin POST /apis/apps/v1/namespaces/ceems/daemonsets "@$(grep -l '"kind": "DaemonSet"' base/*.json)" >/dev/null
	KUBE_PATCH=application/strategic-merge-patch+json
	kube admin PATCH '/apis/apps/v1/namespaces/ceems/daemonsets/ceems-node?fieldValidation=Strict' @patch/00.json >merged.json
	unset KUBE_PATCH
	is "the component gives a token and kubelet's socket to ceems-k8s alone, read-only" \
		"$(jq -c '[.spec.template.spec.containers[] | {name, m: [.volumeMounts[] | select(.name == "account" or .name == "pod-resources") | .name, .readOnly]} | select(.m != [])]' merged.json)" \
		'[{"name":"ceems-k8s","m":["pod-resources",true,"account",true]}]'
	is "all other mounts stay" "$(jq -c '[.spec.template.spec.containers[].volumeMounts | length]' merged.json)" "[11,5]"
	is "and it asks the API server, which it does not without" "$(jq -c '.spec.template.spec.containers[1].env[] | select(.name == "CEEMS_K8S_API").value' merged.json) $(query "[e['value'] for c in cs for e in c.get('env', []) if e['name'] == 'CEEMS_K8S_API']")" "\"auto\" ['off']"
	# the chart, by helm: the same objects, and each value
	if helm=$(program helm); then
		render() { HOME=$SCRATCH "$helm" template ceems "$chart" --namespace ceems "${@:2}" >"$1.yaml" 2>helm.err && objects "$1" "$1.yaml"; }
		is "helm lint has nothing to say" "$(HOME=$SCRATCH "$helm" lint --strict --quiet "$chart" 2>&1)" ""
		ok "the chart is rendered" render chart || sed 's/^/# /' helm.err
		is "it gives the objects of the base, every field of them" "$(differ base chart)" ""
		render with --set node.devices=true,node.drm=true,node.criSocket=/run/containerd/containerd.sock,node.env.ceemsd.CEEMS_UNIT_MIN_EXPORT=5s,node.env.k8s.CEEMS_K8S_GPU_DRIVER_NAMES=gpu.example.com || sed 's/^/# /' helm.err
		is "the API server takes what each switch adds" "$(apply with)" ""
		added() { jq -c "$1" "$(grep -l '"kind": "DaemonSet"' with/*.json)"; }
		is "ceemsd gets what DRM needs, and the site's options" "$(added '.spec.template.spec.containers[0] | [.securityContext.capabilities.add[-1], .env[1]]') $(grep -c 'drm: {enabled: true}' "$(grep -l '"kind": "ConfigMap".*ceemsd.yaml' with/*.json)")" \
			'["SYS_PTRACE",{"name":"CEEMS_UNIT_MIN_EXPORT","value":"5s"}] 1'
		is "ceems-k8s the folder of the runtime's socket, and the site's options" "$(added '.spec.template.spec.containers[1] | [.volumeMounts[-1], .env[2:]]')" \
			'[{"name":"cri","mountPath":"/run/containerd","readOnly":true},[{"name":"CEEMS_K8S_CRI_SOCKET_FILE","value":"/run/containerd/containerd.sock"},{"name":"CEEMS_K8S_GPU_DRIVER_NAMES","value":"gpu.example.com"}]]'
		is "the documentation names each value of a node" "$(sed -n '/^node:/,/^admission:/s/^  \([a-zA-Z]*\): .*/\1/p' "$chart/values.yaml" | grep -v enabled | while read -r k; do grep -qF "\`node.$k" "$page" || echo "$k"; done)" ""
		render bare --set node.webSecret= || sed 's/^/# /' helm.err
		is "without a secret for it the web server of a node has no configuration" "$(grep -l 'etc/ceems/web' bare/*.json | while read -r f; do jq -r .metadata.name "$f"; done | sort -u)" ceems-admission
		for bad in node.devces=true node.env.k8s.FOO=x aggregator.url=host admission.failurePolicy=ignore; do
			render bad --set $bad
			like "a value that is wrong is refused: $bad" "$(cat helm.err)" "values don't meet the specifications"
		done
	else
		skip "the API server takes each object of the chart" "$helm"
	fi
	if kustomize=$(program kustomize); then
		"$kustomize" build "$base" >built.yaml 2>kustomize.err && objects built built.yaml
		is "kustomize builds the base, each field as it stands" "$(cat kustomize.err; differ base built)" ""
		mkdir site && printf 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [%s]\ncomponents: [%s]\n' "$(realpath --relative-to=site "$base")" "$(realpath --relative-to=site "$base/../devices")" >site/kustomization.yaml
		"$kustomize" build site >site.yaml 2>kustomize.err && objects built-site site.yaml
		is "and with the component, which the API server takes" "$(cat kustomize.err; apply built-site)" ""
		! [ -d with ] || { render devices --set node.devices=true; is "which is what the chart does" "$(differ built-site devices)" ""; }
	else
		skip "kustomize builds the base" "$kustomize"
	fi
else
	skip "the API server takes each object" "$why"
fi
tap_done
