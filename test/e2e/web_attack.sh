#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Unauthenticated clients that take what they can get, and authenticated ones beside them:
# these are served, each time.
. "$(dirname "$0")/../tap.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
for p in web_host lb_host backend_rude http_crowd; do [ -x "$BUILD/$p" ] || skip_all "$p is not built"; done
cd "$SCRATCH" || exit 1
CURL=(curl -s -m 100)

# start NAME args...: sets PORT, PID, LOG; the server ends when the test does
start() {
	local name=$1; shift
	LOG=$SCRATCH/$name.log
	mkfifo "$SCRATCH/$name.in"
	"$BUILD/web_host" "$@" <"$SCRATCH/$name.in" >"$SCRATCH/$name.out" 2>"$LOG" &
	PID=$!
	exec {IN}>"$SCRATCH/$name.in"
	started "$PID"
	wait_for 60 grep -q ^ready "$SCRATCH/$name.out" || { sed 's/^/# /' "$LOG"; return 1; }
	PORT=$(sed 's/^ready //' "$SCRATCH/$name.out")
}
stop() { exec {IN}>&-; wait "$PID"; }
# codes N [curl's options]: the answers to N requests at once, each status and how many
codes() {
	local n=$1; shift
	for _ in $(seq "$n"); do printf 'url=http://127.0.0.1:%s/health\noutput=/dev/null\n' "$PORT"; done >urls
	"${CURL[@]}" -Z --parallel-immediate --parallel-max 100 -w '%{http_code}\n' "$@" -K urls 2>/dev/null |
		sort | uniq -c | awk '{ printf "%s%s x %s", s, $2, $1; s = ", " }'
}

# counted NAME [LABELS]: of /metrics
counted() {
	"${CURL[@]}" -u 'ada:correct horse' "http://127.0.0.1:$PORT/metrics" |
		awk -v n="ceems_web_$1${2:+{$2\}}" '$1 == n { print $2 }'
}

# bcrypt of "correct horse", cost 10
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'
printf 'basic_auth_users:\n  ada: %s\n' "$hash" >web.yaml
chmod 640 web.yaml

# --- a page of panels, when nobody has been heard of yet
start panels --config "$SCRATCH/web.yaml" / 127.0.0.1:0
is "30 panels at a fresh start are all let in" "$(codes 30 -u 'ada:correct horse')" "200 x 30"
kill -HUP "$PID"
ok "the configuration is read again" wait_for 60 grep -q reloaded "$LOG"
is "30 panels after SIGHUP are all let in" "$(codes 30 -u 'ada:correct horse')" "200 x 30"
is "30 panels with a wrong password are all told so" "$(codes 30 -u 'ada:wrong')" "401 x 30"
is "and counted" "$(counted checks_refused_total 'check="password",reason="wrong"')" 30
stop

# --- guesses that never end, from one client, who has asked for as much as it can
start guesses --config "$SCRATCH/web.yaml" / 127.0.0.1:0
for i in $(seq 200); do
	printf 'url=http://127.0.0.1:%s/health\noutput=/dev/null\nuser="ada:guess %s"\n' "$PORT" "$i"
	printf 'interface=127.9.0.1\nmax-time=200\nwrite-out="%%{http_code}\\n"\nnext\n'
done >guesses
curl -s -Z --parallel-immediate --parallel-max 50 -K guesses >guessed 2>/dev/null &
GUESSER=$!
started "$GUESSER"
ok "guesses are turned away when too many wait" wait_for 100 grep -q 503 guessed
is "a right password from elsewhere is let in meanwhile" "$(codes 8 -u 'ada:correct horse')" "200 x 8"
kill "$GUESSER" 2>/dev/null
wait "$GUESSER" 2>/dev/null
ok "guesses that were turned away are counted" [ "$(counted checks_refused_total 'check="password",reason="busy"')" -gt 0 ]
stop

# --- connections that ask for nothing
# crowd OPTIONS: as test/fake/http_crowd.c has it, what each sends first is in the file head
crowd() {
	"$BUILD/http_crowd" "$@" "$PORT" <head >crowd.out &
	CROWD=$!
	started "$CROWD"
	wait_for 100 grep -q ready crowd.out
}
disperse() { kill "$CROWD"; wait "$CROWD" 2>/dev/null; }
# scrapes N: one after another, each by a connection of its own
scrapes() {
	for _ in $(seq "$1"); do "${CURL[@]}" -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$PORT/metrics"; done |
		sort | uniq -c | awk '{ printf "%s%s x %s", s, $2, $1; s = ", " }'
}
start idle / 127.0.0.1:0
: >head
crowd --count 400 --spread 1
is "beside 400 silent clients of 127.9.0.x each scrape is answered" "$(scrapes 12)" "200 x 12"
disperse
printf 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n' >head
crowd --count 400 --again 1
is "and beside one client with 400 that never ends" "$(scrapes 12)" "200 x 12"
disperse
printf 'GET /health HTTP/1.1\r\nHost: x\r\n' >head
# all of 127/8 is one network: whose head is not there before 64 others came may be the one that ends
crowd --count 90 --spread 1 --again 1000
is "and beside 90 heads that stay half" "$(scrapes 12)" "200 x 12"
disperse
ok "connections that ended for others are counted" [ "$(counted connections_ended_total)" -gt 0 ]
ok "the server runs on" kill -0 "$PID"
stop

# --- the load balancer: what it refuses is what Grafana shows
mkfifo rude.in
echo ok >rude.ctl
"$BUILD/backend_rude" rude.ctl rude.rec <rude.in >rude.out 2>rude.log &
started $!
exec {RUDE_IN}>rude.in
ok "a backend starts" wait_for 60 grep -q ^ready rude.out
mkfifo lb.in
"$BUILD/lb_host" --workers 1 --config "$SCRATCH/web.yaml" "127.0.0.1:$(sed -n 's/^ready //p' rude.out)" <lb.in >lb.out 2>lb.log &
PID=$!
exec {IN}>lb.in
started "$PID"
ok "a load balancer starts" wait_for 60 grep -q ^ready lb.out
PORT=$(awk '/^ready/ { print $2 }' lb.out)
like "a wrong password is Prometheus' error" \
	"$("${CURL[@]}" -u ada:wrong "http://127.0.0.1:$PORT/api/v1/query?query=up")" \
	'^\{"status":"error","errorType":"unauthorized","error":"wrong user or password [^"]*"\}$'
like "so is what is no method" "$("${CURL[@]}" -X DELETE "http://127.0.0.1:$PORT/api/v1/query")" '^\{"status":"error","errorType":"bad_data"'

# --- bodies of nobody, at the load balancer, which proves its users after a body is there
{ printf 'query='; head -c 900000 /dev/zero | tr '\0' a; } >long
queries() {
	for _ in $(seq "$1"); do
		"${CURL[@]}" -u 'ada:correct horse' -o /dev/null -w '%{http_code}\n' --data-binary @long "http://127.0.0.1:$PORT/api/v1/query"
	done | sort | uniq -c | awk '{ printf "%s%s x %s", s, $2, $1; s = ", " }'
}
is "long queries are taken" "$(queries 4)" "200 x 4"
printf 'POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1048576\r\n\r\n' >head
crowd --count 80 --zeros 1048575
is "and beside 80 bodies of nobody's that stay without their end" "$(queries 8)" "200 x 8"
disperse
# Of 64 MiB half is for strangers: a front end of the list (lb_gate.c) that proves nothing by its head
crowd --count 80 --zeros 1048575 --spread 1
front() {
	for _ in $(seq "$1"); do
		"${CURL[@]}" --interface 127.8.0.1 -o /dev/null -w '%{http_code}\n' --data-binary @long "http://127.0.0.1:$PORT/api/v1/query"
	done | sort | uniq -c | awk '{ printf "%s%s x %s", s, $2, $1; s = ", " }'
}
is "front ends have room for theirs beside 80 of so many clients" "$(front 8)" "200 x 8"
disperse
ok "bodies without room are counted" [ "$(counted bodies_refused_total)" -gt 0 ]
stop
tap_done
