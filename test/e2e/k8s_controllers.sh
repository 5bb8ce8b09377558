#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2700
# Whose the pods of controllers are: a real kube-controller-manager makes them for a Deployment, a StatefulSet, a DaemonSet, a
# ReplicaSet, a ReplicationController, a Job and a CronJob of one user, which another one scales and edits; their reviews come
# from a real API server, and the claims go by ceems-courier to an aggregator that reads it.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pki.sh"
. "$TOP/test/kube_api.sh"
. "$TOP/test/kube_hook.sh"
why=$(kube_possible) || skip_all "$why"
[ -x "$kube_bin/kube-controller-manager" ] || skip_all "no kube-controller-manager in $kube_bin (test/rig/k8s make builds it)"
[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier is not built"
command -v jq >/dev/null || skip_all "jq is not installed"
. "$TOP/test/aggregator.sh"
hook_prepare
! have_root || { hook_user=(--security.drop-privileges=false) && chown root spool; }
ok "the webhook serves" hook_run || sed 's/^/# /' hook.log
ok "a real API server is up" kube_begin "${hook_flags[@]}" || { tail -n 5 kube/apiserver.log | sed 's/^/# /'; tap_done; }
kube_reader
for n in web hub; do kube_namespace $n; done
for u in alice bob system:serviceaccount:hub:hub; do kube_binding web lab-edit User $u; kube_binding hub lab-edit User $u; done
hook_register >/dev/null
probe() { [ "$(kube alice POST "/api/v1/namespaces/web/pods?dryRun=All" "$(pod_yaml probe)" | owner)" = alice ]; }
ok "the API server calls it" wait_for 60 probe
manager() { # TOKEN [FLAG...]
	printf 'apiVersion: v1\nkind: Config\ncurrent-context: lab\nclusters: [{name: lab, cluster: {server: "%s", certificate-authority: %s}}]\nusers: [{name: lab, user: {token: %s}}]\ncontexts: [{name: lab, context: {cluster: lab, user: lab}}]\n' \
		"$KUBE" "$SCRATCH/kube/kubeca.pem" "$1" >kube/manager.conf
	"$kube_bin/kube-controller-manager" --kubeconfig="$SCRATCH/kube/manager.conf" --leader-elect=false --secure-port=0 "${@:2}" \
		--controllers=deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,job-controller,cronjob-controller,replicationcontroller-controller >>kube/manager.log 2>&1 &
	manager_pid=$!
	started $manager_pid
}
(umask 077; echo agg-token >kube.token; printf 'test=* a-token-of-this-test\nhook a-token-of-the-webhook\n' >tokens; echo a-token-of-the-webhook >hook.token)
cat >clusters.yaml <<END
clusters:
- id: k1
  manager: k8s
  web: {tls_config: {ca_file: kube/kubeca.pem}}
  extra_config: {server: "$KUBE", token_file: kube.token, username_prefix: "", people_interval: 1s, watch: 1s}
END
chmod 600 clusters.yaml
agg_begin --ingest.claims-from=token:hook --ingest.token-file="$SCRATCH/tokens" --clusters.file="$SCRATCH/clusters.yaml"
"$BUILD/ceems-courier" --ship.spool="$SCRATCH/spool" --aggregator.url="http://127.0.0.1:$agg_port" --aggregator.token-file="$SCRATCH/hook.token" 2>courier.log &
started $!

pod='{"metadata":{"labels":{"a":"NAME"}},"spec":{"tolerations":[{"operator":"Exists"}],"containers":[{"name":"c","image":"localhost/bb:1"}]}}'
many='"selector":{"matchLabels":{"a":"NAME"}},"replicas":1,"template":'$pod
job='"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"localhost/bb:1"}]}}'
make_one() { # USER NAMESPACE GROUP KIND NAME SPEC [ANNOTATIONS]
	local g=/apis/$3
	[ "$3" != v1 ] || g=/api/v1
	kube "$1" POST "$g/namespaces/$2/${4,,}s" "{\"apiVersion\":\"$3\",\"kind\":\"$4\",\"metadata\":{\"name\":\"$5\",\"annotations\":${7:-{\}}},\"spec\":{${6//NAME/$5}}}" >"$5.json"
}
# NAME...: whose the pods are whose names begin so, by the aggregator
whose() { sql "SELECT string_agg(DISTINCT coalesce(p.name, '-'), ',') FROM unit u LEFT JOIN person p ON p.id = u.person WHERE u.name LIKE '$1-%'"; }
is_of() { [ "$(whose "$1")" = "$2" ]; }
pods_of() { sql "SELECT count(*) FROM unit WHERE name LIKE '$1-%'"; }
note() { kube admin GET "/api/v1/namespaces/web/pods?labelSelector=a%3D$1" | jq -r '[.items[].metadata.annotations["ceems.io/created-by"]] | unique | join(",")'; }

# each controller by its own account, as kubeadm has it
manager admin-token --use-service-account-credentials
kube admin POST /api/v1/nodes '{"metadata":{"name":"n1"}}' >/dev/null # for the DaemonSet
make_one alice web batch/v1 CronJob cron '"schedule":"* * * * *","jobTemplate":{"spec":{'"$job"'}}'
make_one alice web apps/v1 Deployment deploy "$many"
make_one alice web apps/v1 StatefulSet stateful "\"serviceName\":\"s\",$many"
make_one alice web apps/v1 DaemonSet daemon "${many/'"replicas":1,'/}"
make_one alice web apps/v1 ReplicaSet replica "$many"
make_one alice web v1 ReplicationController control "\"selector\":{\"a\":\"NAME\"},\"replicas\":1,\"template\":$pod"
make_one alice web batch/v1 Job once "$job"
for n in deploy stateful daemon replica control once; do
	ok "the pod of $(jq -r .kind $n.json) $n is who made that" wait_for 60 is_of $n alice || { whose $n; jq -r .message $n.json; tail -n 2 kube/manager.log courier.log; } | sed 's/^/# /'
done
is "the annotations of pods say so, too" "$(note deploy) $(note stateful) $(note control)" "alice alice alice"
one=/apis/apps/v1/namespaces/web/deployments/deploy
kube bob PATCH $one/scale '{"spec":{"replicas":3}}' >/dev/null
ok "another user scales the Deployment" wait_for 60 eval '[ "$(pods_of deploy)" = 3 ]'
kube bob PATCH $one '{"spec":{"template":{"metadata":{"labels":{"new":"yes"},"annotations":{"ceems.io/created-by":"bob"}}}}}' >/dev/null
ok "and changes its template, which makes another ReplicaSet and new pods" wait_for 60 eval '[ "$(pods_of deploy)" -ge 4 ]'
ok "all its pods are who made it" wait_for 60 is_of deploy alice || whose deploy | sed 's/^/# /'
make_one hub hub apps/v1 StatefulSet jupyter "\"serviceName\":\"s\",$many" '{"ceems.io/created-by":"bob"}'
ok "what JupyterHub makes for a user by a controller is the user's" wait_for 60 is_of jupyter bob

kill9 $PID
make_one alice web apps/v1 Deployment down "${many/'"replicas":1'/'"replicas":0'}"
ok "a Deployment is made while the webhook is down" grep -q '"uid"' down.json
kube alice PATCH /apis/apps/v1/namespaces/web/deployments/down '{"spec":{"template":{"metadata":{"annotations":{"ceems.io/created-by":"bob"}}}}}' >/dev/null
ok "the webhook is back" hook_run
kube alice PATCH /apis/apps/v1/namespaces/web/deployments/down '{"spec":{"replicas":1}}' >/dev/null
ok "a pod of that Deployment is its namespace's, whatever its template says" wait_for 60 is_of down web:svc || whose down | sed 's/^/# /'
is "the annotation names another still" "$(note down)" bob

# all controllers by one account
kill9 $manager_pid
manager manager-token
make_one bob web apps/v1 Deployment single "$many"
ok "with one account for all controllers the pod of a Deployment is who made that" wait_for 60 is_of single bob || whose single | sed 's/^/# /'
ok "the pod of a CronJob, by its Job, is who made that" wait_for 90 is_of cron alice || { whose cron; tail -n 2 kube/manager.log; } | sed 's/^/# /'
tap_done
