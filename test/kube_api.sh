# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by tests behind tap.sh and pki.sh: a real kube-apiserver with etcd on loopback, with RBAC, users by tokens, and no
# kubelet, scheduler or controllers. test/rig/k8s builds it once.
#   kube_possible       why not, status 1
#   kube_begin          in $SCRATCH/kube; sets KUBE (URL). Users: admin, alice, bob, carol (tokens "NAME-token"),
#                       agg (the aggregator), hub (the service account hub:hub), rs (the ReplicaSet controller),
#                       manager (kube-controller-manager)
#   kube USER METHOD PATH [BODY|@FILE] [curl args]   the answer; YAML or JSON
#   kube_status ...     the status alone
kube_bin=${CEEMS_RIG_CACHE:-/var/cache/ceems-rig}/k8s-1.34.4
kube_possible() {
	command -v etcd >/dev/null || { echo "etcd is not installed (etcd-server)"; return 1; }
	command -v openssl >/dev/null || { echo "openssl is not installed"; return 1; }
	[ -x "$kube_bin/kube-apiserver" ] || { echo "no kube-apiserver in $kube_bin (test/rig/k8s make builds it)"; return 1; }
}
kube() {
	local u=$1 m=$2 p=$3
	shift 3
	case ${1:--} in -*) ;; *) local b=$1; shift; set -- --data-binary "$b" "$@" ;; esac
	[ "$m" != PATCH ] || set -- -H "Content-Type: ${KUBE_PATCH:-application/merge-patch+json}" "$@"
	[ "$m" = PATCH ] || set -- -H 'Content-Type: application/yaml' "$@"
	curl -s -m 60 --cacert "$SCRATCH/kube/kubeca.pem" -X "$m" -H "Authorization: Bearer $u-token" "$KUBE$p" "$@"
}
kube_status() { kube "$@" -o /dev/null -w '%{http_code}'; }
kube_start() { # the API server alone, again if need be
	local d=$SCRATCH/kube
	"$kube_bin/kube-apiserver" --etcd-servers=http://127.0.0.1:"$kube_etcd" --service-account-issuer=https://lab --cert-dir="$d/certs" \
		--service-account-signing-key-file="$d/sa.key" --service-account-key-file="$d/sa.key" --service-cluster-ip-range=10.96.0.0/16 \
		--tls-cert-file="$d/kube.pem" --tls-private-key-file="$d/kube.key" \
		--bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$kube_port" --token-auth-file="$d/tokens.csv" \
		--authorization-mode=RBAC --anonymous-auth=false --allow-privileged --disable-admission-plugins=ServiceAccount \
		--endpoint-reconciler-type=none --v=1 "$@" >>"$d/apiserver.log" 2>&1 &
	kube_pid=$!
	started $kube_pid
	wait_for 120 eval '[ "$(kube admin GET /readyz)" = ok ]'
}
kube_begin() { # args of kube-apiserver...
	local d=$SCRATCH/kube etcd_peer
	mkdir -p "$d" && cd "$d" || return 1
	pki_ca kubeca && pki_cert kube kubeca serverAuth IP:127.0.0.1,DNS:localhost && openssl genrsa -out sa.key 2048 2>/dev/null || return 1
	cat >tokens.csv <<-'END'
		admin-token,admin,1,system:masters
		alice-token,alice,1001
		bob-token,bob,1002,students
		eve-token,eve,1007
		carol-token,oidc:carol,1003
		agg-token,ceems-aggregator,1004
		hub-token,system:serviceaccount:hub:hub,1005,"system:serviceaccounts,system:serviceaccounts:hub"
		rs-token,system:serviceaccount:kube-system:replicaset-controller,1006,system:masters
		manager-token,system:kube-controller-manager,1008,system:masters
	END
	cd "$SCRATCH" || return 1
	kube_etcd=$(free_port) etcd_peer=$(free_port) kube_port=$(free_port) KUBE=https://127.0.0.1:$kube_port
	etcd --data-dir "$d/etcd" --listen-client-urls "http://127.0.0.1:$kube_etcd" --advertise-client-urls "http://127.0.0.1:$kube_etcd" \
		--listen-peer-urls "http://127.0.0.1:$etcd_peer" --initial-advertise-peer-urls "http://127.0.0.1:$etcd_peer" \
		--initial-cluster "default=http://127.0.0.1:$etcd_peer" >"$d/etcd.log" 2>&1 &
	kube_etcd_pid=$!
	started $kube_etcd_pid
	wait_for 60 curl -sf "http://127.0.0.1:$kube_etcd/health" && kube_start "$@" || return 1
	# what "edit" and "view" are made of is put together by a controller, of which there is none here
	kube admin POST /apis/rbac.authorization.k8s.io/v1/clusterroles '{"metadata":{"name":"lab-edit"},"rules":[{"apiGroups":["","apps","batch"],"resources":["*"],"verbs":["*"]}]}' >/dev/null
	kube admin POST /apis/rbac.authorization.k8s.io/v1/clusterroles '{"metadata":{"name":"lab-view"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}]}' >/dev/null
}
kube_reader() { # gives the aggregator the rights of contrib/k8s/deploy, and no more
	awk -v RS='\n---\n' '/kind: ClusterRole\n/' "$TOP/contrib/k8s/deploy/base/aggregator-rbac.yaml" >"$SCRATCH/kube/role.yaml"
	kube admin POST /apis/rbac.authorization.k8s.io/v1/clusterroles "@$SCRATCH/kube/role.yaml" >/dev/null
	kube admin POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings '{"metadata":{"name":"ceems-aggregator"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"ceems-aggregator"},"subjects":[{"kind":"User","name":"ceems-aggregator","apiGroup":"rbac.authorization.k8s.io"}]}' >/dev/null
}
kube_namespace() { kube admin POST /api/v1/namespaces "{\"metadata\":{\"name\":\"$1\"}}" >/dev/null; } # NAME
# kube_binding NAMESPACE ROLE KIND NAME: the cluster role ROLE in the namespace
kube_binding() {
	kube admin POST "/apis/rbac.authorization.k8s.io/v1/namespaces/$1/rolebindings" \
		"{\"metadata\":{\"name\":\"$2-$4\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"$2\"},\"subjects\":[{\"kind\":\"$3\",\"name\":\"$4\",\"apiGroup\":\"rbac.authorization.k8s.io\"}]}" >/dev/null
}
pod_yaml() { # NAME [ANNOTATIONS]: without a node, so that it stays pending
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","annotations":%s},"spec":{"containers":[{"name":"c","image":"localhost/bb:1","resources":{"requests":{"cpu":"250m","memory":"64Mi"},"limits":{"cpu":"500m","memory":"128Mi"}}}]}}' "$1" "${2:-{\}}"
}
# NAMESPACE NAME: what a kubelet would write, which is not here
pod_runs() { kube admin PATCH "/api/v1/namespaces/$1/pods/$2/status" "{\"status\":{\"phase\":\"Running\",\"startTime\":\"$(date -u +%FT%TZ)\"}}" >/dev/null; }
