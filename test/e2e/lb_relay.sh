#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The way of a request through the load balancer without its decisions: answers of backends that
# are slow, cut, endless, too long or two at once, and clients that go, never read or send slowly.
. "$(dirname "$0")/../tap.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
[ -x "$BUILD/lb_host" ] || skip_all "lb_host is not built"
cd "$SCRATCH" || exit 1
CURL=(curl -s -m 100)
r='\r\n'

# rude NAME: a backend; its control file is NAME.ctl, what it was asked NAME.rec
rude() {
	mkfifo "$1.in"
	echo ok >"$1.ctl"
	"$BUILD/backend_rude" "$1.ctl" "$1.rec" <"$1.in" >"$1.out" 2>"$1.log" &
	started $!
	eval "exec {$1_IN}>$1.in"
	wait_for 10 grep -q ^ready "$1.out" || return 1
	eval "$1=$(sed -n 's/^ready //p' "$1.out")"
}
# host NAME option... backend...
host() {
	local name=$1; shift
	HOST=$name
	mkfifo "$name.in"
	"$BUILD/lb_host" "$@" <"$name.in" >"$name.out" 2>"$name.log" &
	PID=$!
	exec {IN}>"$name.in"
	started "$PID"
	wait_for 10 grep -q ^ready "$name.out" || { sed 's/^/# /' "$name.log"; return 1; }
	PORT=$(awk '/^ready/ { print $2 }' "$name.out")
	U=http://127.0.0.1:$PORT
}
stop() { exec {IN}>&-; wait "$PID"; RC=$?; }
control() { echo "$2" >"$1.ctl"; }
code() { "${CURL[@]}" -o /dev/null -w '%{http_code}' "$@"; }
# answers NAME BYTES: the backend answers with these bytes and leaves the connection open
answers() { printf "$2" "${@:3}" >"$1.bytes"; control "$1" "raw $SCRATCH/$1.bytes"; }
closes() { printf "$2" "${@:3}" >"$1.bytes"; control "$1" "close $SCRATCH/$1.bytes"; }
said() { code "$U/x"; }
# whole: what curl thinks of it, 0: all is there
whole() { "${CURL[@]}" -o got "$@" "$U/x"; echo $?; }
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$PID/status"; }
metric() { "${CURL[@]}" "$U/metrics" | awk -v m="$1" '$1 == m { print $2 }'; }

rude A || skip_all "backend_rude does not start"
host one --workers 1 --timeout 8000 "127.0.0.1:$A"
B="$PORT"

# --- what goes through
like "a query is answered" "$("${CURL[@]}" -d 'query=up' "$U/api/v1/query")" '"asked":"query=up"'
like "GET goes with its query" "$("${CURL[@]}" "$U/api/v1/labels?x=%7Ba" >/dev/null; tail -1 A.rec)" 'GET /api/v1/labels\?x=%7Ba HTTP/1.1'
is "nothing of the client's headers goes along" \
	"$("${CURL[@]}" -H 'X-Secret: planted' -H 'Cookie: planted' -H 'Authorization: Bearer planted' "$U/y" >/dev/null; grep -c planted A.rec)" 0
is "one connection is enough for one after another" "$(for _ in 1 2 3 4 5; do code "$U/x"; done; awk '{ print $1 }' A.rec | sort -u | wc -l)" 2002002002002001
is "a body of 200 kB goes through" "$(head -c 200000 /dev/zero | tr '\0' a >long; "${CURL[@]}" --data-binary @long "$U/x" | wc -c | tr -d ' ')" 200102
is "HEAD has the length and no body" "$("${CURL[@]}" -I "$U/x" | tr -d '\r' | grep -ciE '^content-length: [0-9]+$')" 1
is "a refusal of the gate is passed on" "$(code "$U/refuse")" 403
is "so is its answer" "$("${CURL[@]}" "$U/answer")" '{"status":"success"}'
is "a request that waits for the gate goes on" "$(for i in 1 2 3; do code "$U/wait$i"; done)" 200200200
is "many at once, waiting and not" \
	"$(for i in $(seq 40); do printf 'url=%s\noutput=/dev/null\n' "$U/wait$i" "$U/x$i"; done >urls; "${CURL[@]}" -Z -K urls -w '%{http_code}\n' --parallel-max 40 2>/dev/null | grep -c ^200)" 80
is "health needs nothing" "$(code "$U/health")" 200
is "a header twice is refused" "$(code -H 'Accept: a' -H 'Accept: b' "$U/x")" 400
is "another method is 405" "$(code -X DELETE "$U/x")" 405
is "the second address is the other API" "$(metric 'ceems_lb_requests_total{api="pyroscope",code="2xx"}')$(code "http://127.0.0.1:$(awk '/^ready/ { print $3 }' one.out)/x")$(metric 'ceems_lb_requests_total{api="pyroscope",code="2xx"}')" 02001

# --- answers in all forms that HTTP has
answers A "HTTP/1.1 200 OK${r}Content-Type: text/x${r}Content-Length: 5${r}${r}abcde"
is "an answer with a length" "$(whole)$(cat got)" 0abcde
answers A "HTTP/1.1 200 OK${r}Transfer-Encoding: chunked${r}${r}3;a=b${r}abc${r}2${r}de${r}0${r}T: x${r}${r}"
is "one in chunks" "$(whole)$(cat got)" 0abcde
closes A "HTTP/1.1 200 OK${r}${r}abcde"
is "one that ends with its connection" "$(whole)$(cat got)" 0abcde
closes A "HTTP/1.0 200 OK${r}${r}abcde"
is "one of HTTP/1.0" "$(whole)$(cat got)" 0abcde
answers A "HTTP/1.1 100 Continue${r}${r}HTTP/1.1 103 Early${r}X: y${r}${r}HTTP/1.1 200 OK${r}Content-Length: 5${r}${r}abcde"
is "one behind interim answers" "$(whole)$(cat got)" 0abcde
answers A "HTTP/1.1 204 No Content${r}${r}"
is "one without a body" "$(said)" 204
# raw METHOD: all that comes of such a request and one behind it, to the connection's end. Behind the
# first head there may be nothing, or the next.
raw() {
	exec {RAW}<>"/dev/tcp/127.0.0.1/$PORT"
	printf "$1 /x HTTP/1.1${r}Host: x${r}${r}GET /health HTTP/1.1${r}Host: x${r}Connection: close${r}${r}" >&"$RAW"
	timeout 60 cat <&"$RAW" | tr -d '\r'
	exec {RAW}>&-
}
behind() { raw "$1" | sed '1,/^$/d' | head -c 9; }
long=400000 # more than is held as a whole (lb/proxy/upstream_impl.h)
answers A "HTTP/1.1 200 OK${r}Transfer-Encoding: chunked${r}${r}%x${r}%0${long}d${r}0${r}${r}" $long 0
is "a long answer in chunks has no byte behind the head of a HEAD" "$(behind HEAD | sed 's/^HTTP.*//')" ""
is "and is whole for a GET" "$(whole)$(stat -c %s got)" "0$long"
answers A "HTTP/1.1 200 OK${r}Content-Length: $long${r}${r}%0${long}d" 0
is "nor has one with a length" "$(behind HEAD)" "HTTP/1.1 "
closes A "HTTP/1.1 200 OK${r}${r}%0${long}d" 0
is "nor one that ends with its connection" "$(behind HEAD | sed 's/^HTTP.*//')" ""
for status in 204 304; do
	answers A "HTTP/1.1 $status Short${r}${r}"
	is "nor has a $status" "$(behind GET | sed 's/^HTTP.*//;s/^{.*/refused/')" "$([ $status = 304 ] && echo refused)"
done
answers A "HTTP/1.1 400 Bad${r}Content-Length: 5${r}${r}abcde"
is "a refusal by the backend" "$(said)" 400
answers A "HTTP/1.1 503 Busy${r}Content-Length: 5${r}${r}abcde"
is "a 503 by its API" "$(said)" 503
answers A "HTTP/1.1 200 OK${r}Set-Cookie: a=b${r}Location: /x${r}Server: y${r}X-Secret: z${r}Content-Type: text/x${r}Content-Length: 0${r}${r}"
is "of its headers only those that are needed" \
	"$("${CURL[@]}" -D - -o /dev/null "$U/x" | grep -icE 'cookie|location|server|secret')$("${CURL[@]}" -D - -o /dev/null "$U/x" | grep -c 'text/x')" 01
control A "drip 2"
like "one that drips in" "$("${CURL[@]}" -d 'query=up' "$U/x")" '"asked":"query=up"'
head -c 20000000 /dev/zero | gzip -9 >bomb
{ printf "HTTP/1.1 200 OK${r}Content-Type: text/x${r}Content-Encoding: gzip${r}Content-Length: %d${r}${r}" "$(stat -c %s bomb)"; cat bomb; } >A.bytes
control A "raw $SCRATCH/A.bytes"
is "gzip is passed through as it is" "$(whole -H 'Accept-Encoding: gzip')$(cmp got bomb && echo same)" 0same

# --- what may not be passed on
bad() { answers A "$2"; is "$1" "$(said)" 502; }
bad "a redirect is an error" "HTTP/1.1 302 Found${r}Location: http://127.0.0.1/${r}Content-Length: 0${r}${r}"
bad "so is a wrong password of ours" "HTTP/1.1 401 No${r}WWW-Authenticate: Basic${r}Content-Length: 0${r}${r}"
bad "no HTTP" "SSH-2.0-OpenSSH_9.2${r}"
bad "two lengths" "HTTP/1.1 200 OK${r}Content-Length: 5${r}Content-Length: 6${r}${r}abcdef"
bad "a length and chunks" "HTTP/1.1 200 OK${r}Content-Length: 5${r}Transfer-Encoding: chunked${r}${r}0${r}${r}"
bad "an upgrade" "HTTP/1.1 101 Switching${r}Upgrade: x${r}${r}"
bad "a folded header" "HTTP/1.1 200 OK${r}X: a${r} b${r}Content-Length: 0${r}${r}"
bad "a header's end in a header" "HTTP/1.1 200 OK${r}X: a\nSet-Cookie: b${r}Content-Length: 0${r}${r}"
bad "chunks that are broken from their begin" "HTTP/1.1 200 OK${r}Transfer-Encoding: chunked${r}${r}5${r}abcdeX"
bad "interim answers without end" "$(for _ in $(seq 12); do printf 'HTTP/1.1 100 Continue\\r\\n\\r\\n'; done)"
control A heads
is "a head without end" "$(said)" 502
for how in drop reset; do
	control A $how
	is "no answer ($how)" "$(said)" 502
done
closes A "HTTP/1.1 200 OK${r}Content-"
is "a head that is cut" "$(said)" 502

control A once
is "a kept connection that is gone is no error" "$(for _ in 1 2 3 4 5; do code "$U/x"; done)" 200200200200200
ok "but another one is made" test "$(metric 'ceems_lb_upstream_connections_total{kind="stale"}')" -ge 4

# --- what is cut must not look whole: a short one is an error, a long one is cut for the client too
closes A "HTTP/1.1 200 OK${r}Content-Length: 50${r}${r}abcde"
is "a body cut short of its length" "$([ "$(whole -f)" != 0 ] && echo seen)" seen
closes A "HTTP/1.1 200 OK${r}Transfer-Encoding: chunked${r}${r}5${r}abcde${r}"
is "chunks without the last one" "$([ "$(whole -f)" != 0 ] && echo seen)" seen
is "to a client of HTTP/1.0 too" "$([ "$(whole -f -0)" != 0 ] && echo seen)" seen
answers A "HTTP/1.1 200 OK${r}Transfer-Encoding: chunked${r}${r}4e20${r}%020000dX" 0
is "broken chunks" "$([ "$(whole -f)" != 0 ] && echo seen)" seen

answers A "HTTP/1.1 200 OK${r}Transfer-Encoding: chunked${r}${r}5${r}abcde${r}"
rm -f got
"${CURL[@]}" -N -o got "$U/x" & client=$!
has_bytes() { [ "$(stat -c %s got 2>/dev/null)" = "$1" ]; }
ok "what has no end yet is passed on as it comes" wait_for 30 has_bytes 5
kill $client; wait $client 2>/dev/null
for kb in 4 30 100 127 129 400; do
	answers A "HTTP/1.1 200 OK${r}Transfer-Encoding: chunked${r}${r}%x${r}%0$((kb * 512))d${r}%x${r}%0$((kb * 512))d${r}0${r}${r}" $((kb * 512)) 1 $((kb * 512)) 2
	whole >>codes
	stat -c %s got >>codes
	md5sum <got >>codes
	answers A "HTTP/1.1 200 OK${r}Content-Length: $((kb * 1024))${r}${r}%0$((kb * 512))d%0$((kb * 512))d" 1 2
	whole >>codes2
	stat -c %s got >>codes2
	md5sum <got >>codes2
done
is "answers of 4 to 400 kB are whole, in chunks and with a length" "$(grep -v - codes | xargs)" "0 4096 0 30720 0 102400 0 130048 0 132096 0 409600"
is "and the same" "$(cat codes2)" "$(cat codes)"

# --- two answers where one was asked for
answers A "HTTP/1.1 200 OK${r}Content-Length: 5${r}${r}abcdeHTTP/1.1 200 OK${r}Content-Length: 6${r}${r}POISON"
is "what follows an answer is nobody's" "$("${CURL[@]}" "$U/x" "$U/x" "$U/x")" abcdeabcdeabcde
control A more
is "also when it is whole" "$(for _ in 1 2 3 4; do "${CURL[@]}" -d q=1 "$U/x"; done | grep -c POISON)" 0
control A later
lates() { cat A.ctl.late 2>/dev/null | wc -l; }
later_than() { [ "$(lates)" -gt "$1" ]; }
is "and comes later" "$(for _ in 1 2 3 4; do late=$(lates); "${CURL[@]}" -d q=1 "$U/x"; wait_for 10 later_than "$late"; done | grep -c POISON)" 0
control A ok
like "then all is as before" "$("${CURL[@]}" -d 'query=up' "$U/x")" '"asked":"query=up"'

# --- time
control A hang
is "a backend that hangs is 504 in time" "$(said)" 504
is "no other request waits for it" "$({ code "$U/x" >slow & } ; sleep 0.2; code "$U/refuse"; wait)" 403
control A ok

# --- clients
before=$(metric 'ceems_lb_relay_events_total{event="cancelled"}')
asked() { wc -l <"$1.rec"; }
asked_since() { [ "$(asked "$1")" -gt "$2" ]; } # BACKEND how many there were
cancelled() { [ "$(($(metric 'ceems_lb_relay_events_total{event="cancelled"}') - before))" = "$1" ]; }
control A hang
was=$(asked A)
curl -s -m 100 "$U/x" & client=$!
wait_for 10 asked_since A "$was"
kill $client; wait $client 2>/dev/null
ok "a client that goes cancels its call" wait_for 10 cancelled 1
control A endless
curl -s -m 100 -o taken "$U/x" & client=$!
wait_for 10 eval '[ "$(stat -c %s taken)" -gt 100000 ]'
kill $client; wait $client 2>/dev/null
ok "in the middle of an answer too" wait_for 10 cancelled 2
is "nothing of them is left" "$(metric 'ceems_lb_upstream_connections{state="busy"}')$(metric ceems_lb_requests_under_way)" 01
control A ok
whole >/dev/null
start_peak=$(peak)
control A endless
"${CURL[@]}" "$U/x" | head -c 104857600 | wc -c >taken
ok "100 MB go through in $(($(peak) - start_peak)) kB" test "$(cat taken)" = 104857600 -a $(($(peak) - start_peak)) -lt 2048
for _ in $(seq 20); do printf 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n' | "$BUILD/http_rude" --deaf 2 --wait 3 "$PORT" >/dev/null & pids+=($!); done
sleep 1.5
ok "clients that never read cost little ($(($(peak) - start_peak)) kB)" test $(($(peak) - start_peak)) -lt 6000
is "and stop nobody" "$(code "$U/refuse")" 403
wait "${pids[@]}"
control A ok
is "a client that sends slowly is answered" \
	"$(printf 'GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' | "$BUILD/http_rude" --slow 5 --wait 60 "$PORT")" "200 closed"
is "requests behind each other in one piece are answered" \
	"$(printf 'GET /x HTTP/1.1\r\nHost: x\r\n\r\nGET /refuse HTTP/1.1\r\nHost: x\r\n\r\nGET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' | "$BUILD/http_rude" --wait 60 "$PORT")" "200 403 200 closed"
stop
is "it ends well" "$RC$(grep -c . one.log)" 00
like "every call was ended, and none is held" "$(grep '^backend 0' one.out)" ' refs 0$'

# --- several backends
rude C
dead=$(free_port)
host two --workers 2 "127.0.0.1:$dead" "127.0.0.1:$A" "127.0.0.1:$C"
is "a backend that is not there is passed over" "$(for _ in 1 2 3 4 5 6 7 8 9; do code "$U/x"; done | tr -d 2)" "$(printf '00%.0s' 1 2 3 4 5 6 7 8 9)"
control A drop
control C ok
is "one that answers nothing too" "$(for _ in 1 2 3 4 5 6; do code "$U/x"; done | sed 's/502//g;s/200/./g' | tr -d '\n' | cut -c1-3)" ...
closes A "HTTP/1.1 200 OK${r}Content-Length: 50${r}${r}abcde"
is "one that cuts a short answer too" "$(for _ in 1 2 3 4 5 6; do "${CURL[@]}" -o got -w '%{http_code}' "$U/x"; done | sed 's/502//g;s/200/./g' | tr -d '\n' | cut -c1-3)" ...
control A ok
ok "retries are counted" test "$(metric 'ceems_lb_relay_events_total{event="retried"}')" -ge 3
stop

# --- an answer must begin in its own time
host begin --workers 1 --timeout 20000 --first-byte 700 "127.0.0.1:$A"
took() { local at=${EPOCHREALTIME/./}; "$@"; echo " $(((${EPOCHREALTIME/./} - at) / 1000))"; }
in_time() { awk -v max="$2" '{ exit !($1 == '"$1"' && $2 < max) }'; }
control A hang
took said >began
ok "a server that hangs is given up when its answer should have begun ($(cat began) ms)" in_time 504 6000 <began
control A "slow 1500"
is "so is one that begins too late" "$(said)" 504
answers A "HTTP/1.1 200 OK${r}X-Long: %0400d${r}" 0
is "and one whose head has no end" "$(said)" 504
control A "slow 200"
is "one that begins in time is not" "$(said)" 200
control A endless
is "and what has begun may take longer" "$("${CURL[@]}" -m 2 -o got -w '%{http_code}' "$U/x"; echo " $?")" "200 28"
control A ok
is "then all is as before it" "$(said)" 200
stop
like "none of it counts against the server" "$(grep '^backend 0' begin.out)" 'failed 0 timed_out 3 '

# --- labels that are taken out
host filter --workers 1 --timeout 60000 --filter secret "127.0.0.1:$A"
series='{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b","secret":"planted"},"value":[1,"1"]}]}}'
answers A "HTTP/1.1 200 OK${r}Content-Type: application/json${r}Content-Length: ${#series}${r}${r}$series"
filtered() { curl -s -m 200 "$@" "$U/api/v1/query?query=up"; }
is "a label that is to be taken out is" "$(filtered)" "${series/,\"secret\":\"planted\"/}"
{ printf "HTTP/1.1 200 OK${r}Content-Type: application/json${r}Content-Encoding: gzip${r}${r}"; echo "$series" | gzip; } >A.bytes
control A "close $SCRATCH/A.bytes"
is "out of compressed answers too" "$(filtered -H 'Accept-Encoding: gzip')" "${series/,\"secret\":\"planted\"/}"
{ printf "HTTP/1.1 200 OK${r}Content-Type: application/json${r}Content-Encoding: gzip${r}${r}"; echo "$series" | gzip | head -c 60; } >A.bytes
is "of a compressed answer that is cut nothing looks whole" "$("${CURL[@]}" -o got "$U/api/v1/query?query=up"; [ $? != 0 ] && echo seen)" seen
{ printf "HTTP/1.1 200 OK${r}Content-Type: application/json${r}Content-Encoding: gzip${r}${r}"
	{ printf '{"status":"success","data":{"resultType":"vector","result":[{"metric":{"secret":"x"},"value":[1,"1"]}'
	  yes '{"metric":{"secret":"planted","a":"b"},"value":[1,"1"]}' | head -n 400000 | sed 's/^/,/' | tr -d '\n'; printf ']}}'; } | gzip -1; } >A.bytes
is "20 MB come through the filter whole" "$(filtered | jq -c '[.data.result|length, (map(select(.metric.secret))|length)]')" "[400001,0]"
case $BUILD in
*/san-*) skip "in little memory" "the sanitizers keep what is freed" ;;
*) ok "in little memory ($(peak) kB)" test "$(peak)" -lt 20000 ;;
esac
answers A "HTTP/1.1 200 OK${r}Content-Type: text/html${r}Content-Length: 7${r}${r}planted"
is "what cannot be filtered is an error" "$(code "$U/api/v1/query?query=up")" 502
stop
control A ok

# --- the end
host three --workers 2 --drain 30000 "127.0.0.1:$A"
control A "slow 1000"
was=$(asked A)
{ exec {IN}>&-; code "$U/x"; } >slow & waits=$!
wait_for 10 asked_since A "$was"
exec {IN}>&-
wait $waits
is "what is under way is answered before the end" "$(cat slow)" 200
wait "$PID"
is "then it ends" $? 0
host four --drain 300 "127.0.0.1:$A"
control A hang
was=$(asked A)
{ exec {IN}>&-; code "$U/x"; } >slow & waits=$!
wait_for 10 asked_since A "$was"
exec {IN}>&-
wait $waits
is "what takes longer is told so" "$(cat slow)" 503
wait "$PID"
is "and holds up nothing" $? 0
tap_done
