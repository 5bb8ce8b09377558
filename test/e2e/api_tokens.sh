#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Grafana's signed identity tokens (X-Grafana-Id) at a real aggregator, which fetches the keys
# by HTTPS. Grafana is in no Debian: the server of its keys and the signatures (openssl's) are
# the test's, in the form of Grafana's documentation and source. Real: everything behind them.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/api.sh"
. "$TOP/test/pki.sh"
need_api openssl python3
api_database "as it is"
cd "$SCRATCH" || exit 1
pki_ca root; pki_ca other
pki_cert server root serverAuth DNS:localhost

# ---- keys and tokens
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key" 2>/dev/null; }
for k in old new thief; do key $k; done
openssl genrsa -out rsa.key 2048 2>/dev/null
openssl ecparam -name secp384r1 -genkey -noout -out p384.key 2>/dev/null
hex() { od -An -v -tx1 | tr -d ' \n'; }
unhex() { printf "$(sed 's/../\\x&/g')"; }
b64() { base64 -w0 | tr '+/' '-_' | tr -d '='; }
jwk() { # key kid: the public half; the point is the end of the key's DER
	local at
	at=$(openssl ec -in "$1.key" -pubout -outform DER 2>/dev/null | tail -c 64 | hex)
	printf '{"kty":"EC","use":"sig","alg":"ES256","crv":"P-256","kid":"%s","x":"%s","y":"%s"}' "$2" \
		"$(printf %s "${at:0:64}" | unhex | b64)" "$(printf %s "${at:64}" | unhex | b64)"
}
keys() { local IFS=,; printf '{"keys":[%s]}' "$*" >jwks.new && mv jwks.new jwks; }
sign() { # key: of standard input, r and s of 32 bytes each
	openssl dgst -sha256 -sign "$1.key" | openssl asn1parse -inform DER | sed -n 's/.*INTEGER *://p' |
		while read -r n; do printf '%64s' "$n" | tr ' ' 0 | unhex; done | b64
}
token() { # key header claims
	local text
	text=$(printf %s "$2" | b64).$(printf %s "$3" | b64)
	echo "$text.$(printf %s "$text" | sign "$1")"
}
head_of() { echo "{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"$1\"}"; }
now=$(date +%s)
claims() { # user [name=JSON]...: what Grafana says of a user, and changes to it
	local c m
	c=$(jq -nc --arg u "$1" --argjson n "$now" '{iss: "https://localhost/grafana/", sub: "user:7", aud: "org:1", iat: $n, exp: ($n + 3000), jti: "x",
		authenticatedBy: "password", email: ($u + "@site.example"), username: $u, identifier: "7", type: "user", namespace: "default"}')
	shift
	for m; do c=$(jq -c --arg k "${m%%=*}" --argjson v "${m#*=}" '.[$k] = $v' <<<"$c"); done
	echo "$c"
}
good() { token old "$(head_of old)" "$(claims "$@")"; }

# ---- the server of keys: serves the file jwks, or the status in the file status
cat >grafana.py <<'END'
import http.server, os, ssl, sys
class Keys(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = int(open('status').read()) if os.path.exists('status') else 200
        if self.path != '/grafana/api/signing-keys/keys': status = 404
        body = open('jwks', 'rb').read() if status == 200 else b'no'
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, form, *args):
        open('asked', 'a').write(form % args + '\n')
s = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Keys)
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain('server.pem', 'server.key')
s.socket = c.wrap_socket(s.socket, server_side=True)
s.serve_forever()
END
keys_port=$(free_port)
grafana() { python3 grafana.py "$keys_port" >grafana.log 2>&1 & grafana_pid=$!; started $grafana_pid; wait_for 10 keys_up; }
keys_up() { curl -s --cacert root.pem --resolve "localhost:$keys_port:127.0.0.1" -o /dev/null "https://localhost:$keys_port/"; }
keys "$(jwk old old)" '{"kty":"RSA","kid":"rsa","n":"AQAB","e":"AQAB"}'
ok "a server of keys" grafana
tokens=(--identity.token-keys="https://localhost:$keys_port/grafana/api/signing-keys/keys" --identity.token-ca-file="$SCRATCH/root.pem"
	--identity.token-issuer=https://localhost/grafana/ --identity.token-audience=org:1 --admin.users=boss)
ok "the aggregator serves" agg_start "${tokens[@]}"
began=$SECONDS
P=(); code() { curl -s -o body -w '%{http_code}' -H "X-Grafana-Id: $1" "${@:3}" "http://127.0.0.1:${P[0]:-$port}/api/v1$2"; }
why() { jq -r .error body; }
says() { # what status words token
	is "$1" "$(code "$4" /units)" "$2"
	like "and it is said: $1" "$(why)" "$3"
}

# ---- what is good
is "a token is its user" "$(code "$(good alice)" "/units?$W") $(rows .uuid <body)" "200 101 105 107 108 201 202"
is "and nobody else" "$(code "$(good alice)" /units/admin) $(code "$(good alice)" /units/2) $(code "$(good boss)" /units/admin)" "403 404 200"
is "an audience among others" "$(code "$(good alice 'aud=["org:2","org:1"]')" /units)" 200
is "a header of the same user does no harm" "$(code "$(good alice)" /units -H 'X-Grafana-User: alice')" 200
like "one of another is no good" "$(code "$(good alice)" /units/admin -H 'X-Grafana-User: boss') $(why)" '^403 .*two users'
is "nor a second token" "$(code "$(good alice)" /units -H "X-Grafana-Id: $(good boss)")" 400
is "keys were asked for once" "$(wc -l <asked)" 2 # the test itself looked whether the server is up

# ---- what is not
says "a token that has expired" 401 'it has expired' "$(good alice iat=$((now - 700)) exp=$((now - 100)))"
says "one that is not valid yet" 401 'not valid yet' "$(good alice iat=$((now + 500)) exp=$((now + 900)))"
says "one for ever" 401 'valid for too long' "$(good alice exp=$((now + 9000000)))"
says "one without an end" 401 'time of validity is missing' "$(good alice exp=null)"
says "another audience" 401 'another audience' "$(good alice 'aud="org:2"')"
says "none" 401 'another audience' "$(good alice aud=null)"
says "another issuer" 401 'another issuer' "$(good alice 'iss="https://grafana.evil.example/"')"
says "an issuer that only begins alike" 401 'another issuer' "$(good alice 'iss="https://localhost/grafana/x"')"
says "a key that only calls itself so" 401 'signature is wrong' "$(token thief "$(head_of old)" "$(claims boss)")"
says "no key" 401 'names no key' "$(token old '{"alg":"ES256"}' "$(claims boss)")"
says "a key of its own in the header" 401 'signature is wrong' "$(token thief "{\"alg\":\"ES256\",\"kid\":\"old\",\"jwk\":$(jwk thief old)}" "$(claims boss)")"
says "a key elsewhere" 401 'signature is wrong' "$(token thief '{"alg":"ES256","kid":"old","jku":"https://evil.example/keys"}' "$(claims boss)")"
t=$(printf '{"alg":"none","kid":"old"}' | b64).$(claims boss | b64)
says "alg none" 401 'not signed with ES256' "$t."x
says "without a signature" 401 'malformed' "$t."
says "None, too" 401 'not signed with ES256' "$(token old '{"alg":"None","kid":"old"}' "$(claims boss)")"
says "HS256 with the public key for a secret" 401 'not signed with ES256' "$(
	text=$(printf '{"alg":"HS256","kid":"old"}' | b64).$(claims boss | b64)
	echo "$text.$(printf %s "$text" | openssl dgst -sha256 -binary -hmac "$(openssl ec -in old.key -pubout 2>/dev/null)" | b64)")"
says "another algorithm" 401 'not signed with ES256' "$(token p384 '{"alg":"ES384","kid":"old"}' "$(claims boss)")"
says "extensions" 401 'has extensions' "$(token old '{"alg":"ES256","kid":"old","crit":["b64"],"b64":false}' "$(claims boss)")"
g=$(good alice)
says "other claims under the same signature" 401 'signature is wrong' "${g%%.*}.$(claims boss | b64).${g##*.}"
says "a service account" 401 "not a user.s" "$(good alice 'sub="service-account:7"')"
says "an API key" 401 "not a user.s" "$(good alice 'sub="api-key:7"')"
says "a user by its number alone, of another type" 401 "not a user.s" "$(good alice 'type="service-account"')"
says "nobody" 401 "not a user.s" "$(good alice sub=null)"
says "no login in it" 401 'no claim "username".*Grafana 11.2 and later' "$(good alice username=null)"
says "an empty one" 401 'no claim "username"' "$(good alice 'username=""')"
is "a login that is none" "$(code "$(good alice "username=\"boss' OR '1'='1\"")" /units) $(code "$(good alice 'username="boss\u0000x"')" /units)" "400 401"
is "nonsense" "$(code . /units) $(code ... /units) $(code "$(head -c 9000 /dev/zero | tr '\0' a)" /units) $(code "${g//./..}" /units)" "401 401 401 401"
is "tokens of keys that are not known" "$(for _ in 1 2 3 4 5; do code "$(token thief "$(head_of new$RANDOM)" "$(claims boss)")" /units; done)" "401401401401401"
ok "make us ask no more often than twice a minute" [ "$(wc -l <asked)" -le $((2 + (SECONDS - began) / 29)) ]

# ---- keys that change; a server of keys that is away. Each is asked at most twice a minute.
live=$port live_pid=$agg_pid
kill $grafana_pid; wait $grafana_pid 2>/dev/null
port=$(free_port)
ok "an aggregator starts without the server of keys" agg_start "${tokens[@]}"
later=$SECONDS
is "who has keys goes on" "$(P=("$live"); code "$(good alice)" /units)" 200
says "who has none takes no token" 503 'there are no keys to verify it' "$(good alice)"
is "nor a header instead" "$(code "$(good alice)" /units/admin -H 'X-Grafana-User: boss') $(curl -s -o /dev/null -w '%{http_code}' -H 'X-Grafana-User: boss' "http://127.0.0.1:$port/api/v1/units/admin")" "503 401"
keys "$(jwk new new)"
were=$(grep -c signing-keys asked)
grafana
new=$(token new "$(head_of new)" "$(claims alice)")
took_new() { sleep 0.5; [ "$(P=("$live"); code "$new" /units)" = 200 ]; }
while [ $SECONDS -lt $((began + 29)) ]; do sleep 0.5; done
ok "a new key is fetched when a token comes with it" wait_for 10 took_new
is "the old one, which is gone, is good no longer" "$(P=("$live"); code "$(good alice)" /units)" 401
# the other aggregator asks a second time when a minute is over, whoever comes
is "that was one question" "$(($(grep -c signing-keys asked) - were - (SECONDS - later >= 59)))" 1
healed() { sleep 0.5; [ "$(code "$new" /units)" = 200 ]; }
ok "whoever had none is right again" wait_for $((later + 45 - SECONDS)) healed
is "no token is in the log" "$(grep -cE 'eyJ' log)" 0
kill "$live_pid" "$agg_pid"; wait "$live_pid" "$agg_pid" 2>/dev/null

# ---- keys that cannot be believed
bad() { # what reason [flags]
	agg_start "${tokens[@]}" "${@:3}" || ok "$1" false
	says "$1" 503 "$2" "$new"
	agg_stop
}
keys_of() { echo "--identity.token-keys=$1"; }
echo 500 >status
bad "a server that fails" 'status 500'
rm status
bad "one of another place" 'status 404' "$(keys_of "https://localhost:$keys_port/keys")"
echo '{"keys":[]}' >jwks
bad "no key in it" 'no P-256 key'
echo '<html>' >jwks
bad "no JSON" 'JSON'
keys "$(jwk new new)"
bad "a server that nobody vouches for" 'certificate' --identity.token-ca-file="$SCRATCH/other.pem"
tap_done
