#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2700
# The admission webhook of a real API server: what users of it may make of an owner.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pki.sh"
. "$TOP/test/kube_api.sh"
. "$TOP/test/kube_hook.sh"
why=$(kube_possible) || skip_all "$why"
hook_prepare
ok "the webhook serves" hook_run || sed 's/^/# /' hook.log
ok "a real API server is up" kube_begin "${hook_flags[@]}" || { tail -n 5 kube/apiserver.log | sed 's/^/# /'; tap_done; }
for n in web hub; do kube_namespace $n; done
for u in alice bob; do kube_binding web lab-edit User $u; kube_binding hub lab-edit User $u; done
kube_binding hub lab-edit User system:serviceaccount:hub:hub
kube_binding web lab-edit User system:serviceaccount:hub:hub

is "both webhooks are registered" "$(hook_register | grep -c '"name": *"owner.ceems.io"')" 2
PODS=/api/v1/namespaces/web/pods
probe() { [ "$(kube alice POST "$PODS?dryRun=All" "$(pod_yaml probe)" | owner)" = alice ]; }
ok "the API server calls it" wait_for 60 probe || tail -n 3 kube/apiserver.log | sed 's/^/# /'
is "a dry run leaves no pod" "$(kube_status admin GET $PODS/probe)" 404

kube alice POST $PODS "$(pod_yaml a '{"other":"kept"}')" >a.json
is "a pod's owner is who created it" "$(owner <a.json)" alice
like "other annotations stay" "$(cat a.json)" '"other": *"kept"'
like "the user's uid is there" "$(cat a.json)" '"ceems.io/created-by-uid": *"1001"'
u=$(uid_of <a.json)
ok "its owner is claimed under the uid of its control groups" wait_for 10 eval '[ "$(claimed $u)" = alice ]' || spool | sed 's/^/# /'
is "no dry run is claimed" "$(spool | grep -c '"name":"probe"')" 0
ok "and its reviews were answered" [ "$(curl -s --cacert site.pem "https://127.0.0.1:$P/metrics" | sed -n 's/^ceems_admission_dry_runs_total //p')" -ge 1 ]
kube alice POST $PODS "$(pod_yaml g | sed 's/"name":"g"/"generateName":"g-"/')" >g.json
is "so is that of a pod whose name the API server makes" "$(owner <g.json)" alice
ok "with that name in its claim" wait_for 10 eval 'spool | grep -F "\"uid\":\"$(uid_of <g.json)\"" | grep -q "\"name\":\"g-[a-z0-9]*\",\"owner\":\"alice\""'
# as large as etcd takes it, and each character of it six in the review
python3 -c 'import json; print(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"}, "spec": {"containers": [{"name": "c", "image": "localhost/bb:1", "env": [{"name": "E%d" % i, "value": "<" * 100000} for i in range(14)]}]}}))' >big
kube alice POST $PODS @big >big.json
is "a pod that its user fills with 1.4 MB of characters that JSON escapes has its owner" "$(owner <big.json)" alice
ok "and a claim" wait_for 10 eval '[ "$(claimed $(uid_of <big.json))" = alice ]'
python3 -c 'import json; print(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "many"}, "spec": {"containers": [{"name": "c", "image": "localhost/bb:1", "env": [{"name": "E"}] * 80000}]}}))' >many
kube alice POST $PODS @many >many.json
is "so has one with 80 000 members" "$(owner <many.json)" alice
kube bob POST $PODS "$(pod_yaml b '{"ceems.io/created-by":"alice","ceems.io/created-by-uid":"1001"}')" -D head >b.json
is "who names another owner is the owner all the same" "$(owner <b.json)" bob
like "and is told so" "$(cat head)" '[Ww]arning: 299 .*ceems.io/created-by says who created'
ok "it is claimed for the one who asked" wait_for 10 eval '[ "$(claimed $(uid_of <b.json))" = bob ]'
is "an impersonated user counts" "$(kube admin POST $PODS "$(pod_yaml i)" -H 'Impersonate-User: bob' | owner)" bob

patch() { kube "$1" PATCH "$2" "$3"; }
is "a user who edits the annotation changes nothing" "$(patch bob $PODS/a '{"metadata":{"annotations":{"ceems.io/created-by":"bob"}}}' | owner)" alice
is "nor by removing it" "$(patch bob $PODS/a '{"metadata":{"annotations":{"ceems.io/created-by":null}}}' | owner)" alice
is "an administrator's edit makes him no owner" "$(patch admin $PODS/a '{"metadata":{"labels":{"x":"y"}}}' | owner)" alice

tmpl='"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"},"annotations":{"ceems.io/created-by":"bob"}},"spec":{"containers":[{"name":"c","image":"x"}]}}'
for k in deployments:Deployment daemonsets:DaemonSet replicasets:ReplicaSet; do
	kube alice POST "/apis/apps/v1/namespaces/web/${k%:*}" "{\"apiVersion\":\"apps/v1\",\"kind\":\"${k#*:}\",\"metadata\":{\"name\":\"t\"},\"spec\":{$tmpl}}" >t.json
	is "both in the object and in the template of a ${k#*:} stands the user" "$(grep -o '"ceems.io/created-by": *"[^"]*"' t.json | sort | uniq -c | tr -s ' ')" ' 2 "ceems.io/created-by": "alice"'
done
kube alice POST /apis/apps/v1/namespaces/web/statefulsets "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"t\"},\"spec\":{\"serviceName\":\"s\",$tmpl}}" >t.json
is "of a StatefulSet" "$(grep -c '"ceems.io/created-by": *"alice"' t.json)" 2
job='"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]}}}'
is "of a Job" "$(kube alice POST /apis/batch/v1/namespaces/web/jobs "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"t\"},$job}" | grep -c '"ceems.io/created-by": *"alice"')" 2
is "of a CronJob, whose Jobs and pods take it from there" "$(kube alice POST /apis/batch/v1/namespaces/web/cronjobs "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"t\"},\"spec\":{\"schedule\":\"0 0 1 1 *\",\"jobTemplate\":{$job}}}" | grep -c '"ceems.io/created-by": *"alice"')" 3
deployment=/apis/apps/v1/namespaces/web/deployments/t
is "who scales a Deployment does not own it" "$(patch bob $deployment/scale '{"spec":{"replicas":2}}' >/dev/null; patch bob $deployment '{"spec":{"replicas":3}}' | grep -o '"ceems.io/created-by": *"[^"]*"' | sort | uniq -c | tr -s ' ')" ' 2 "ceems.io/created-by": "alice"'
KUBE_PATCH=application/json-patch+json
is "nor who replaces its annotations by a JSON patch" "$(patch bob $deployment '[{"op":"add","path":"/metadata/annotations","value":{"ceems.io/created-by":"bob"}},{"op":"remove","path":"/spec/template/metadata/annotations"}]' | grep -o '"ceems.io/created-by": *"[^"]*"' | sort | uniq -c | tr -s ' ')" ' 2 "ceems.io/created-by": "alice"'
unset KUBE_PATCH
like "a template that is edited keeps its owner" "$(patch bob $deployment '{"spec":{"template":{"metadata":{"annotations":{"ceems.io/created-by":"bob"}}}}}' | grep -o '"ceems.io/created-by": *"[^"]*"' | sort -u | tr '\n' ' ')" '^"ceems.io/created-by": *"alice" $'

is "a controller's pod keeps its template's owner" "$(kube rs POST $PODS "$(pod_yaml rs1 '{"ceems.io/created-by":"alice"}')" | owner)" alice
kube rs POST $PODS "$(pod_yaml rs2 | sed 's/"name":"rs2",/&"ownerReferences":[{"apiVersion":"apps\/v1","kind":"ReplicaSet","name":"t","uid":"5b8f7fd4-0000-4000-8000-000000000001","controller":true}],/')" >rs2.json
is "without one it is nobody's" "$(owner <rs2.json)" ""
ok "but what it belongs to is told" wait_for 10 eval 'spool | grep -qF "\"controller\":\"5b8f7fd4-0000-4000-8000-000000000001\""'
is "JupyterHub names the owner in its namespace" "$(kube hub POST /api/v1/namespaces/hub/pods "$(pod_yaml h '{"ceems.io/created-by":"bob"}')" | owner)" bob
is "nowhere else" "$(kube hub POST $PODS "$(pod_yaml h '{"ceems.io/created-by":"bob"}')" | owner)" system:serviceaccount:hub:hub

kube_status alice POST $PODS "$(pod_yaml a)" >again
is "a creation that is refused later" "$(cat again)" 409
is "is no second pod" "$(spool | grep -c '"name":"a"')" 2
kube admin GET $PODS >pods.json
is "the pod is the first one's still" "$(grep -A30 '"name": *"a"' pods.json | owner)" alice

for k in mutating validating; do kube admin DELETE /apis/admissionregistration.k8s.io/v1/${k}webhookconfigurations/ceems-admission >/dev/null; done
ok "the webhook is taken away" wait_for 60 eval '! probe'
hook_register v1beta1 >/dev/null
ok "and put back for reviews of v1beta1 alone" wait_for 60 probe
kube alice POST $PODS "$(pod_yaml old)" >old.json
is "by them a pod has its owner" "$(owner <old.json)" alice
ok "and its claim" wait_for 10 eval '[ "$(claimed $(uid_of <old.json))" = alice ]'

kill9 $PID
is "without the webhook a pod is created all the same" "$(kube_status alice POST $PODS "$(pod_yaml w '{"ceems.io/created-by":"bob"}')")" 201
ok "the webhook is back" hook_run
is "what was forged meanwhile can be edited" "$(patch alice $PODS/w '{"metadata":{"labels":{"x":"y"}}}' | owner)" bob
is "but is claimed by nobody" "$(spool | grep -c '"name":"w"')" 0
tap_done
