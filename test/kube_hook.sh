# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by tests behind kube_api.sh: the admission webhook of a real API server, which proves itself to it by a certificate.
#   hook_prepare     in $SCRATCH: certificates, the spool, and hook_flags, which kube_begin needs
#   hook_run [ARG...]  the webhook; sets PID, P is its port
#   hook_register [VERSION]  at the API server, by the manifests of contrib/k8s/deploy; VERSION: of reviews, that one alone
#   spool            what it tells the aggregator; claimed UID: for whom
#   owner, uid_of    of the first object of an answer
hook=$BUILD/ceems_k8s_admission_controller
[ -x "$hook" ] || skip_all "ceems_k8s_admission_controller is not built"
python3 -c 'import yaml' 2>/dev/null || skip_all "python3-yaml is not installed"
hook_prepare() {
	cd "$SCRATCH" || return 1
	pki_ca site
	pki_cert server site serverAuth DNS:localhost,IP:127.0.0.1
	pki_cert apiserver site clientAuth DNS:kube-apiserver
	cp server.pem web.pem && cp server.key web.key
	printf 'tls_server_config:\n  cert_file: web.pem\n  key_file: web.key\n  client_ca_file: site.pem\n  client_auth_type: VerifyClientCertIfGiven\n' >web.yaml
	chmod 640 web.yaml web.pem web.key
	mkdir -m 700 spool
	hook_user=()
	if have_root; then
		chgrp "$(id -gn nobody)" web.yaml web.pem web.key
		chown nobody spool
		hook_user=(--security.run-as-user=nobody)
	fi
	P=${P:-$(free_port)}
	mkdir -p kube
	cat >kube/hooks.yaml <<-END
		apiVersion: v1
		kind: Config
		users: [{name: "127.0.0.1:$P", user: {client-certificate: $SCRATCH/apiserver.pem, client-key: $SCRATCH/apiserver.key}}]
	END
	cat >kube/admission.yaml <<-END
		apiVersion: apiserver.config.k8s.io/v1
		kind: AdmissionConfiguration
		plugins:
		$(for p in MutatingAdmissionWebhook ValidatingAdmissionWebhook; do printf -- '- {name: %s, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: %s}}\n' $p "$SCRATCH/kube/hooks.yaml"; done)
	END
	hook_flags=(--admission-control-config-file="$SCRATCH/kube/admission.yaml")
}
hook_run() {
	"$hook" --web.config.file="$SCRATCH/web.yaml" --web.listen-address=127.0.0.1:"$P" --admission.namer=hub:hub --admission.cluster=k1 \
		--admission.spool="$SCRATCH/spool" --admission.claims-from=certificate:kube-apiserver "${hook_user[@]}" "$@" 2>>hook.log &
	PID=$!
	started $PID
	wait_for 10 curl -sf --cacert site.pem "https://127.0.0.1:$P/health"
}
hook_register() { # [VERSION]: the configurations that are shipped; VERSION: of reviews, that one alone
	local of=/apis/admissionregistration.k8s.io/v1 KUBE_PATCH=application/apply-patch+yaml k
	for k in Mutating Validating; do
		python3 - "$TOP/contrib/k8s/deploy/base/admission.yaml" $k "https://127.0.0.1:$P" "$(base64 -w0 site.pem)" "$@" >kube/hook.json <<-'END'
			import json, sys, yaml
			file, kind, url, ca = sys.argv[1:5]
			d = next(d for d in yaml.safe_load_all(open(file)) if d['kind'] == kind + 'WebhookConfiguration')
			for w in d['webhooks']:
			    w['clientConfig'] = {'url': url + w['clientConfig']['service']['path'], 'caBundle': ca}
			    w['admissionReviewVersions'] = sys.argv[5:] or w['admissionReviewVersions']
			print(json.dumps(d))
		END
		kube admin PATCH "$of/${k,,}webhookconfigurations/ceems-admission?fieldManager=test&force=true" @kube/hook.json
	done
}
owner() { grep -o '"ceems.io/created-by": *"[^"]*"' | head -1 | sed 's/.*: *"\(.*\)"/\1/'; }
uid_of() { sed -n 's/.*"uid": *"\([^"]*\)".*/\1/p' | head -1; }
spool() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" 2>/dev/null; }
claimed() { spool | grep -F "\"uid\":\"$1\"" | sed -n 's/.*"owner":"\([^"]*\)".*/\1/p'; }
