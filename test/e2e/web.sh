#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The web server with real clients: formats, compression, TLS, passwords, certificates that
# change, and misbehaving clients.
. "$(dirname "$0")/../tap.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
[ -x "$BUILD/web_host" ] || skip_all "web_host is not built"
cd "$SCRATCH" || exit 1
CURL=(curl -s -m 100)

# start NAME args...: sets PORT, PORTS, PID, LOG; the server ends when the test does
start() {
	local name=$1; shift
	LOG=$SCRATCH/$name.log
	mkfifo "$SCRATCH/$name.in"
	"$BUILD/web_host" "$@" <"$SCRATCH/$name.in" >"$SCRATCH/$name.out" 2>"$LOG" &
	PID=$!
	exec {IN}>"$SCRATCH/$name.in"
	started "$PID"
	wait_for 10 grep -q ^ready "$SCRATCH/$name.out" || { sed 's/^/# /' "$LOG"; return 1; }
	PORTS=$(sed 's/^ready //' "$SCRATCH/$name.out")
	PORT=${PORTS%% *}
}
stop() { exec {IN}>&-; wait "$PID"; }
code() { "${CURL[@]}" -o /dev/null -w '%{http_code}' "$@"; }
header() { "${CURL[@]}" -D - -o /dev/null "${@:2}" | tr -d '\r' | sed -n "s/^$1: //Ip"; }
rude() { "$BUILD/http_rude" "$@"; }
alive() { [ "$(code "http://127.0.0.1:$PORT/health")" = 200 ] && kill -0 "$PID"; }

# --- what is served
start plain --all --max-requests 2 / 127.0.0.1:0 localhost:0 '[::1]:0' ||
	start plain --all --max-requests 2 / 127.0.0.1:0 localhost:0
U=http://127.0.0.1:$PORT
is "health says so" "$("${CURL[@]}" "$U/health")" "CEEMS Exporter is healthy"
# one address that holds all the connections it can get does not lock out the others
idle=()
for _ in $(seq 40); do rude --from 2 --wait 60 "$PORT" </dev/null >/dev/null 2>&1 & idle+=($!); done
sleep 1
is "one host's idle connections lock nobody out" "$(code -m 30 "$U/health")" 200
kill "${idle[@]}" 2>/dev/null
wait "${idle[@]}" 2>/dev/null
n=0; for p in $PORTS; do [ "$(code "http://localhost:$p/health")" = 200 ] && n=$((n + 1)); done
is "every listen address answers" "$n" "$(wc -w <<<"$PORTS")"
is "text format by default" "$(header content-type "$U/metrics")" "text/plain; version=0.0.4; charset=utf-8"
is "OpenMetrics when it is asked for" \
	"$(header content-type -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5' "$U/metrics")" \
	"application/openmetrics-text; version=1.0.0; charset=utf-8"
is "OpenMetrics ends with its mark" \
	"$("${CURL[@]}" -H 'Accept: application/openmetrics-text' "$U/metrics" | tail -1)" "# EOF"
is "gzip when it is welcome" "$(header content-encoding -H 'Accept-Encoding: gzip' "$U/metrics")" gzip
is "no gzip at q=0" "$(header content-encoding -H 'Accept-Encoding: gzip;q=0' "$U/metrics")" ""
is "caches are told what the answer depends on" "$(header vary "$U/metrics")" "Accept, Accept-Encoding"
is "browsers do not guess types" "$(header x-content-type-options "$U/metrics")" nosniff
like "gzip unpacks to metrics" "$("${CURL[@]}" --compressed "$U/metrics")" 'ceems_cpu_seconds_total\{'
like "landing page names version and links" "$("${CURL[@]}" "$U/")" 'ceemsd [0-9].*href="/metrics".*href="/units".*href="/health"'
is "units are JSON" "$(header content-type "$U/units")" application/json
is "an unknown path is 404" "$(code "$U/nope")" 404
is "a path that only looks alike is 404" "$(code --path-as-is "$U//metrics")$(code --path-as-is "$U/./metrics")" 404404
is "an escape of what needs none is 400" "$(code "$U/m%65trics")$(code "$U/metrics%2F")$(code "$U/%2572")" 400400400
is "POST is 405" "$(code -X POST "$U/metrics")" 405
is "405 says what is allowed" "$(header allow -X DELETE "$U/metrics")" "GET, HEAD"
is "HEAD has the header and no body" \
	"$(code -I "$U/metrics") $("${CURL[@]}" -I "$U/metrics" | tr -d '\r' | sed '1,/^$/d' | wc -c)" "200 0"
like "scrapes are counted" "$("${CURL[@]}" "$U/metrics")" 'promhttp_metric_handler_requests_total\{code="200"\} [1-9]'
like "the process tells of itself" "$("${CURL[@]}" "$U/metrics")" 'process_resident_memory_bytes [1-9]'
now=$(date +%s)
began=$("${CURL[@]}" "$U/metrics" | sed -n 's/^process_start_time_seconds //p')
ok "its start time is now" test "$((now - ${began%.*}))" -lt 300
if command -v promtool >/dev/null; then
	is "promtool reads the text" "$("${CURL[@]}" "$U/metrics" | promtool check metrics 2>&1 | grep -c 'error while')" 0
else
	skip "promtool reads the text" "promtool is not installed"
fi

# --- clients without manners
is "NUL in the target is 400" "$(printf 'GET /met\0rics HTTP/1.1\r\nHost: x\r\n\r\n' | rude "$PORT")" "400 closed"
is "NUL behind the path is 400" "$(printf 'GET /metrics\0 HTTP/1.1\r\nHost: x\r\n\r\n' | rude "$PORT")" "400 closed"
is "escaped NUL is 400" "$(code "$U/metrics%00")" 400
like "NUL in the method is refused" "$(printf 'G\0T / HTTP/1.1\r\nHost: x\r\n\r\n' | rude "$PORT")" '^((400|405|501) )?closed$'
like "NUL in a header's name is refused" "$(printf 'GET / HTTP/1.1\r\nHo\0st: x\r\n\r\n' | rude "$PORT")" '^(400 )?closed$'
# bytes that two readers would read in two ways; what follows them is not answered
ambiguous() { is "$1" "$(printf "$2GET /health HTTP/1.1\r\nHost: x\r\n\r\n" | rude "$PORT")" "400 closed"; }
ambiguous "NUL in a header's value is 400" 'GET /health HTTP/1.1\r\nHost: x\r\nAccept: a\0b\r\nX: y\r\n\r\n'
ambiguous "NUL behind the last header's value is 400" 'GET /health HTTP/1.1\r\nHost: x\r\nAccept: a\0\r\n\r\n'
ambiguous "a bare LF behind the request line is 400" 'GET /health HTTP/1.1\nHost: x\r\n\r\n'
ambiguous "a bare LF behind a header is 400" 'GET /health HTTP/1.1\r\nHost: x\nX: y\r\n\r\n'
ambiguous "a bare LF behind the last header is 400" 'GET /health HTTP/1.1\r\nHost: x\r\nX: y\n\r\n'
ambiguous "a bare LF as the head's end is 400" 'GET /health HTTP/1.1\r\nHost: x\r\n\n'
ambiguous "a folded line is 400" 'GET /health HTTP/1.1\r\nX: a\r\n b\r\nHost: x\r\n\r\n'
ambiguous "a folded line at the head's end is 400" 'GET /health HTTP/1.1\r\nHost: x\r\nX: a\r\n\tb\r\n\r\n'
ambiguous "a bare CR in a value is 400" 'GET /health HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n'
ambiguous "a control character in a value is 400" 'GET /health HTTP/1.1\r\nHost: x\r\nX: a\033b\r\n\r\n'
is "blanks around values, empty values and cookies are none of that" \
	"$(printf 'GET /health?a=b&c HTTP/1.1\r\nHost: x\r\nX:\r\nY: \t a \t\r\nCookie: a=b; c="d"; e\r\nZ:   \r\nConnection: close\r\n\r\n' | rude "$PORT")" "200 closed"
is "nor is a long head that comes in pieces" \
	"$({ printf 'GET /health HTTP/1.1\r\nHost: x\r\n'; seq -f "X-%g: $(printf '%0150d' 0)" 60; printf 'Connection: close\n\n'; } | sed 's/\r*$/\r/' | { while IFS= read -r -n 700 -d '' piece || [ -n "$piece" ]; do printf %s "$piece"; sleep 0.01; done; } | rude --wait 60 "$PORT")" "200 closed"
# raw REQUEST: what comes, to the end of the connection, behind the first answer's head
raw() { exec {RAW}<>"/dev/tcp/127.0.0.1/$PORT"; printf "$1" >&"$RAW"; timeout 60 cat <&"$RAW" | tr -d '\r' | sed '1,/^$/d'; exec {RAW}>&-; }
for p in / /health /metrics /units; do
	like "no byte follows the answer to HEAD $p" \
		"$(raw "HEAD $p HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")" '^HTTP/1.1 200 OK'
done
like "a target of 100 kB is refused" \
	"$({ printf 'GET /'; head -c 100000 /dev/zero | tr '\0' a; printf ' HTTP/1.1\r\nHost: x\r\n\r\n'; } | rude "$PORT")" '^((414|431) )?closed$'
like "headers of 100 kB are refused" \
	"$({ printf 'GET / HTTP/1.1\r\nHost: x\r\nX: '; head -c 100000 /dev/zero | tr '\0' a; printf '\r\n\r\n'; } | rude "$PORT")" '^(431 )?closed$'
like "ten thousand headers are refused" \
	"$({ printf 'GET / HTTP/1.1\r\nHost: x\r\n'; seq -f 'H%.0f: v' 10000; printf '\r\n'; } | rude "$PORT")" '^((400|431) )?closed$'
like "a body is refused" "$(printf 'GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc' | rude "$PORT")" '^413 closed$'
like "a chunked body is refused" "$(printf 'GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n' | rude "$PORT")" '^413 closed$'
like "a negative length is refused" "$(printf 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n' | rude "$PORT")" '^(400 )+closed$'
like "an unknown version is refused" "$(printf 'GET / HTTP/9.9\r\nHost: x\r\n\r\n' | rude "$PORT")" '^((400|505) )?closed$'
like "no version is refused" "$(printf 'GET /\r\n\r\n' | rude "$PORT")" '^((400|505) )?closed$'
is "no Host is refused" "$(printf 'GET / HTTP/1.1\r\n\r\n' | rude "$PORT")" "400 closed"
like "random bytes are refused" "$(head -c 4000 /dev/urandom | tr -d '\n' | { cat; printf '\r\n\r\n'; } | rude "$PORT")" '^((4..|505) )?closed$'
is "twenty requests in one packet give twenty answers" \
	"$({ for _ in $(seq 19); do printf 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'; done; printf 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'; } | rude "$PORT")" \
	"$(printf '200 %.0s' $(seq 20))closed"
for _ in $(seq 20); do exec {fd}<>"/dev/tcp/127.0.0.1/$PORT"; printf 'GET /metr' >&$fd; exec {fd}>&-; done
# the library may see their end only at the deadline of a request's head, 10 s
ok "requests cut off in the middle do no harm" wait_for 30 alive
grep -v level=info "$LOG" >"$SCRATCH/noise"
is "none of this makes a log line" "$(head -c 300 "$SCRATCH/noise")" ""
stop
is "it ends cleanly" "$?" 0

# --- time
start slow --idle 1 --slow 4000 --max-requests 1 / 127.0.0.1:0
U=http://127.0.0.1:$PORT
is "a request that dribbles in is ended" "$(printf 'GET /health HTTP/1.1\r\nHost: x\r\nX: %0200d\r\n\r\n' 0 | rude --slow 100 --wait 5 "$PORT")" closed
is "a silent connection is ended" "$(printf '' | rude --wait 5 "$PORT")" closed
like "an answer that is not taken is ended" \
	"$({ for _ in $(seq 300); do printf 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'; done; } | rude --deaf 9 --wait 5 "$PORT")" '^(200 )*closed$'
# of two that overlap one is too much, whichever comes first
code "$U/metrics" >first.code &
first=$!
sleep 0.4
second=$(code "$U/metrics")
wait $first
is "over max-requests is 503" "$(printf '%s\n' "$(cat first.code)" "$second" | sort | xargs)" "200 503"
code "$U/metrics" >/dev/null &
first=$!
is "health answers beside a scrape" "$(code "$U/health")" 200
wait $first
is "then scrapes go on" "$(code "$U/metrics")" 200
"${CURL[@]}" -o "$SCRATCH/last" "$U/metrics" &
first=$!
sleep 1.5
stop
wait $first
is "a scrape under way at the end is answered" "$?$(grep -c test_slow_runs_total "$SCRATCH/last")" 03

# --- concurrent scrapes share work
start shared --slow 500 / 127.0.0.1:0
U=http://127.0.0.1:$PORT
for _ in $(seq 12); do printf 'url=%s\noutput=/dev/null\n' "$U/metrics"; done >urls
"${CURL[@]}" -Z --parallel-immediate -K urls 2>/dev/null
runs=$("${CURL[@]}" "$U/metrics" | sed -n 's/^test_slow_runs_total //p')
ok "twelve scrapes at once took fewer collections ($runs)" test "$runs" -le 5
stop

# --- addresses
start taken / 127.0.0.1:0
like "a port in use is named" \
	"$("$BUILD/web_host" / "127.0.0.1:$PORT" </dev/null 2>&1)" "web_host: listen on 127.0.0.1:$PORT: Address already in use: stop the program"
stop
like "nonsense for an address is named" "$("$BUILD/web_host" / 127.0.0.1 </dev/null 2>&1)" 'listen on 127.0.0.1: not HOST:PORT'
like "a port beyond 65535 is named" "$("$BUILD/web_host" / :99999 </dev/null 2>&1)" 'listen on :99999: not HOST:PORT'
like "no socket from systemd is said" "$(env -u LISTEN_FDS "$BUILD/web_host" --systemd / </dev/null 2>&1)" 'systemd passed no socket'
if command -v systemd-socket-activate >/dev/null; then
	p=$(free_port)
	mkfifo sa.in
	systemd-socket-activate -l "127.0.0.1:$p" "$BUILD/web_host" --systemd / <sa.in >sa.out 2>sa.log &
	pid=$!; exec {IN}>sa.in; started $pid
	wait_for 20 "${CURL[@]}" -o /dev/null "http://127.0.0.1:$p/health"
	is "a socket passed by systemd is served" "$(code "http://127.0.0.1:$p/health")" 200
	exec {IN}>&-
else
	skip "a socket passed by systemd is served" "systemd-socket-activate is not installed"
fi
start path --telemetry '/m&<x>' / 127.0.0.1:0
is "another telemetry path is served" "$(code "http://127.0.0.1:$PORT/m&<x>")$(code "http://127.0.0.1:$PORT/metrics")" 200404
like "the landing page escapes it" "$("${CURL[@]}" "http://127.0.0.1:$PORT/")" 'href="/m&#38;&#60;x&#62;"'
stop

# --- TLS and passwords
command -v openssl >/dev/null || { skip "TLS" "openssl is not installed"; tap_done; }
ca() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>/dev/null; }
cert() { # name issuer usage
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
	openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -out "$1.pem" \
		-extfile <(printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=%s\n' "$3") 2>/dev/null
}
ca root; ca other
cert server root serverAuth
cert renewed root serverAuth
cert client root clientAuth
cert stranger other clientAuth
chmod 600 ./*.key
cp server.pem tls.pem; cp server.key tls.key
# bcrypt of "correct horse", cost 10
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'
cat >web.yaml <<END
tls_server_config:
  cert_file: tls.pem
  key_file: tls.key
http_server_config:
  headers:
    X-Frame-Options: deny
basic_auth_users:
  ada: $hash
END
chmod 640 web.yaml
start tls --config "$SCRATCH/web.yaml" / 127.0.0.1:0
U=https://localhost:$PORT
T=(--cacert root.pem --resolve "localhost:$PORT:127.0.0.1")
A=(-u 'ada:correct horse')
is "the right password is let in over TLS" "$(code "${T[@]}" "${A[@]}" "$U/metrics")" 200
is "a wrong password is 401" "$(code "${T[@]}" -u ada:wrong "$U/metrics")" 401
is "an unknown user is 401" "$(code "${T[@]}" -u 'eve:correct horse' "$U/metrics")" 401
is "no password is 401" "$(code "${T[@]}" "$U/metrics")" 401
is "every page asks for it" "$(code "${T[@]}" "$U/health")$(code "${T[@]}" "$U/units")$(code "${T[@]}" "$U/nope")" 401401401
like "401 says how" "$(header www-authenticate "${T[@]}" "$U/metrics")" '^Basic realm='
is "configured headers are sent" "$(header x-frame-options "${T[@]}" "${A[@]}" "$U/metrics")" deny
is "plain HTTP on the TLS port gets nothing" "$(code "http://localhost:$PORT/metrics")" 000
is "TLS 1.1 is not offered" "$(code "${T[@]}" --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0 "${A[@]}" "$U/metrics")" 000
is "HTTP/1.1 is spoken although curl offers HTTP/2" "$("${CURL[@]}" "${T[@]}" "${A[@]}" --http2 -o /dev/null -w '%{http_version}' "$U/metrics")" 1.1
# a remembered verdict costs no bcrypt: CPU time of many scrapes stays below that of the first
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$PID/stat"; }
before=$(ticks)
for _ in $(seq 20); do code "${T[@]}" "${A[@]}" "$U/health" >/dev/null; done
cached=$(($(ticks) - before))
before=$(ticks)
for i in $(seq 20); do code "${T[@]}" -u "ada:guess $i" "$U/health" >/dev/null; done
fresh=$(($(ticks) - before))
ok "a remembered password is not computed again ($cached ticks against $fresh)" test $((cached * 3)) -lt "$fresh"
# a flood of wrong passwords does not stop who is known
for i in $(seq 40); do code "${T[@]}" -u "ada:flood $i" "$U/metrics" >>flood & pids+=($!); done
is "who is known gets in beside a flood of guesses" "$(for _ in 1 2 3; do code "${T[@]}" "${A[@]}" "$U/metrics"; done)" 200200200
wait "${pids[@]}" 2>/dev/null
like "guesses are refused, or turned away when too many wait" "$(cat flood)" '^(401|503)+$'

serial() { echo | timeout 10 openssl s_client -connect "127.0.0.1:$PORT" 2>/dev/null | openssl x509 -noout -subject 2>/dev/null; }
like "the certificate is the first" "$(serial)" 'CN ?= ?server'
cp renewed.key tls.key; cp renewed.pem tls.pem
like "a renewed certificate is taken without a restart" "$(wait_for 5 eval 'serial | grep -q renewed'; serial)" 'CN ?= ?renewed'
echo broken >tls.pem
wait_for 10 eval 'serial >/dev/null; grep -q "keeping the current configuration" "$LOG"'
like "a broken one leaves the old in force" "$(serial)$(sleep 1.2; serial)" 'renewed.*renewed'
is "and is said once" "$(grep -c 'keeping the current configuration' "$LOG")" 1
cp renewed.pem tls.pem
sed -i "s/^  ada: .*/  bob: ${hash//\//\\/}/" web.yaml
kill -HUP "$PID"
is "SIGHUP takes new users" "$(wait_for 5 grep -q reloaded "$LOG"; code "${T[@]}" "${A[@]}" "$U/health")$(code "${T[@]}" -u 'bob:correct horse' "$U/health")" 401200
printf 'nonsense: [' >web.yaml
kill -HUP "$PID"
is "a broken file is refused and the old stays" "$(wait_for 5 grep -q 'reload:' "$LOG"; code "${T[@]}" -u 'bob:correct horse' "$U/health")" 200
is "no secret is in the log" "$(grep -cE 'correct horse|guess|flood|\$2b\$' "$LOG")" 0
stop

# --- client certificates
for kind in RequireAndVerifyClientCert VerifyClientCertIfGiven RequireAnyClientCert RequestClientCert; do
	ca=; case $kind in *Verify*) ca="  client_ca_file: root.pem" ;; esac
	printf 'tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n  client_auth_type: %s\n%s\n' $kind "$ca" >web.yaml
	start "mtls$kind" --config "$SCRATCH/web.yaml" / 127.0.0.1:0
	U=https://localhost:$PORT
	T=(--cacert root.pem --resolve "localhost:$PORT:127.0.0.1")
	got="$(code "${T[@]}" "$U/health") $(code "${T[@]}" --cert client.pem --key client.key "$U/health") $(code "${T[@]}" --cert stranger.pem --key stranger.key "$U/health")"
	case $kind in
	RequireAndVerifyClientCert) want="000 200 000" ;;
	VerifyClientCertIfGiven) want="200 200 000" ;;
	RequireAnyClientCert) want="000 200 200" ;;
	*) want="200 200 200" ;;
	esac
	is "$kind: nobody, known, stranger" "$got" "$want"
	stop
done

# --- refusals at the start
refused() { # what, wanted message; web.yaml is there
	like "$1" "$("$BUILD/web_host" --config "$SCRATCH/web.yaml" / 127.0.0.1:0 </dev/null 2>&1)" "$2"
}
printf 'tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n' >web.yaml
chmod 644 server.key
refused "a key that all can read is refused" 'server.key: holds secrets and has mode 0644, refused \(chmod 0640\)'
chmod 600 server.key
printf 'tls_server_config:\n  cert_file: server.pem\n  key_file: client.key\n' >web.yaml
refused "a key that does not fit is refused" 'server.pem with .*client.key:'
printf 'tls_server_config:\n  cert_file: absent.pem\n  key_file: server.key\n' >web.yaml
refused "an absent certificate is named" 'absent.pem: No such file'
printf 'basic_auth_users:\n  ada: %s\n' "$hash" >web.yaml
chmod 644 web.yaml
refused "hashes that all can read are refused" 'web.yaml: holds secrets and has mode 0644'
tap_done
