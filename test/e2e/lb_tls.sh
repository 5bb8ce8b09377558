#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# TLS from the load balancer to a backend: which certificates it accepts, which it shows, resumed sessions; and
# TLS and passwords in front of it, on its own loops. Host names that have to be resolved.
. "$(dirname "$0")/../tap.sh"
command -v openssl >/dev/null || skip_all "openssl is not installed"
command -v curl >/dev/null || skip_all "curl is not installed"
[ -x "$BUILD/lb_host" ] || skip_all "lb_host is not built"
cd "$SCRATCH" || exit 1
CURL=(curl -s -m 100)

certificate() { # name, subject alternative names, CA
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>/dev/null
	openssl x509 -req -in "$1.csr" -CA "$3.pem" -CAkey "$3.key" -set_serial $RANDOM -days 2 -out "$1.pem" \
		-extfile <(echo "subjectAltName=$2") 2>/dev/null
}
for ca in good other; do
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$ca.key" -out "$ca.pem" -subj "/CN=$ca ca" -days 2 2>/dev/null
done
certificate server DNS:localhost,DNS:prometheus.example,IP:127.0.0.1 good
certificate stranger DNS:elsewhere.example good
certificate client DNS:lb.example good
cat client.key >>client.pem
chmod 600 ./*.key ./*.pem

# serve NAME CERTIFICATE MORE: a backend over TLS
serve() {
	printf 'tls_server_config:\n  cert_file: %s.pem\n  key_file: %s.key\n%s' "$2" "$2" "${3:-}" >"$1.yaml"
	chmod 600 "$1.yaml"
	mkfifo "$1.in"
	"$BUILD/web_bodies" --config "$SCRATCH/$1.yaml" <"$1.in" >"$1.out" 2>"$1.log" &
	started $!
	eval "exec {$1_IN}>$1.in"
	wait_for 10 grep -q ^ready "$1.out" || { sed 's/^/# /' "$1.log"; return 1; }
	eval "$1=$(sed -n 's/^ready //p' "$1.out")"
}
host() { # option... backend...
	rm -f host.in host.out # of the one before
	mkfifo host.in
	"$BUILD/lb_host" --workers 1 "$@" <host.in >host.out 2>host.log &
	PID=$!
	exec {IN}>host.in
	started "$PID"
	wait_for 10 grep -q ^ready host.out || { sed 's/^/# /' host.log; return 1; }
	PORT=$(awk '/^ready/ { print $2 }' host.out)
	U=${SCHEME:-http}://127.0.0.1:$PORT
}
stop() { exec {IN}>&-; wait "$PID"; }
code() { "${CURL[@]}" -o /dev/null -w '%{http_code}' "$@"; }
# once WANT WHAT option... backend: a load balancer for one question
once() { local what=$1 want=$2; shift 2; host "$@"; is "$what" "$(code "$U/get")" "$want"; stop; }

serve plain server || skip_all "no server over TLS"
serve wrong stranger
serve asking server $'  client_ca_file: good.pem\n  client_auth_type: RequireAndVerifyClientCert\n'
once "a backend with a good certificate is asked" 200 --ca good.pem "tls:127.0.0.1:$plain"
once "by its name too, which is asked for" 200 --ca good.pem "tls:localhost:$plain"
once "by another name that the site gives" 200 --ca good.pem --name prometheus.example "tls:127.0.0.1:$plain"
once "not by a name that it does not have" 502 --ca good.pem --name else.example "tls:127.0.0.1:$plain"
once "not under another CA" 502 --ca other.pem "tls:127.0.0.1:$plain"
once "not under the system's" 502 "tls:127.0.0.1:$plain"
once "not with a certificate of somebody else" 502 --ca good.pem "tls:127.0.0.1:$wrong"
once "not where no TLS is spoken" 502 --ca good.pem "tls:127.0.0.1:$(free_port)"
once "a CA file that is not there is an error" 502 --ca missing.pem "tls:127.0.0.1:$plain"
once "a backend that asks for a certificate is shown ours" 200 --ca good.pem --cert client.pem "tls:127.0.0.1:$asking"
once "without one it refuses" 502 --ca good.pem "tls:127.0.0.1:$asking"
once "a name that does not exist is 502 in time" 502 "no-such-name.invalid:9"

host --ca good.pem "tls:127.0.0.1:$plain"
head -c 99999 /dev/urandom >long
is "a long body goes through TLS whole" "$("${CURL[@]}" --data-binary @long "$U/echo")" \
	"$("${CURL[@]}" --cacert good.pem --data-binary @long "https://127.0.0.1:$plain/echo")"
is "again on the same connection" "$(for _ in 1 2 3 4; do code "$U/get"; done)$("${CURL[@]}" "$U/metrics" | awk '/^ceems.*connections_total.*new/ { print $2 }')" 2002002002001
is "many at once" "$(for i in $(seq 30); do printf 'url=%s\noutput=/dev/null\n' "$U/get"; done >urls; "${CURL[@]}" -Z --parallel-immediate -K urls -w '%{http_code}\n' 2>/dev/null | grep -c ^200)" 30
stop

# --- certificates that are replaced
cp other.pem ca.pem
host --ca ca.pem "tls:127.0.0.1:$plain"
before=$(code "$U/get")
cp good.pem ca.pem
is "a CA that is replaced is read again" "$before$(code "$U/get")" 502200
stop
cp client.pem ours.pem
host --ca good.pem --cert ours.pem "tls:127.0.0.1:$asking"
echo broken >ours.pem
is "one that cannot be read is refused" "$(code "$U/get")" 502
cp client.pem ours.pem
touch -d '1 hour ago' ours.pem
is "and read when it can be" "$(code "$U/get")" 200
stop

# s_server tells in its answers whether a session was begun or taken up again, and closes
sessions() { # version
	local port server
	port=$(free_port)
	openssl s_server -accept "127.0.0.1:$port" -cert server.pem -key server.key -www "-$1" -quiet >/dev/null 2>&1 &
	server=$! # of this subshell
	wait_for 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
	host --ca good.pem "tls:127.0.0.1:$port"
	for _ in 1 2 3; do "${CURL[@]}" "$U/" | grep -oE '^(New|Reused),' | head -1; done | tr -d '\n'
	stop
	kill "$server"
}
for v in tls1_2 tls1_3; do is "a session goes on with the next connection ($v)" "$(sessions $v)" New,Reused,Reused,; done

# --- before it
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf 'tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\nbasic_auth_users:\n  ada: %s\n' "$hash" >front.yaml
chmod 600 front.yaml
SCHEME=https CURL+=(--cacert good.pem)
host --config "$SCRATCH/front.yaml" --ca good.pem "tls:127.0.0.1:$plain"
is "clients come over TLS" "$(code "$U/get")" 200
is "a password that comes is checked" "$(code -u ada:wrong "$U/get")$(code -u 'ada:correct horse' "$U/get")" 401200
is "long answers go over TLS on both sides" "$("${CURL[@]}" --data-binary @long "$U/echo" | cut -d' ' -f1,2)" "POST 99999"
is "a client without TLS is nobody" "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT/get")" 000
stop
like "nothing is left" "$(grep '^backend' host.out)" ' refs 0$'

# --- the program itself, on two sockets of systemd's over TLS, with a certificate that is renewed
if ! [ -x "$BUILD/ceems_lb" ] || ! command -v systemd-socket-activate >/dev/null; then
	skip "ceems_lb on systemd's sockets" "ceems_lb is not built or systemd-socket-activate not installed"
	tap_done
fi
if have_root; then DROPPED=(--security.run-as-user=nobody); else DROPPED=(); fi
mine() { # FILE...: the program may read them, others may not
	chmod 640 "$@"
	if have_root; then chgrp "$(id -gn nobody)" "$@"; fi
}
chmod 755 .
echo ok >rude.ctl
mkfifo rude.in
"$BUILD/backend_rude" rude.ctl rude.rec <rude.in >rude.out 2>rude.log &
started $!
exec {RUDE_IN}>rude.in
wait_for 10 grep -q ^ready rude.out
rude=$(sed -n 's/^ready //p' rude.out)
cat >lb.yaml <<-END
	ceems_lb:
	  open: true
	  backends: [{id: alpha, tsdb: [{web: {url: "http://127.0.0.1:$rude"}}], pyroscope: [{web: {url: "http://127.0.0.1:$rude"}}]}]
END
cp server.pem web.pem
cp server.key web.key
printf 'tls_server_config:\n  cert_file: web.pem\n  key_file: web.key\n' >web.yaml
mine lb.yaml web.yaml web.pem web.key
activate() { # PORT...
	local p ports=()
	for p in "$@"; do ports+=(-l "127.0.0.1:$p"); done
	systemd-socket-activate "${ports[@]}" "$BUILD/ceems_lb" --config.file="$SCRATCH/lb.yaml" --web.config.file="$SCRATCH/web.yaml" \
		--web.systemd-socket --web.threads=2 "${DROPPED[@]}" >lb.log 2>&1 </dev/null &
	LB=$!
	started "$LB"
}
P=$(free_port) Y=$(free_port)
activate "$P" "$Y"
serves() { [ "$(code "https://127.0.0.1:$P/api/v1/query?query=1")" = 200 ]; }
ok "Prometheus' API is served on the first socket of systemd's" wait_for 20 serves
calls() { code -H 'Content-Type: application/json' -d '{"start":1,"end":2}' "https://127.0.0.1:$1/querier.v1.QuerierService/ProfileTypes"; }
is "and Pyroscope's on the second, each there alone" "$(calls "$Y") $(calls "$P") $(code "https://127.0.0.1:$Y/api/v1/query?query=1")" "200 403 403"
ok "both are said at the start" test "$(grep -cE "serves (Prometheus'|Pyroscope's) API on port ($P|$Y)" lb.log)" = 2
serial() { # PORT: of the certificate that is shown
	openssl s_client -connect "127.0.0.1:$1" </dev/null 2>/dev/null | openssl x509 -noout -serial
}
of() { openssl x509 -noout -serial -in "$1"; }
is "both show the certificate" "$(serial "$P") $(serial "$Y")" "$(of server.pem) $(of server.pem)"
# a client that stays connected
mkfifo kept.in
openssl s_client -quiet -connect "127.0.0.1:$P" <kept.in >kept.out 2>/dev/null &
started $!
exec {KEPT}>kept.in
kept() { : >kept.out; printf 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n' >&"$KEPT"; wait_for 5 grep -q '^HTTP/1.1 200' kept.out; }
ok "a client stays connected" kept
certificate renewed DNS:localhost,IP:127.0.0.1 good
# with the old times, so that nothing but SIGHUP makes it look
reloads() { "${CURL[@]}" "https://127.0.0.1:$P/metrics" | awk '/^ceems_lb_reloads_total/ { n += $2 } END { print n }'; }
reload() { local n; n=$(reloads); kill -HUP "$LB"; more() { [ "$(reloads)" -gt "$n" ]; }; wait_for 10 more; }
touch -r web.pem times
cp renewed.pem web.pem; cp renewed.key web.key
touch -r times web.pem web.key
ok "SIGHUP is taken" reload
is "and both show the new one" "$(serial "$P") $(serial "$Y")" "$(of renewed.pem) $(of renewed.pem)"
ok "who is connected stays so" kept
is "others are served" "$(code "https://127.0.0.1:$P/api/v1/query?query=1") $(calls "$Y")" "200 200"
echo broken >web.pem
ok "a broken one" reload
is "leaves the one before in force" "$(serial "$P") $(serial "$Y")" "$(of renewed.pem) $(of renewed.pem)"
like "and is named" "$(grep -o 'msg=.*the old web configuration stays in force' lb.log | head -1)" '/web.pem with .*/web.key: '
cp renewed.pem web.pem
echo >web.yaml
ok "no TLS any more" reload
like "needs a restart, which is said" "$(tail -n 3 lb.log)" 'switching TLS on or off needs a restart'
is "and is still TLS" "$(code "https://127.0.0.1:$P/health")" 200
exec {KEPT}>&-
kill -TERM "$LB"
wait "$LB"
is "it ends well" $? 0
# --- what a start would only find out later is said by --check-config
printf 'tls_server_config:\n  cert_file: renewed.pem\n  key_file: renewed.key\n' >web.yaml
check() { "$BUILD/ceems_lb" --config.file=lb.yaml --check-config "$@" 2>&1; }
like "a good configuration is valid" "$(check --web.config.file=web.yaml)" 'the configuration is valid$'
like "an address that is none is named" "$(check --web.listen-address=9030)" 'listen on 9030: not HOST:PORT'
like "no address at all too" "$(check --web.listen-address=)" 'listen on : not HOST:PORT'
sed "s|url: \"http://127.0.0.1:$rude\"}}\], p|url: \"https://h:9090\", tls_config: {ca_file: nope.pem}}}], p|" lb.yaml >missing.yaml
mine missing.yaml
like "a file that is missing is named with its server" "$("$BUILD/ceems_lb" --config.file=missing.yaml --check-config 2>&1)" 'https://h:9090: open .*nope.pem: No such file'
like "a port that is none" "$(sed 's|127.0.0.1:[0-9]*|h:99999|' lb.yaml >port.yaml; chmod 640 port.yaml; "$BUILD/ceems_lb" --config.file=port.yaml --check-config 2>&1)" 'port.yaml:3: url: not a URL'
like "who may write it" "$(cp lb.yaml loose.yaml; chmod 666 loose.yaml; "$BUILD/ceems_lb" --config.file=loose.yaml --check-config 2>&1)" 'refused \(chmod go-w\)'
Z=$(free_port)
activate "$P" "$Y" "$Z"
gave_up() { curl -s -m 10 -o /dev/null "http://127.0.0.1:$P/"; ! kill -0 "$LB" 2>/dev/null; } # it begins with a connection
wait_for 20 gave_up || kill "$LB"
wait "$LB"
is "a third socket is an error" "$? $(grep -c 'there is no third' lb.log)" "1 1"
tap_done
