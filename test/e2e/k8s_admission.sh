#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 2700
# The admission webhook of a real API server: what users of it may make of an owner.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pki.sh"
. "$TOP/test/kube_api.sh"
hook=$BUILD/ceems_k8s_admission_controller
[ -x "$hook" ] || skip_all "ceems_k8s_admission_controller is not built"
why=$(kube_possible) || skip_all "$why"
cd "$SCRATCH" || exit 1
pki_ca site
pki_cert server site serverAuth DNS:localhost,IP:127.0.0.1
pki_cert apiserver site clientAuth DNS:kube-apiserver
cp server.pem web.pem && cp server.key web.key
printf 'tls_server_config:\n  cert_file: web.pem\n  key_file: web.key\n  client_ca_file: site.pem\n  client_auth_type: VerifyClientCertIfGiven\n' >web.yaml
chmod 640 web.yaml web.pem web.key
mkdir -m 700 spool
if have_root; then
	chgrp "$(id -gn nobody)" web.yaml web.pem web.key
	chown nobody spool
	dropped=(--security.run-as-user=nobody)
else
	dropped=()
fi
P=$(free_port)
run_hook() {
	"$hook" --web.config.file="$SCRATCH/web.yaml" --web.listen-address=127.0.0.1:"$P" --admission.namer=hub:hub --admission.cluster=k1 \
		--admission.spool="$SCRATCH/spool" --admission.claims-from=certificate:kube-apiserver "${dropped[@]}" "$@" 2>>hook.log &
	PID=$!
	started $PID
	wait_for 10 curl -sf --cacert site.pem "https://127.0.0.1:$P/health"
}
ok "the webhook serves" run_hook || sed 's/^/# /' hook.log
# the API server proves itself to the webhook by a certificate
mkdir -p kube
cat >kube/hooks.yaml <<END
apiVersion: v1
kind: Config
users: [{name: "127.0.0.1:$P", user: {client-certificate: $SCRATCH/apiserver.pem, client-key: $SCRATCH/apiserver.key}}]
END
cat >kube/admission.yaml <<END
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
$(for p in MutatingAdmissionWebhook ValidatingAdmissionWebhook; do printf -- '- {name: %s, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: %s}}\n' $p "$SCRATCH/kube/hooks.yaml"; done)
END
ok "a real API server is up" kube_begin --admission-control-config-file="$SCRATCH/kube/admission.yaml" || { tail -n 5 kube/apiserver.log | sed 's/^/# /'; tap_done; }
for n in web hub; do kube_namespace $n; done
for u in alice bob; do kube_binding web lab-edit User $u; kube_binding hub lab-edit User $u; done
kube_binding hub lab-edit User system:serviceaccount:hub:hub
kube_binding web lab-edit User system:serviceaccount:hub:hub

register() { # Mutating|Validating mutate|validate OPERATIONS
	local l; l=$(tr 'MV' mv <<<"$1")
	kube admin POST "/apis/admissionregistration.k8s.io/v1/${l}webhookconfigurations" @- <<-END
		apiVersion: admissionregistration.k8s.io/v1
		kind: $1WebhookConfiguration
		metadata: {name: ceems}
		webhooks:
		- name: owner.ceems.io
		  clientConfig: {url: "https://127.0.0.1:$P/ceems-admission-controller/$2", caBundle: $(base64 -w0 site.pem)}
		  rules:
		  - {apiGroups: [""], apiVersions: [v1], operations: $3, resources: [pods, replicationcontrollers], scope: Namespaced}
		  - {apiGroups: [apps], apiVersions: [v1], operations: $3, resources: [deployments, statefulsets, daemonsets, replicasets], scope: Namespaced}
		  - {apiGroups: [batch], apiVersions: [v1], operations: $3, resources: [jobs, cronjobs], scope: Namespaced}
		  failurePolicy: Ignore
		  sideEffects: NoneOnDryRun
		  timeoutSeconds: 2
		  admissionReviewVersions: [v1, v1beta1]
	END
}
like "the mutating webhook is registered" "$(register Mutating mutate '[CREATE, UPDATE]')" '"name": *"owner.ceems.io"'
like "the validating one is, too" "$(register Validating validate '[CREATE]')" '"name": *"owner.ceems.io"'
PODS=/api/v1/namespaces/web/pods
owner() { grep -o '"ceems.io/created-by": *"[^"]*"' | head -1 | sed 's/.*: *"\(.*\)"/\1/'; }
uid_of() { sed -n 's/.*"uid": *"\([^"]*\)".*/\1/p' | head -1; }
spool() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" 2>/dev/null; }
claimed() { spool | grep -F "\"uid\":\"$1\"" | sed -n 's/.*"owner":"\([^"]*\)".*/\1/p'; }
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
like "a template that is edited keeps its owner" "$(patch bob /apis/apps/v1/namespaces/web/deployments/t '{"spec":{"template":{"metadata":{"annotations":{"ceems.io/created-by":"bob"}}}}}' | grep -o '"ceems.io/created-by": *"[^"]*"' | sort -u | tr '\n' ' ')" '^"ceems.io/created-by": *"alice" $'

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

kill9 $PID
is "without the webhook a pod is created all the same" "$(kube_status alice POST $PODS "$(pod_yaml w '{"ceems.io/created-by":"bob"}')")" 201
ok "the webhook is back" run_hook
is "what was forged meanwhile can be edited" "$(patch alice $PODS/w '{"metadata":{"labels":{"x":"y"}}}' | owner)" bob
is "but is claimed by nobody" "$(spool | grep -c '"name":"w"')" 0
tap_done
