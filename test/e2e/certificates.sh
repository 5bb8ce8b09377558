#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Client certificates of a real CA at a real aggregator: users who ask the API, a front end that
# names its user by a header, and nodes whose courier sends reports; each kind is good for its
# own purpose only, and a certificate of an unknown CA is good for none.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/api.sh"
. "$TOP/test/pki.sh"
need_api openssl
api_database "as it is"
cd "$SCRATCH" || exit 1

pki_ca root; pki_ca other
pki_cert server root serverAuth DNS:localhost,IP:127.0.0.1
pki_cert alice root clientAuth email:alice@site.example
pki_cert carol root clientAuth DNS:carols-desk,email:carol@site.example /CN=alice@site.example
pki_cert two root clientAuth email:alice@site.example,email:bob@site.example
pki_cert odd root clientAuth email:a/b@site.example
pki_cert abroad root clientAuth email:boss@site.example.evil.example
pki_cert named root clientAuth DNS:boss /CN=boss@site.example
pki_cert grafana root clientAuth DNS:grafana.site.example
pki_cert n1 root clientAuth DNS:n1.cluster.example
pki_cert n2 root clientAuth DNS:n2.cluster.example
pki_cert servant root serverAuth email:boss@site.example,DNS:n1.cluster.example
pki_cert both root serverAuth,clientAuth email:boss@site.example,DNS:grafana.site.example
pki_cert anything root anyExtendedKeyUsage email:boss@site.example,DNS:grafana.site.example
pki_cert signs root codeSigning,clientAuth DNS:grafana.site.example
pki_cert mailed root clientAuth email:grafana.site.example
pki_cert forged other clientAuth email:boss@site.example,DNS:grafana.site.example,DNS:n1.cluster.example
pki_expired late root clientAuth email:boss@site.example,DNS:grafana.site.example,DNS:n1.cluster.example
ok "a CA and its certificates" test -s late.pem -a -s forged.pem

U=https://localhost:$port
TLS=(-s --cacert root.pem --resolve "localhost:$port:127.0.0.1")
c() { curl "${TLS[@]}" ${1:+--cert "$1.pem" --key "$1.key"} "${@:3}" "$U$2"; }               # certificate target [curl's]
code() { c "$1" "$2" -o body -w '%{http_code}' "${@:3}"; }
why() { jq -r .error body 2>/dev/null; }
push() { code "$1" /api/v1/ingest -H 'Content-Type: application/x-ceems-batch' --data-binary @batch "${@:2}"; }
web() { # client_auth_type: VerifyClientCertIfGiven, ...
	local ca=''
	case $1 in *Verify*) ca='  client_ca_file: root.pem' ;; esac
	printf 'tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n  client_auth_type: %s\n%s\n' "$1" "$ca" >web.yaml
}
agg_code() { curl "${TLS[@]}" --cert n1.pem --key n1.key -o /dev/null -w '%{http_code}' "$U$1"; }
serve() {
	agg_start --web.config.file="$SCRATCH/web.yaml" --identity.certificate=email --identity.certificate-suffix=@site.example \
		--identity.front-end=certificate:grafana.site.example --identity.front-end-roles=true --ingest.client-name=n1.cluster.example --admin.users=boss "$@"
}
units=/api/v1/units

# ---- whoever shows one is known by it; others are nobody
web VerifyClientCertIfGiven
ok "the aggregator serves by TLS" serve
printf 'start instance=900 unit=900 started=%s\n' "$(date +%s)" | "$BUILD/batch_make" >batch
is "nobody is nobody" "$(code '' $units) $(push '')" "401 401"
is "a user's certificate is the user" "$(c alice "$units?$W" | rows .uuid)" "$(c grafana "$units?$W" -H 'X-Grafana-User: alice' | rows .uuid)"
like "who has units" "$(c alice "$units?$W" | rows .uuid)" '^101 105 '
is "by the kind of name that the site has chosen, not by another in it" "$(c carol "$units?$W" | rows '.cluster_id + ":" + .uuid')" "alpha:103 beta:101 beta:106"
is "and no more than the user" "$(code alice /api/v1/units/admin) $(code alice /api/v1/units/2) $(code alice '/api/v1/units/verify?uuid=102&cluster_id=alpha')" "403 404 403"
is "one of two users is nobody's" "$(code two $units) $(why)" "403 the certificate names two users"
is "one whose name is no login" "$(code odd $units)" 401
is "one of another site" "$(code abroad $units)" 401
is "one that has the name as another kind" "$(code named $units)" 401
like "which is said" "$(why)" 'belongs to no front end and no user'
is "a user may not say to be another" "$(code alice $units -H 'X-Grafana-User: boss') $(why)" "403 only a front end of this site's list may name a user by a header"
is "nor a node" "$(code n1 $units -H 'X-Grafana-User: boss')" 401
is "a certificate of another CA ends the connection" "$(code forged $units) $(push forged)" "000 000"
is "so does one that has expired" "$(code late $units) $(push late)" "000 000"
is "and one that is for servers" "$(code servant $units) $(push servant)" "000 000"
for name in both anything; do
	like "one that may be a server's as well is nobody's ($name)" \
		"$(code $name $units) $(why) $(code $name /api/v1/units/admin -H 'X-Grafana-User: boss')" '^401 .*clientAuth, without serverAuth 401$'
done
is "other uses beside it do no harm" "$(code signs /api/v1/units/admin -H 'X-Grafana-User: boss')" 200
is "a mail address is no front end's name" "$(code mailed /api/v1/units/admin -H 'X-Grafana-User: boss')" 401
is "without the key it is nothing" "$(curl "${TLS[@]}" --cert alice.pem --key n2.key -o /dev/null -w '%{http_code}' "$U$units")" 000

# ---- a front end
f() { code grafana "$@"; }
is "a front end names its user" "$(f /api/v1/units/admin -H 'X-Grafana-User: boss') $(f /api/v1/units/admin -H 'X-Grafana-User: alice')" "200 403"
like "it must" "$(f $units) $(why)" '^401 certificate:grafana.site.example names no user'
is "one, once" "$(f $units -H 'X-Grafana-User: alice' -H 'X-Grafana-User: boss') $(f $units -H 'X-Grafana-User: alice,boss') $(f $units -H 'X-Grafana-User;')" "400 400 400"
is "by the header that the site has chosen" "$(f /api/v1/units/admin -H 'X-Grafana-User: alice' -H 'X-Forwarded-User: boss')" 403
is "it sends no reports" "$(push grafana)" 401

# ---- nodes
is "a listed node's reports are taken" "$(push n1) $(psql_do -c 'SELECT count(*) FROM unit_node WHERE instance = 900')" "200 1"
printf 'start instance=901 unit=900 node=n2 started=%s\n' "$(date +%s)" | "$BUILD/batch_make" >batch.n2
is "and of no other node" "$(mv batch batch.n1; mv batch.n2 batch; push n1; mv batch.n1 batch) $(psql_do -c 'SELECT count(*) FROM unit_node WHERE instance = 901')" "403 0"
is "those of a node that is not listed are not, nor a user's" "$(push n2) $(push alice) $(push carol)" "401 401 401"
is "a certificate and a token that is none are none" "$(push n1 -H 'Authorization: Bearer a-token-of-nobody-at-all')" 401
is "a node asks for nobody" "$(code n1 $units)" 401

# ---- the real way of a node: ceemsd, ceems-courier with its certificate
if [ -x "$BUILD/ceemsd" ] && [ -x "$BUILD/ceems-courier" ] && [ -x "$BUILD/unit_source" ]; then
	chmod 755 .
	have_root && { chgrp ceems n1.key n2.key 2>/dev/null || chgrp "$(id -gn nobody)" n1.key n2.key; chmod 640 n1.key n2.key; } # who ceemsd becomes
	node() { # certificate
		"$BUILD/ceemsd" --collector.disable-defaults --collector.courier --collector.ring --path.rundir="$SCRATCH/run" \
			--web.listen-address="127.0.0.1:$node_port" --reports.enabled --reports.spool="$SCRATCH/spool" --reports.interval=1h --cluster=alpha \
			--aggregator.url="$U" --aggregator.ca-file="$SCRATCH/root.pem" --aggregator.cert-file="$SCRATCH/$1.pem" --aggregator.key-file="$SCRATCH/$1.key" \
			--aggregator.timeout=5s >>node.log 2>&1 </dev/null &
		node_pid=$!
		started $node_pid
		wait_for 20 curl -sf -o /dev/null "http://127.0.0.1:$node_port/health"
	}
	node_port=$(free_port)
	arrived() { [ "$(psql_do -c "SELECT count(*) FROM unit_node WHERE final AND uuid BETWEEN '5000' AND '5019'")" = 20 ]; }
	ok "ceemsd starts, with a certificate that is not listed" node n2
	"$BUILD/unit_source" --ring="$SCRATCH/run/ring" --count=20 --first-id=5000 --rate=50 --node=n1 >/dev/null
	refused() { grep -q 'the sender has not proved who it is' node.log; }
	ok "its courier is refused, and says why" wait_for 20 refused
	is "nothing of it is written" "$(psql_do -c "SELECT count(*) FROM unit_node WHERE uuid LIKE '50__'")" 0
	kill "$node_pid"; wait "$node_pid" 2>/dev/null
	ok "with the listed one" node n1
	ok "twenty jobs arrive with their end: nothing was lost meanwhile" wait_for 30 arrived
	is "each once" "$(psql_do -c "SELECT count(*), count(DISTINCT uuid) FROM unit_node WHERE uuid LIKE '50__'")" "20|20"
	kill "$node_pid"; wait "$node_pid" 2>/dev/null
else
	skip "ceemsd sends by its certificate" "ceemsd or ceems-courier was not built here"
fi
agg_stop

# ---- nobody without one
web RequireAndVerifyClientCert
ok "where each must show one" serve --ingest.client-name='*'
is "whoever has none is not heard" "$(code '' $units) $(code '' /health) $(push '') $(code forged $units)" "000 000 000 000"
is "who has one is, a node as itself" "$(code alice $units) $(push n1) $(push n2)" "200 200 403"
agg_stop

# ---- shown, but looked at by nobody: it proves nothing
for type in RequestClientCert RequireAnyClientCert; do
	web $type
	serve --ingest.client-name='*' || ok "$type" false
	is "$type: a certificate that nobody verifies is nobody's" "$(code forged $units) $(code alice $units) $(code forged $units -H 'X-Grafana-User: boss') $(push forged) $(push n1)" "401 401 401 401 401"
	agg_stop
done
is "no key and no certificate is in the log" "$(cat log node.log 2>/dev/null | grep -c -- '-----BEGIN')" 0
tap_done
