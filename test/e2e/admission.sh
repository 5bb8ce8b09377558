#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_k8s_admission_controller over HTTPS: reviews as an API server posts them, whose reviews are believed,
# and what hostile clients may do. The API server itself is real in test/e2e/k8s_admission.sh.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pki.sh"
command -v openssl >/dev/null || skip_all "openssl is not installed"
hook=$BUILD/ceems_k8s_admission_controller
[ -x "$hook" ] || skip_all "ceems_k8s_admission_controller is not built"
cd "$SCRATCH" || exit 1
B=ceems-admission-controller

mine() { # the webhook may read them, others may not
	chmod 640 "$@"
	! have_root || chgrp "$(id -gn nobody)" "$@"
}
if have_root; then dropped=(--security.run-as-user=nobody); else dropped=(); fi
for ca in site other; do pki_ca $ca; done
pki_cert server site serverAuth DNS:localhost,IP:127.0.0.1
pki_cert later site serverAuth DNS:localhost,IP:127.0.0.1 /CN=later
pki_cert apiserver site clientAuth DNS:kube-apiserver
pki_cert pod site clientAuth DNS:some-pod
pki_cert foreign other clientAuth DNS:kube-apiserver
cp server.pem web.pem && cp server.key web.key
printf 'tls_server_config:\n  cert_file: web.pem\n  key_file: web.key\n  client_ca_file: site.pem\n  client_auth_type: VerifyClientCertIfGiven\n' >web.yaml
mine web.yaml web.pem web.key site.pem
mkdir -m 700 spool
! have_root || chown nobody spool

run_hook() { # args...: sets PID, P
	: >log
	"$hook" --web.config.file="$SCRATCH/web.yaml" --web.listen-address=127.0.0.1:0 --admission.namer=hub:hub \
		"${dropped[@]}" "$@" 2>log &
	PID=$!
	started $PID
	wait_for 10 grep -q 'msg="*ready' log || { sed 's/^/# /' log; return 1; }
	P=$(sed -n 's/.*serves on port \([0-9]*\).*/\1/p' log)
}
ask() { # path curl-args...
	curl -s -m 60 --cacert site.pem -H 'Content-Type: application/json' "https://127.0.0.1:$P/$1" "${@:2}"
}
api() { ask "$1" --cert apiserver.pem --key apiserver.key "${@:2}"; }
review() { # user uid [namespace [annotations [more]]]: one of a pod
	printf '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"r1","kind":{"group":"","version":"v1","kind":"Pod"},"operation":"CREATE","namespace":"%s","userInfo":{"username":"%s","uid":"7","groups":["system:authenticated"]},"object":{"metadata":{"name":"p","uid":"%s","annotations":%s}}%s}}' \
		"${3:-web}" "$1" "$2" "${4:-{\}}" "${5:-}"
}
patch_of() { sed -n 's/.*"patch":"\([^"]*\)".*/\1/p' | base64 -d; }
spool() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" 2>&1; }
owners() { spool | sed -n 's/.*"uid":"\([^"]*\)".*"owner":"\([^"]*\)".*/\1=\2/p'; }
metric() { ask metrics | sed -n "s/^$1 //p"; }

like "a spool without a cluster's name is refused" "$("$hook" --check-config --admission.spool=x 2>&1)" 'admission.spool needs admission.cluster'
like "a namer that is no account is named" "$("$hook" --check-config --admission.namer=hub 2>&1)" 'admission.namer: hub: must be NAMESPACE:ACCOUNT'
ok "the webhook serves" run_hook --admission.cluster=k1 --admission.spool="$SCRATCH/spool" --admission.claims-from=certificate:kube-apiserver
is "it is healthy" "$(ask health)" "CEEMS admission controller is healthy"

review alice u-1 >r
is "a pod gets who creates it" "$(api $B/mutate -d @r | patch_of)" \
	'[{"op":"add","path":"/metadata/annotations/ceems.io~1created-by","value":"alice"},{"op":"add","path":"/metadata/annotations/ceems.io~1created-by-uid","value":"7"}]'
like "a validating review is let through" "$(api $B/validate -d @r)" '"uid":"r1","allowed":true}}$'
ok "it is told to the aggregator" wait_for 10 eval '[ "$(owners)" = u-1=alice ]' || spool | sed 's/^/# /'
like "with what is known of it" "$(spool)" '"kind":"claim","cluster":"k1","object":"Pod","uid":"u-1","namespace":"web","name":"p","owner":"alice","owner_uid":"7","by":"user"'

review alice u-2 web '{}' ',"dryRun":true' >dry
like "a dry run is answered" "$(api $B/validate -d @dry)" '"allowed":true'
review mallory u-3 >forged
like "a review of a stranger is answered" "$(ask $B/validate -d @forged)" '"allowed":true'
like "one of a client that is no API server, too" "$(ask $B/validate -d @forged --cert pod.pem --key pod.key)" '"allowed":true'
ask $B/validate -d @forged --cert foreign.pem --key foreign.key >/dev/null
review hub u-4 >last
api $B/validate -d @last >/dev/null
ok "of these only the API server's own reach the aggregator, and no dry run" wait_for 10 eval '[ "$(owners | tr "\n" " ")" = "u-1=alice u-4=hub " ]' || spool | sed 's/^/# /'
is "what was not believed is counted" "$(metric 'ceems_admission_claims_total{result="unproved"}')" 2
is "so is the dry run" "$(metric ceems_admission_dry_runs_total)" 1
review system:serviceaccount:hub:hub u-5 hub '{"ceems.io/created-by":"bob"}' >hub
is "JupyterHub names its user" "$(api $B/mutate -d @hub | patch_of)" ""
review mallory u-6 hub '{"ceems.io/created-by":"bob"}' >user
like "a user who does is overwritten" "$(api $B/mutate -d @user | patch_of)" '"value":"mallory"'
like "and warned" "$(api $B/mutate -d @user)" '"warnings":\["ceems.io/created-by says who created'

status() { "$@" -o /dev/null -w '%{http_code}'; }
# large MEGABYTES UNIT: a review with so much of something that a user may write
large() { python3 -c 'import sys; b = open("r").read().rstrip(); n = int(sys.argv[1]) << 20; u = sys.argv[2]; print(b[:-3] + ",\"spec\":[" + ",".join([u] * (n // (len(u) + 1))) + "]}}}")' "$@" >big; }
answered() { [ "$(api $B/mutate --data-binary @big | patch_of)" = "$(api $B/mutate -d @r | patch_of)" ]; }
for u in '"\u003c\u003c\u003c\u003c"' '{}' '{"name":""}'; do
	large 10 "$u"
	ok "a review with 10 MB of $u is answered as any other" answered
done
large 36 '{}'
ok "so is the longest that an API server makes" answered
most=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$PID/status)
ok "which takes less memory than our manifest allows: $((most / 1024)) MiB" [ "$most" -lt $((256 * 1024)) ]
large 38 '{}'
is "what is longer is refused" "$(status api $B/mutate --data-binary @big)" 413
is "what is no review is refused" "$(status api $B/mutate -d '{"apiVersion":"v1"}')" 400
is "cut in half" "$(status api $B/validate -d "$(head -c 100 r)")" 400
is "not JSON by its type" "$(status curl -s --cacert site.pem -H 'Content-Type: text/plain' "https://127.0.0.1:$P/$B/mutate" -d x)" 415
is "a GET" "$(status api $B/mutate)" 405
is "another path" "$(status api mutate)" 404

serial() { openssl s_client -connect "127.0.0.1:$P" </dev/null 2>/dev/null | openssl x509 -noout -subject 2>/dev/null; }
like "the first certificate" "$(serial)" 'CN = server'
cp later.pem web.pem && cp later.key web.key
kill -HUP $PID
ok "a new certificate is served after a reload" wait_for 10 eval '[[ $(serial) == *later ]]'
echo broken >web.pem
kill -HUP $PID
ok "a broken one is not" wait_for 10 grep -q 'the old web configuration stays in force' log
like "and the webhook goes on" "$(api $B/mutate -d @r)" '"allowed":true'
cp later.pem web.pem

# a flood of connections that say nothing, and of half bodies
for i in {1..300}; do { exec {fd}<>"/dev/tcp/127.0.0.1/$P"; } 2>/dev/null || break; done
ok "beside $i idle connections reviews are answered" eval 'for n in 1 2 3 4 5; do [ "$(status api $B/mutate -d @r)" = 200 ] || exit 1; done'
i=0
for j in {1..500}; do review u$j f-$j >f; printf 'next\nurl="https://127.0.0.1:%s/%s/validate"\ncacert=site.pem\ncert=apiserver.pem\nkey=apiserver.key\nheader="Content-Type: application/json"\noutput=/dev/null\nsilent\ndata="%s"\n' "$P" $B "$(sed 's/["\\]/\\&/g' f)"; done | sed 1d >flood
ok "500 reviews, one after the other" curl -K flood
ok "of each the owner is in the spool" wait_for 30 eval '[ "$(owners | grep -c ^f-)" = 500 ]'

kill9 $PID
is "after kill -9 all are there" "$(owners | wc -l)" 502
ok "it starts again" run_hook --admission.cluster=k1 --admission.spool="$SCRATCH/spool" --admission.claims-from=certificate:kube-apiserver
chmod 000 spool; rm -rf spool.away; mv spool spool.away; : >spool
review carol u-9 >r9
like "a spool that is gone stops no review" "$(api $B/validate -d @r9)" '"allowed":true'
rm spool; mv spool.away spool; chmod 700 spool
kill $PID; wait $PID 2>/dev/null
ok "without an API server's name none is believed" run_hook --admission.cluster=k1 --admission.spool="$SCRATCH/spool"
like "which is said" "$(cat log)" 'no admission.claims-from: anybody could post a review'
review eve u-10 >r10
api $B/validate -d @r10 >/dev/null
sleep 0.3
is "and nothing is told" "$(owners | grep -c u-10)" 0
tap_done
