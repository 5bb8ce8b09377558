#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2700
# An aggregator that follows a real API server: pods and namespaces from there, and who sees a namespace by
# SubjectAccessReview; an API server that goes away; a token that is taken away.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pki.sh"
. "$TOP/test/kube_api.sh"
why=$(kube_possible) || skip_all "$why"
. "$TOP/test/aggregator.sh"
ok "a real API server is up" kube_begin || { tail -n 5 kube/apiserver.log | sed 's/^/# /'; tap_done; }
kube_reader
for n in web lab; do kube_namespace $n; done
for u in alice bob; do kube_binding web lab-edit User $u; done
kube alice POST /api/v1/namespaces/web/pods "$(pod_yaml a '{"ceems.io/created-by":"mallory"}')" >a.json
kube bob POST /api/v1/namespaces/web/pods "$(pod_yaml b)" >b.json
kube admin POST /api/v1/namespaces/lab/pods "$(pod_yaml l)" >l.json
for p in a b; do pod_runs web $p; done
pod_runs lab l
uid() { grep -m1 -oE "\"uid\": *\"[0-9a-f-]{36}" "$1.json" | grep -oE "[0-9a-f-]{36}"; }
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "basic_auth_users:\n  lb: '%s'\n" "$hash" >web.yaml
(umask 077; echo agg-token >kube.token)
printf 'test=* a-token-of-this-test\nhook a-token-of-the-webhook\n' >tokens
cat >clusters.yaml <<END
clusters:
- id: k1
  manager: k8s
  web: {tls_config: {ca_file: kube/kubeca.pem}}
  extra_config:
    server: $KUBE
    token_file: kube.token
    username_prefix: ""
    people_interval: 1s
    watch: 1s
    rights_interval: 1s
- {id: other, manager: slurm, cli: {path: /x}}
END
chmod 600 web.yaml tokens clusters.yaml
flags=(--web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --ingest.claims-from=token:hook --ingest.token-file="$SCRATCH/tokens"
	--clusters.file="$SCRATCH/clusters.yaml" --admin.users=root)
agg_begin "${flags[@]}"
as() { curl -s -m 60 -u 'lb:correct horse' -H "X-Grafana-User: $1" "${@:3}" "http://127.0.0.1:$agg_port/api/v1$2"; }
verify() { as "$1" "/units/verify?cluster_id=k1&uuid=$2" -o /dev/null -w '%{http_code}'; }
claim() { printf '%s\n' "$@" | "$make" | curl -s -m 60 -o answer -w '%{http_code}' -H 'Authorization: Bearer a-token-of-the-webhook' \
	-H 'Content-Type: application/x-ceems-batch' --data-binary @- "http://127.0.0.1:$agg_port/api/v1/ingest"; }
unit() { sql "SELECT u.name, p.name, j.name, u.state, u.ended IS NULL FROM unit u LEFT JOIN person p ON p.id = u.person LEFT JOIN project j ON j.id = u.project WHERE u.uuid = '$1'"; }
is_unit() { [ "$(unit "$1")" = "$2" ]; }
sees() { [ "$(verify "$1" "$2")" = "$3" ]; }

ok "a pod of the API server is a unit of its namespace" within 20 is_unit "$(uid a)" "a|web:svc|web|RUNNING|t" || { unit "$(uid a)"; tail -n 3 agg.log; } | sed 's/^/# /'
is "its annotation made nobody its owner" "$(sql "SELECT count(*) FROM person WHERE name = 'mallory'")" 0
is "CPUs and memory are its limits" "$(sql "SELECT cpus, memory_bytes FROM unit WHERE uuid = '$(uid a)'")" "1|134217728"
is "a claim is taken" "$(claim "claim uid=$(uid a) owner=alice name=a at=$(date +%s)" "claim uid=$(uid b) owner=bob name=b at=$(date +%s)")" 200
ok "it is alice's by her claim" within 20 is_unit "$(uid a)" "a|alice|web|RUNNING|t"
kube alice POST /api/v1/namespaces/web/pods "$(pod_yaml c)" >c.json
ok "a new pod is seen by the watch" within 20 is_unit "$(uid c)" "c|web:svc|web|PENDING|t"

is "alice, who may get pods in web, sees bob's there" "$(verify alice "$(uid b)")" 200
is "but none of lab" "$(verify alice "$(uid l)")" 403
is "eve, whom no binding names, sees none" "$(verify eve "$(uid b)")" 403
is "an operator's view is not by Kubernetes" "$(verify root "$(uid l)")" 403
like "units of the namespace are listed for alice" "$(as alice '/units?project=web')" "$(uid b)"
kube_binding lab lab-view User eve
ok "with a binding eve sees lab" within 20 sees eve "$(uid l)" 200
is "and not web" "$(verify eve "$(uid b)")" 403
kube admin DELETE "/apis/rbac.authorization.k8s.io/v1/namespaces/lab/rolebindings/lab-view-eve" >/dev/null
ok "without it she does not any more" within 20 sees eve "$(uid l)" 403
# a role that may not get pods: a binding is a name, not a right
kube admin POST /apis/rbac.authorization.k8s.io/v1/clusterroles '{"metadata":{"name":"lab-none"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}' >/dev/null
kube_binding lab lab-none User eve
ok "the binding is known" within 20 eval '[ "$(sql "SELECT count(*) FROM k8s_binding WHERE subject = '"'eve'"'")" = 1 ]'
is "a binding to a role without pods shows nothing" "$(verify eve "$(uid l)")" 403
kube admin POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings '{"metadata":{"name":"frank"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"lab-view"},"subjects":[{"kind":"User","name":"frank","apiGroup":"rbac.authorization.k8s.io"}]}' >/dev/null
ok "who may get pods everywhere sees all namespaces" within 20 sees frank "$(uid l)" 200

kube admin DELETE /api/v1/namespaces/web/pods/c?gracePeriodSeconds=0 >/dev/null
ok "a pod that is deleted ends" within 20 is_unit "$(uid c)" "c|web:svc|web|DELETED|f"
# a namespace that is made again: there is no controller here that empties one, so we do
for p in a b; do kube admin DELETE "/api/v1/namespaces/web/pods/$p?gracePeriodSeconds=0" >/dev/null; done
kube admin DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/web/rolebindings >/dev/null
kube admin DELETE /api/v1/namespaces/web >/dev/null
kube admin PUT /api/v1/namespaces/web/finalize '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"web"},"spec":{"finalizers":[]}}' -o /dev/null
ok "the namespace is gone" within 20 eval '[ "$(kube_status admin GET /api/v1/namespaces/web)" = 404 ]'
sleep 1.1 # times of Kubernetes are whole seconds
kube_namespace web
kube_binding web lab-edit User eve
# FILE NAME: the API server's caches of namespaces and bindings take their time
eves() { kube eve POST /api/v1/namespaces/web/pods "$(pod_yaml "$2")" >"$1.json"; grep -q '"uid"' "$1.json"; }
within 20 eves e a
pod_runs web a
claim "claim uid=$(uid e) owner=eve name=a at=$(date +%s)" >/dev/null
ok "one of the same name has other owners" within 20 is_unit "$(uid e)" "a|eve|web|RUNNING|t" || unit "$(uid e)" | sed 's/^/# /'
is "who do not see the pods of the old one" "$(verify eve "$(uid b)")" 403
is "nor do the old ones see theirs" "$(verify alice "$(uid e)")" 403
is "alice still sees her own" "$(verify alice "$(uid a)")" 200

ok "a restart of the API server" eval 'kill9 $kube_pid && sees eve "$(uid l)" 403'
is "while it is down nobody sees others' pods" "$(sleep 1.5; verify frank "$(uid l)")" 403
is "but their own" "$(verify alice "$(uid a)")" 200
like "which is said" "$(cat agg.log)" 'nobody sees namespaces'
ok "it is back" kube_start
ok "and asked again" within 20 sees frank "$(uid l)" 200
within 20 eves n n
ok "and watched" within 20 is_unit "$(uid n)" "n|web:svc|web|PENDING|t"
(umask 077; echo wrong >kube.token)
ok "a token that is no longer valid is said" within 20 grep -q 'the token is not valid' agg.log
(umask 077; echo agg-token >kube.token)
within 20 eves o o
ok "a new one is read without a restart" within 20 is_unit "$(uid o)" "o|web:svc|web|PENDING|t"

# ---- the same from a kubeconfig, with the certificate in it as text
cat >kube.conf <<END
apiVersion: v1
kind: Config
current-context: k1
contexts: [{name: k1, context: {cluster: k1, user: ceems}}]
clusters: [{name: k1, cluster: {server: "$KUBE", certificate-authority-data: $(base64 -w0 kube/kubeca.pem)}}]
users: [{name: ceems, user: {token: agg-token}}]
END
sed -i '/tls_config/d; /token_file/d; s/ server: .*/ kubeconfig_file: kube.conf/' clusters.yaml
kill $agg_pid
wait_for 30 is_gone $agg_pid
refused() { ! "$agg" --db.url="$PGURL" "${flags[@]}" --check-config >why 2>&1 && grep -q 'kube.conf' why; }
chmod 644 kube.conf
ok "a kubeconfig that others may read is refused" refused || sed 's/^/# /' why
chmod 600 kube.conf
ok "with a kubeconfig an aggregator starts" agg_run "$agg_port" "${flags[@]}" || tail -n 3 agg.log | sed 's/^/# /'
within 20 eves q q
ok "and watches" within 20 is_unit "$(uid q)" "q|web:svc|web|PENDING|t" || tail -n 3 agg.log | sed 's/^/# /'
ok "and asks about rights" within 20 sees frank "$(uid l)" 200

# ---- the peer's keys: which resources are GPUs, and annotations that the site trusts
sed -i 's/^    username_prefix: ""/&\n    gpu_resource_names: [example.com\/gpu]\n    username_annotations: [site\/first, site\/owner]\n    project_annotations: [site\/project]\n    groups_file: groups.yaml\n    groups: [g1, g2, g3, g4, g5, g6, g7, g8, g9, g10, g11, g12, g13, g14, g15, g16, staff]/' clusters.yaml
in_groups() { printf 'groups: {students: [%s], "system:masters": [eve]}\n' "$1" >groups.new && mv groups.new groups.yaml; }
in_groups judy
kill $agg_pid
wait_for 30 is_gone $agg_pid
ok "an aggregator has them" agg_run "$agg_port" "${flags[@]}" || tail -n 3 agg.log | sed 's/^/# /'
kube eve POST /api/v1/namespaces/web/pods "$(pod_yaml p '{"site/owner":"gina","site/project":"lab","ceems.io/created-by":"mallory"}' | sed 's/"limits":{/&"example.com\/gpu":2,"nvidia.com\/gpu":1,/; s/"requests":{/&"example.com\/gpu":2,"nvidia.com\/gpu":1,/')" >p.json
pod_runs web p
kube_binding lab lab-view User hilda
ok "a pod is the one's and of the project that they name" within 20 is_unit "$(uid p)" "p|gina|lab|RUNNING|t" || { unit "$(uid p)"; tail -n 3 agg.log; } | sed 's/^/# /'
is "its GPUs are those of the resources that are listed" "$(sql "SELECT gpus FROM unit WHERE uuid = '$(uid p)'")" 2
ok "who is named sees it" within 20 sees gina "$(uid p)" 200
ok "who may get pods in the namespace of that name sees those of it" within 20 sees hilda "$(uid l)" 200
is "but not this one" "$(verify hilda "$(uid p)")" 403
ok "who may get pods in its own namespace sees others there" within 20 sees eve "$(uid e)" 200
is "and this one neither: it is of another project" "$(verify eve "$(uid p)")" 403

# ---- groups of single users: a role binding of one is a right of who is in it by the site's file
kube_binding lab lab-view Group students
ok "who is in a group of a role binding sees the namespace" within 20 sees judy "$(uid l)" 200
is "who is not does not" "$(verify ivan "$(uid l)")" 403
is "nobody is in a group of Kubernetes itself by it" "$(verify eve "$(uid l)")" 403
in_groups ivan
ok "who is put into the group does" within 20 sees ivan "$(uid l)" 200
ok "and who is taken out of it not any more" within 20 sees judy "$(uid l)" 403
printf 'groups: {students: [judy]}\n' >groups.new && chmod 666 groups.new && mv groups.new groups.yaml
ok "a file that others may write is refused" within 20 grep -q 'groups.yaml.*can be written by others' agg.log
is "and gives nobody a group" "$(verify judy "$(uid l)") $(verify ivan "$(uid l)")" "403 200"
in_groups ivan
kube admin DELETE /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/frank >/dev/null
kube admin POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings '{"metadata":{"name":"students"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"lab-view"},"subjects":[{"kind":"Group","name":"students","apiGroup":"rbac.authorization.k8s.io"}]}' >/dev/null
ok "a group that may everywhere sees all namespaces" within 20 sees ivan "$(uid e)" 200
ok "not so whom no binding names any more" within 20 sees frank "$(uid e)" 403
kube_binding lab lab-view Group staff
ok "the last of many groups that everybody is in counts, too" within 20 sees frank "$(uid l)" 200
tap_done
