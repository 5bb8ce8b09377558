#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bodies of requests: which are accepted, which are refused before they are sent, and clients that
# disconnect, send slowly, lie about lengths or hide a second request in the first.
. "$(dirname "$0")/../tap.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
[ -x "$BUILD/web_bodies" ] || skip_all "web_bodies is not built"
cd "$SCRATCH" || exit 1
CURL=(curl -s -m 100)
LOOPS=() # or --loops N: the program's threads serve
[ -z "${WEB_LOOPS:-}" ] || LOOPS=(--loops "$WEB_LOOPS")

start() {
	local name=$1; shift
	OUT=$SCRATCH/$name.out LOG=$SCRATCH/$name.log
	mkfifo "$name.in"
	"$BUILD/web_bodies" "${LOOPS[@]}" "$@" <"$name.in" >"$OUT" 2>"$LOG" &
	PID=$!
	exec {IN}>"$name.in"
	started "$PID"
	wait_for 10 grep -q ^ready "$OUT" || { sed 's/^/# /' "$LOG"; return 1; }
	PORT=$(sed -n 's/^ready //p' "$OUT")
	U=http://127.0.0.1:$PORT
}
stop() { exec {IN}>&-; wait "$PID"; }
code() { "${CURL[@]}" -o /dev/null -w '%{http_code}' "$@"; }
header() { "${CURL[@]}" -D - -o /dev/null "${@:2}" | tr -d '\r' | sed -n "s/^$1: //Ip"; }
# raw WHAT...: sends a request made by printf, as it is; what came back by status
raw() { printf "$@" | "$BUILD/http_rude" --wait 8 "$PORT"; }
head_of() { printf 'POST /echo HTTP/1.1\\r\\nHost: x\\r\\n%s\\r\\n' "$1"; }
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$PID/status"; }

start plain --idle 1 --bodies 300000
head -c 100000 /dev/urandom >full
head -c 100001 /dev/zero >long
is "a body arrives whole" "$("${CURL[@]}" --data-binary 123456789 "$U/echo")" "POST 9 e3069283"
first=$("${CURL[@]}" --data-binary @full "$U/echo")
like "the longest body is taken" "$first" '^POST 100000 '
is "in chunks it is the same" "$("${CURL[@]}" -H 'Transfer-Encoding: chunked' --data-binary @full "$U/echo")" "$first"
is "an empty body is one" "$("${CURL[@]}" -X POST -H 'Content-Length: 0' "$U/echo")" "POST 0 00000000"
is "PUT is told from POST" "$("${CURL[@]}" -X PUT --data-binary 123456789 "$U/echo")" "PUT 9 e3069283"
is "100 Continue is said to who asks" "$(raw "$(head_of 'Expect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n')abc")" "100 200 closed"
is "a connection goes on after a body" \
	"$(raw "$(head_of 'Content-Length: 3\r\n')abc$(head_of 'Content-Length: 2\r\nConnection: close\r\n')ab")" "200 200 closed"

# --- refused by the head
is "a body too long is 413" "$(code --data-binary @long "$U/echo")" 413
is "so is one of 100 MB, at once" "$(raw "$(head_of 'Content-Length: 100000000\r\n')")" "413 closed"
like "so is one beyond 64 bits" "$(raw "$(head_of 'Content-Length: 99999999999999999999999\r\n')")" '^(413 )+closed$'
is "it is 413 before 100 Continue" "$(raw "$(head_of 'Expect: 100-continue\r\nContent-Length: 100001\r\n')")" "413 closed"
is "in chunks too long is 413" "$(code -H 'Transfer-Encoding: chunked' --data-binary @long "$U/echo")" 413
is "chunks without end are cut off" \
	"$({ raw "$(head_of 'Transfer-Encoding: chunked\r\n')"'fffff\r\n%01048575d\r\n' 0; })" "closed"
is "no length is 411" "$(raw "$(head_of 'Connection: close\r\n')")" "411 closed"
is "another method is 405" "$(code -X DELETE "$U/echo")$(code "$U/echo")$(code -X BREW "$U/echo")" 405405405
is "405 names what this path takes" "$(header allow -X DELETE "$U/echo")" "POST, PUT"
is "and another path its own" "$(header allow -X POST "$U/get")" "GET, HEAD"
is "a body where none belongs is 413" "$(raw 'GET /get HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc')" "413 closed"
is "the wrong type is 415" "$(code -H 'Content-Type: text/plain' -d '{}' "$U/typed")" 415
is "a type that only begins alike is 415" "$(code -H 'Content-Type: application/jsonp' -d '{}' "$U/typed")" 415
is "no type is 415" "$(code -H 'Content-Type;' -d '{}' "$U/typed")" 415
is "the right one with a parameter is taken" "$(code -H 'Content-Type: Application/JSON; charset=utf-8' -d '{}' "$U/typed")" 200
is "another expectation is 417" "$(raw "$(head_of 'Expect: miracles\r\nContent-Length: 1\r\n')")" "417 closed"

# --- one request that two readers would end in two places
two() { raw "$(head_of "$1")5\r\nabcde\r\n0\r\n\r\nGET /get HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"; }
is "two lengths are refused" "$(two 'Content-Length: 5\r\nContent-Length: 6\r\n')" "400 closed"
is "even the same twice" "$(two 'Content-Length: 5\r\nContent-Length: 5\r\n')" "400 closed"
is "a length and chunks are refused" "$(two 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n')" "400 closed"
is "chunks twice are refused" "$(two 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n')" "400 closed"
is "a coding that nobody knows is refused" "$(two 'Transfer-Encoding: gzip, chunked\r\n')" "501 closed"
is "identity is no coding" "$(two 'Transfer-Encoding: identity\r\n')" "501 closed"
like "a blank before the colon is refused" "$(two 'Transfer-Encoding : chunked\r\n')" '^(400 )+closed$'
like "a blank before a length is refused" "$(two 'Content-Length : 5\r\n')" '^(400 )+closed$'
like "a length with a sign is refused" "$(two 'Content-Length: +5\r\n')" '^(400 )+closed$'
like "a list of lengths is refused" "$(two 'Content-Length: 5, 5\r\n')" '^(400 )+closed$'
is "two hosts are refused" "$(two 'Host: y\r\nContent-Length: 5\r\n')" "400 closed"
is "chunks in HTTP/1.0 are refused" \
	"$(raw 'POST /echo HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' | sed 's/^$/400 closed/;s/^closed/400 closed/')" "400 closed"
is "nothing behind a chunked body is read" "$(two 'Transfer-Encoding: chunked\r\n')" "200 closed"
chunk() { raw "$(head_of 'Transfer-Encoding: chunked\r\n')$1"; }
is "a chunk of no number is refused" "$(chunk 'xyz\r\nabc\r\n0\r\n\r\n')" "400 closed"
is "a chunk beyond 64 bits is refused" "$(chunk 'fffffffffffffffff\r\nabc')" "413 closed"
is "a chunk longer than it says is refused" "$(chunk '3\r\nabcdef\r\n0\r\n\r\n')" "400 closed"
is "a negative chunk is refused" "$(chunk -- '-1\r\nabc\r\n0\r\n\r\n')" "400 closed"
is "what stands behind the last chunk is no header" \
	"$(printf 'POST /guard HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Key: good\r\n\r\n' | "$BUILD/http_rude" --wait 8 "$PORT")" "403 closed"

# --- time and memory
is "a body in time leaves the connection open" "$(printf "$(head_of 'Content-Length: 300\r\n')"'%0300d' 0 | "$BUILD/http_rude" --wait 1 "$PORT")" "200 open"
is "a body that dribbles in is ended" "$(printf "$(head_of 'Content-Length: 300\r\n')"'%0300d' 0 | "$BUILD/http_rude" --slow 50 --wait 8 "$PORT")" closed
is "a body that never comes is ended" "$(raw "$(head_of 'Content-Length: 300\r\n')abc")" closed
fin() { printf "$@" | "$BUILD/http_rude" --fin 1 --wait 8 "$PORT"; }
is "who closes its side with its request has its answer, and leaves no connection behind" "$(fin 'GET /get HTTP/1.1\r\nHost: x\r\n\r\n')" "200 closed"
is "or with the last byte of a body" "$(fin "$(head_of 'Content-Length: 3\r\n')abc")" "200 closed"
is "who closes with the second of two has both" "$(fin "$(head_of 'Content-Length: 3\r\n')abcGET /get HTTP/1.1\r\nHost: x\r\n\r\n")" "200 200 closed"
before=$(rss)
for _ in $(seq 12); do { printf 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n'; head -c 90000 /dev/zero; } | "$BUILD/http_rude" --wait 6 "$PORT" >>held & pids+=($!); done
full() { [ "$("${CURL[@]}" -D full.head -o /dev/null -w '%{http_code}' --data-binary @full "$U/echo")" = 503 ]; }
ok "over the memory of all bodies is 503" wait_for 10 full
like "503 says when to come again" "$(tr -d '\r' <full.head | sed -n 's/^retry-after: //Ip')" '^[0-9]+$'
wait "${pids[@]}"
ok "what is held is bounded ($((($(rss) - before))) kB)" test $(($(rss) - before)) -lt 4000
is "afterwards it is given back" "$(for _ in 1 2 3 4 5; do code --data-binary @full "$U/echo"; done)" 200200200200200

# --- a chunk's extension, or a trailer, that fills the memory of its request: libmicrohttpd (0.9.75) on a loop of the program's
# looks at it for ever then
cpu() { awk '{ print $14 + $15 }' "/proc/$PID/stat"; } # hundredths of a second
spin() { # WHAT HEAD: nobody burns the processor while such a request lives, and it does not live long
	local at spent
	{ printf '%b' "$2"; head -c 40000 /dev/zero | tr '\0' a; } | "$BUILD/http_rude" --wait 8 "$PORT" >spin.out &
	at=$!
	sleep 0.3
	spent=$(cpu)
	is "$1: others are served beside it" "$(for _ in $(seq 20); do code "$U/get"; sleep 0.05; done)" "$(printf '200%.0s' $(seq 20))"
	wait "$at"
	spent=$(($(cpu) - spent))
	ok "$1: no processor burns ($spent ticks)" test "$spent" -lt 20
	like "$1: it ends soon" "$(cat spin.out)" '^([45][0-9][0-9] )?closed$'
}
to() { printf '%s HTTP/1.1\\r\\nHost: x\\r\\n%sTransfer-Encoding: chunked\\r\\n\\r\\n' "$1" "${2:-}"; }
spin "a chunk's extension" "$(to 'POST /echo')5;x="
spin "a trailer" "$(to 'POST /echo')1\r\na\r\n0\r\nX: "
spin "for a method that is not taken" "$(to 'DELETE /echo')5;x="
spin "for a type that is not" "$(to 'POST /typed' 'Content-Type: text/plain\r\n')5;x="
spin "for who may not send it" "$(to 'POST /guard' 'X-Key: bad\r\n')5;x="
spin "for a path without bodies" "$(to 'GET /get')5;x="
stop
is "no log line came of all this" "$(head -c 300 "$LOG")" ""

# --- who may send
start guard --idle 2
is "the right key is let in" "$("${CURL[@]}" -H 'X-Key: good' --data-binary 123456789 "$U/guard")" "POST 9 e3069283"
is "a wrong key is told so after its body" "$(code -H 'X-Key: bad' --data-binary @full "$U/guard")" 403
is "or before it, when it asks" \
	"$(printf 'POST /guard HTTP/1.1\r\nHost: x\r\nX-Key: bad\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n\r\n' | "$BUILD/http_rude" --wait 8 "$PORT")" "403 closed"
is "in chunks too" "$(code -H 'X-Key: bad' -H 'Transfer-Encoding: chunked' --data-binary @full "$U/guard")" 403
is "the right key is told to go on" \
	"$(printf 'POST /guard HTTP/1.1\r\nHost: x\r\nX-Key: good\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc' | "$BUILD/http_rude" --wait 8 "$PORT")" "100 200 closed"
for _ in 1 2 3; do
	exec {fd}<>"/dev/tcp/127.0.0.1/$PORT"
	printf 'POST /guard HTTP/1.1\r\nHost: x\r\nX-Key: good\r\nContent-Length: 1000\r\n\r\nabc' >&$fd
	sleep 0.1; exec {fd}>&-
done
sleep 1
stop
is "cut bodies reach no handler, and all that began is ended" "$(tail -1 "$OUT")" "admits 8 handles 2 ends 8"

hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf 'basic_auth_users:\n  ada: %s\n' "$hash" >web.yaml
chmod 600 web.yaml
start password --config "$SCRATCH/web.yaml"
is "a password is asked for before a body" \
	"$(printf 'POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n' | "$BUILD/http_rude" --wait 1 "$PORT")" "401 closed"
is "a wrong one is 401, with the body sent" "$(code -u ada:wrong --data-binary @full "$U/echo")" 401
is "the right one is let in" "$("${CURL[@]}" -u 'ada:correct horse' --data-binary 123456789 "$U/echo")" "POST 9 e3069283"
is "a wrong key behind it is not reached" "$(code -u ada:wrong -H 'X-Key: good' --data-binary @full "$U/guard")" 401
stop
is "nobody was asked for a key" "$(tail -1 "$OUT")" "admits 0 handles 1 ends 0"

# --- the same where the program's own loops serve
if [ -z "${WEB_LOOPS:-}" ]; then
	on_loops() { WEB_LOOPS=2 bash "$TOP/test/e2e/web_bodies.sh" >loops 2>&1 || { grep -A2 '^not ok' loops | sed 's/^/# /'; return 1; }; }
	ok "all of this on loops of the program's" on_loops
fi
tap_done
