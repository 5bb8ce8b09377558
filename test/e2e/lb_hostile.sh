#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_lb among enemies: HTTP that two readers could read in two ways, PromQL without end, backends
# that lie, users who say that they are others, clocks that differ. After each of them it lives, another
# user is served, and it has not grown. Ownership is the aggregator's, on a real Postgres; MUNGE and the
# nginx before it are real; the backend is made up (test/fake/backend_rude.c), since only a made-up one
# can be this bad and can say what it was asked to the byte.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"
. "$TOP/test/pg.sh"
for p in ceems_lb ceems_aggregator backend_rude http_cases http_rude; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
for c in curl jq gzip base64; do command -v $c >/dev/null || skip_all "$c is not installed"; done
need_pg
cd "$SCRATCH" || exit 1
if have_root; then DROPPED=(--security.run-as-user=nobody); else DROPPED=(); fi
mine() { chmod 640 "$@"; if have_root; then chgrp "$(id -gn nobody)" "$@"; fi; }

# --- who is who: alice has unit 101, bob 102, both running, on alpha
pg_start || { ok "Postgres starts" false; tap_done; }
"$BUILD/ceems_aggregator" --migrate --db.url="$PGURL" >/dev/null && psql_do >/dev/null -c "
	INSERT INTO cluster (name) VALUES ('alpha');
	INSERT INTO person (cluster, name, uid) SELECT id, n, u FROM cluster, (VALUES ('alice', 61001), ('bob', 61002)) p (n, u);
	INSERT INTO unit (cluster, uuid, restarts, submitted, known_by, uid, gid, person, started, state)
		SELECT c.id, j, 0, now() - interval '2 h', 'jobcomp', p.uid, 100, p.id, now() - interval '1 h', 'RUNNING'
		FROM cluster c, person p, (VALUES ('101', 'alice'), ('102', 'bob')) u (j, n) WHERE p.name = u.n" || { ok "records" false; tap_done; }
AGG=$(free_port)
# bcrypt of "correct horse"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'
printf "basic_auth_users: {grafana: '%s', prometheus: '%s'}\n" "$hash" "$hash" >web.yaml
printf "basic_auth_users: {lb: '%s'}\n" "$hash" >agg-web.yaml
mine web.yaml agg-web.yaml
"$BUILD/ceems_aggregator" --db.url="$PGURL" --web.listen-address="127.0.0.1:$AGG" --web.config.file=agg-web.yaml \
	--security.drop-privileges=false --identity.front-end=password:lb >agg.log 2>&1 &
started $!
wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$AGG/health" || { ok "the aggregator serves" false; sed 's/^/# /' agg.log; tap_done; }

# --- the backend, and what it was asked
mkfifo backend.in
"$BUILD/backend_rude" control record <backend.in >backend.out 2>backend.err &
started $!
exec {BACKEND_IN}>backend.in
wait_for 10 grep -q ^ready backend.out || { ok "the backend starts" false; tap_done; }
BACKEND=$(sed 's/ready //' backend.out)
told() { echo "$*" >control.new && mv control.new control; }
told ok
touch record

lb() { # NAME: NAME.yaml is its configuration; sets P, PP, U, PID, LOG
	local name=$1
	mine "$name.yaml"
	LOG=$SCRATCH/$name.log
	P=$(free_port) PP=$(free_port)
	U=http://127.0.0.1:$P
	"$BUILD/ceems_lb" --config.file="$name.yaml" --web.config.file=web.yaml --web.listen-address="127.0.0.1:$P" \
		--web.listen-address="127.0.0.1:$PP" "${DROPPED[@]}" 2>"$LOG" &
	PID=$!
	started "$PID"
	wait_for 20 curl -sf -o /dev/null "$U/health" || { sed 's/^/# /' "$LOG"; return 1; }
}
cat >main.yaml <<-END
	ceems_lb:
	  backends:
	    - id: alpha
	      tsdb: [{web: {url: "http://127.0.0.1:$BACKEND"}}]
	  identity: {front_ends: ["password:grafana"], munge: false}
	ceems_api_server:
	  web: {url: "http://127.0.0.1:$AGG", basic_auth: {username: lb, password: correct horse}}
END
lb main || { ok "ceems_lb starts" false; tap_done; }
# as USER TARGET [curl's]: body; code: its status; why: what a user is told
as() { local u=$1 t=$2; shift 2; curl -s -m 100 -g --path-as-is -u 'grafana:correct horse' -H "X-Grafana-User: $u" -H 'X-Ceems-Cluster-Id: alpha' "$@" "$U$t"; }
code() { as "$@" -o /dev/null -w '%{http_code}'; }
why() { as "$@" | jq -r '.error // .' 2>/dev/null; }
own() { echo "/api/v1/query?query=ceems_x%7Buuid%3D%22$1%22%7D"; }
asked() { wc -l <record; }
auth="Authorization: Basic $(printf 'grafana:correct horse' | base64)"'\r\nX-Ceems-Cluster-Id: alpha\r\n'
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$PID/status"; }
fds() { ls "/proc/$PID/fd" | wc -l; }

is "alice reads her own" "$(code alice "$(own 101)")" 200
is "and not bob's" "$(code alice "$(own 102)")" 403
is "bob reads his own" "$(code bob "$(own 102)")" 200
[ "$tap_failed" = 0 ] || { why bob "$(own 102)"; sed 's/^/# /' "$LOG" agg.log; tap_done; } # nothing else would make sense

# Connections that are kept for the next request are no leak: as many as 64 at once need are there
# before anything is counted.
warm() {
	local i
	for i in $(seq 64); do printf '%s\tGET %s HTTP/1.1\\r\\nHost: x\\r\\n%sX-Grafana-User: bob\\r\\nConnection: close\\r\\n\\r\\n\n' "$i" "$(own 102)" "$auth"; done >warm
	for i in 1 2 3; do "$BUILD/http_cases" "$P" <warm >/dev/null; done
	base_rss=$(rss) base_fds=$(fds)
}

warm

# What must hold after anything: the same process, bob served, no growth beyond what its limits
# are, nothing left open once all is quiet. A sanitizer's memory is not its own.
quiet() { [ "$(fds)" -le $((base_fds + 16)) ]; }
metric() { curl -s -m 20 -u 'prometheus:correct horse' "$U/metrics" | sed -n "s/^$1 //p" | head -1; }
# this very one, and one that has not had its 30 s for its body yet
idle() { [ "$(metric ceems_lb_requests_under_way)" -le "${1:-2}" ]; }
served() { [ "$(code bob "$(own 102)")" = 200 ]; }
still() { # AFTER
	local what=
	told ok
	kill -0 "$PID" 2>/dev/null || what="it is dead; "
	wait_for 15 served || what+="bob is not served; "
	wait_for 10 idle || what+="$(metric ceems_lb_requests_under_way) requests are under way; "
	wait_for 20 quiet || what+="$(fds) files are open, $base_fds were; "
	[ -n "${SAN:-}" ] || [ "$(rss)" -lt $((base_rss + 32768)) ] || what+="$(rss) kB, $base_rss were; "
	is "it lives, bob is served, nothing is left behind: $1" "$what" ""
}
# Each request that reached the backend is one that this program wrote: in the one form, nothing else.
canonical='^[0-9]+ (POST /api/v1/(query|query_range|series|labels|query_exemplars|format_query|parse_query) HTTP/1\.1\|Host: 127\.0\.0\.1:[0-9]+\|([A-Z][A-Za-z-]*: [^|]*\|)*[a-z_]+=[^|]*|GET /api/v1/(status/buildinfo|label/[a-zA-Z_0-9]+/values)(\?[^| ]*)? HTTP/1\.1\|Host: 127\.0\.0\.1:[0-9]+\|([A-Z][A-Za-z-]*: [^|]*\|)*)$'
# how many since that line name unit 102: times, ports and lengths may have these digits, too
named_102() { tail -n "+$(($1 + 1))" record | sed -E 's/^[0-9]+ //; s/(Host|Content-Length): [^|]*//g; s/(time|start|end)=[0-9.]+//g' | grep -c 102; }
strange() { tail -n "+$(($1 + 1))" record | grep -vE "$canonical" | head -3; } # since that line

# --- HTTP that two readers could read in two ways
B=query=ceems_x%7Buuid%3D%22101%22%7D
L=${#B}
make_cases() { # headers that say who asks
	local line h=$1
	while IFS= read -r line; do
		case $line in '#'* | '') continue ;; esac
		line=${line//@G/"GET /api/v1/query?$B HTTP/1.1\\r\\n@H"}
		line=${line//@P/"POST /api/v1/query HTTP/1.1\\r\\n@HContent-Type: application/x-www-form-urlencoded\\r\\n"}
		line=${line//@C/"@T\\r\\n0\\r\\n\\r\\n"}
		line=${line//@T/"$(printf %x "$L")\\r\\n@B"}
		line=${line//@S/"GET $(own 102) HTTP/1.1\\r\\nHost: x\\r\\n${auth}X-Grafana-User: bob\\r\\nConnection: close\\r\\n\\r\\n"}
		line=${line//@H/"Host: x\\r\\n@N"} line=${line//@N/"$h"} line=${line//@B/"$B"} line=${line//@L/"$L"}
		printf '%s\n' "${line#*$'\t'}"
	done <"$TOP/test/e2e/lb_hostile.cases"
}
# what came of each case against what must: those that differ
judge() { # answers
	awk -F'\t' 'FNR == NR { if (!/^#/ && NF == 3) want[$2] = $1; next }
		{ n = gsub(/200 /, "200 ", $2); w = want[$1] }
		w == "" || w == "no" && n || w == "one" && n != 1 || w == "two" && n != 2 || w == "any" && n > 1 ||
		$2 ~ /5[0-9][0-9] / && $2 !~ /50[15] / { print $1 ": " $2 }' "$TOP/test/e2e/lb_hostile.cases" "$1"
}
make_cases "${auth}X-Grafana-User: alice\\r\\n" >cases
before=$(asked)
"$BUILD/http_cases" "$P" <cases >answers
is "$(wc -l <cases | tr -d ' ') requests that no client should send: each has the end that it must" "$(judge answers)" ""
is "the backend was asked as often as there were good answers" "$(($(asked) - before))" "$(grep -o '200 ' answers | wc -l)"
is "each time in the one form that this program writes" "$(strange "$before")" ""
is "and never for what was hidden behind another request" "$(named_102 "$before")" 0
still "HTTP that two readers could read in two ways"

# --- the same by way of a real nginx, which says who asks: a user must not be able to hide a request
# for another's unit from nginx, which would say its own user's name for both
if command -v nginx >/dev/null; then
	N=$(free_port)
	mkdir -m 777 nginx
	printf 'alice:{PLAIN}a\nbob:{PLAIN}b\n' >users.conf
	cat >nginx.conf <<-END
		daemon off; pid $SCRATCH/nginx/pid; error_log $SCRATCH/nginx/error.log; worker_processes 1;
		events {}
		http {
			access_log off; client_body_temp_path nginx; proxy_temp_path nginx; fastcgi_temp_path nginx; uwsgi_temp_path nginx; scgi_temp_path nginx;
			proxy_http_version 1.1; proxy_set_header Connection "";
			upstream lb { server 127.0.0.1:$P; keepalive 8; }
			server {
				listen 127.0.0.1:$N; auth_basic x; auth_basic_user_file $SCRATCH/users.conf;
				location / { proxy_pass http://lb; proxy_set_header X-Grafana-User \$remote_user;
					proxy_set_header Authorization "Basic $(printf 'grafana:correct horse' | base64)"; }
			}
		}
	END
	nginx -p "$SCRATCH" -c "$SCRATCH/nginx.conf" 2>nginx.err &
	started $!
	wait_for 10 curl -s -o /dev/null "http://127.0.0.1:$N/"
	is "who asks is known through nginx" "$(curl -s -o /dev/null -w '%{http_code}' -u alice:a -H 'X-Ceems-Cluster-Id: alpha' "http://127.0.0.1:$N$(own 101)")" 200
	is "another is not taken for him, whatever he says" "$(curl -s -o /dev/null -w '%{http_code}' -u alice:a -H 'X-Grafana-User: bob' "http://127.0.0.1:$N$(own 102)")" 403
	make_cases "Authorization: Basic $(printf alice:a | base64)\\r\\nX-Ceems-Cluster-Id: alpha\\r\\n" >cases.nginx
	before=$(asked)
	"$BUILD/http_cases" "$N" <cases.nginx >answers.nginx
	is "through nginx nothing that was hidden is asked" "$(named_102 "$before")" 0
	is "and what is asked has the one form" "$(strange "$before")" ""
	is "connections that nginx keeps are in step after that" \
		"$(for _ in $(seq 20); do curl -s -u alice:a "http://127.0.0.1:$N$(own 101)" | grep -c 101; curl -s -u bob:b "http://127.0.0.1:$N$(own 102)" | grep -c 102; done | sort | uniq -c | xargs)" "40 1"
	still "the same by way of nginx"
else
	skip "the same by way of nginx" "nginx is not installed"
fi

# --- too much of everything
many() { head -c "$1" /dev/zero | tr '\0' "${2:-a}"; }
rude() { printf '%b' "$1" | cat - "${@:2}" | "$BUILD/http_rude" --wait "${WAIT:-30}" "$P"; }
get="GET $(own 101) HTTP/1.1\\r\\nHost: x\\r\\n${auth}X-Grafana-User: alice\\r\\n"
post="POST /api/v1/query HTTP/1.1\\r\\nHost: x\\r\\n${auth}X-Grafana-User: alice\\r\\nContent-Type: application/x-www-form-urlencoded\\r\\n"
before=$(asked)
like "a target of a megabyte" "$(many 1000000 >big; rude 'GET /api/v1/query?query=' big)" '^(4[0-9][0-9] )?closed$'
like "a header of a megabyte" "$(rude "${get}X: " big)" '^(4[0-9][0-9] )?closed$'
like "a header's name of a megabyte" "$(rude "$get" big)" '^(4[0-9][0-9] )?closed$'
like "ten thousand headers" "$(seq -f 'X-%g: y' 10000 | sed 's/$/\r/' >headers; rude "$get" headers)" '^(4[0-9][0-9] )?closed$'
like "ten thousand empty headers of one name" "$(yes $'X:\r' | head -n 10000 >headers; rude "$get" headers)" '^(4[0-9][0-9] )?closed$'
like "a hundred thousand empty lines" "$(yes $'\r' | head -n 100000 >headers; WAIT=3 rude '' headers)" '^(4[0-9][0-9] )?(closed|open)$'
like "a body that is longer than any may be" "$(code alice /api/v1/query -X POST --data-binary @big)" '^4[0-9][0-9]$'
like "a body that says it is longer" "$(rude "${post}Content-Length: 99999999999\\r\\n\\r\\n")" '^(4[0-9][0-9] )?closed$'
like "a chunk's extension of a megabyte" "$(WAIT=3 rude "${post}Transfer-Encoding: chunked\\r\\n\\r\\n5;x=" big)" '^(4[0-9][0-9] )?(closed|open)$'
cpu() { awk '{ print $14 + $15 }' "/proc/$PID/stat"; } # in hundredths of a second
spent=$(cpu)
sleep 1
ok "which waits for its end without a processor" test $(($(cpu) - spent)) -lt 30
like "trailers of a megabyte" "$(WAIT=3 rude "${post}Transfer-Encoding: chunked\\r\\n\\r\\n$(printf %x "$L")\\r\\n$B\\r\\n0\\r\\nX: " big)" '^(4[0-9][0-9] |200 )?(closed|open)$'
{ printf 'query='; many 20000; } >long
like "twenty thousand chunks of one byte" "$({ printf '%b' "${post}Transfer-Encoding: chunked\\r\\nConnection: close\\r\\n\\r\\n"; fold -w1 long | sed 's/.*/1\r\n&\r/'; printf '0\r\n\r\n'; } | "$BUILD/http_rude" --wait 30 "$P")" '^4[0-9][0-9] closed$'
is "none of that reached the backend, or only what was good of it" "$(strange "$before")" ""
still "too much of everything"
before=$(asked)
n=$({ for _ in $(seq 200); do printf '%b' "$get\\r\\n"; done; printf '%b' "${get}Connection: close\\r\\n\\r\\n"; } | "$BUILD/http_rude" --wait 30 "$P" | grep -o 200 | wc -l)
is "of 201 requests in one go each that was answered was asked for once" "$(($(asked) - before))" "$n"
still "many requests in one go"

# --- clients that do nothing, or take nothing
half=()
for _ in $(seq 150); do
	exec {fd}<>"/dev/tcp/127.0.0.1/$P" && half+=("$fd")
	printf 'GET /api/v1/query?query=' >&"$fd"
done
is "bob is served beside 150 clients that do not go on" "$(for _ in $(seq 20); do code bob "$(own 102)"; echo; done | sort | uniq -c | xargs)" "20 200"
for fd in "${half[@]}"; do exec {fd}>&-; done
still "half open clients"
told endless
deaf=()
for _ in 1 2 3 4 5 6; do printf '%b' "$get\\r\\n" | "$BUILD/http_rude" --deaf 3 --wait 1 "$P" >/dev/null & deaf+=($!); done
sleep 2
told ok
is "bob is served beside six clients that take nothing of an endless answer" "$(code bob "$(own 102)")" 200
[ -n "${SAN:-}" ] || ok "whose answers are not kept" test "$(rss)" -lt $((base_rss + 32768))
wait "${deaf[@]}"
still "deaf clients"
for _ in $(seq 15); do told slow 300; as alice "$(own 101)" -m 0.1 >/dev/null; done
still "clients that go before they are answered"

# --- PromQL that has no end
promql() { # WHAT FILE: never answered, never asked
	local before status
	before=$(asked)
	status=$(code alice /api/v1/query -X POST --data-urlencode "query@$2")
	like "$1" "$status $(($(asked) - before))" '^4[0-9][0-9] 0$'
}
times() { local i; for ((i = 0; i < $2; i++)); do printf %s "$1"; done; }
times '(' 10000 >q; promql "ten thousand parentheses" q
{ times '(' 10000; printf 'ceems_x{uuid="101"}'; times ')' 10000; } >q; promql "ten thousand parentheses that are closed" q
{ times '(' 200; printf 'ceems_x{uuid="101"}'; times ')' 200; } >q; promql "two hundred are too many as well" q
{ printf 'ceems_x{uuid="'; many 1000000; printf '"}'; } >q; promql "a string of a megabyte" q
{ printf 'ceems_x{uuid="'; many 60000; printf '"}'; } >q; promql "one as long as it may be" q
times 'sum(' 5000 >q; promql "sums of sums" q
times '-' 30000 >q; promql "signs" q
{ printf 'ceems_x{uuid="101"}'; times '+ceems_x{uuid="101"}' 4000; } >q; promql "four thousand selectors" q
{ printf 'ceems_x{uuid="101"'; times ',uuid="101"' 6000; printf '}'; } >q; promql "six thousand matchers" q
{ printf 'ceems_x{uuid="101"}'; times '[1h:1m]' 2000; } >q; promql "subqueries of subqueries" q
{ printf 'ceems_x{uuid=~"'; seq -s'|' 1 12000 | tr -d '\n'; printf '"}'; } >q; promql "twelve thousand units" q
for re in '(a+)+$' '((((a*)*)*)*)*b' 'a{1000}{1000}' '(x{1000}){1000}' '.*.*.*.*.*.*.*.*=' '101|.*' '101|' '(101' '101|(?i)x' '[[:^alpha:]]+' '\\p{Greek}' '(?P<n>101)|102' '1\\x301|.+' "$(times '(' 900)$(times ')' 900)"; do
	printf 'ceems_x{uuid=~"%s"}' "$re" >q; promql "the expression ${re:0:30}" q
done
printf 'ceems_x{uuid="101"}\0or up' >q; promql "a zero byte" q
printf 'ceems_x{uuid="101\0"}' >q; promql "a zero byte in a string" q
printf 'ceems_x{uuid="\xff\xfe"}' >q; promql "bytes that are no UTF-8" q
printf '\xff\xfe\xfd' >q; promql "nothing but such" q
printf 'ceems_x{uuid="\\xff101"}' >q; promql "an escape to such" q
printf 'ceems_x{uuid="\\u0000"}' >q; promql "an escape to a zero byte" q
printf 'ceems_x{\xe2\x80\xaeuuid="101"}' >q; promql "a text that is written backwards" q
printf 'ceems_x{uu\xd1\x96d="101"}' >q; promql "a letter that looks like another" q
printf 'ceems_x{uuid="101"} offset 1e400d' >q; promql "an offset beyond numbers" q
printf 'ceems_x{uuid="101"}[9999999999y]' >q; promql "a range beyond numbers" q
printf 'ceems_x{uuid="101"} @ 9e99' >q; promql "a time beyond numbers" q
printf '# nothing but a comment' >q; promql "nothing but a comment" q
: >q; promql "nothing at all" q
many 65000 ' ' >q; promql "blanks" q
many 65000 '#' >q; promql "a comment without end" q
many 65000 '"' >q; promql "quotes" q
many 65000 '\\' >q; promql "backslashes" q
like "a thousand selectors of series" "$(yes 'match[]=ceems_x%7Buuid%3D%22101%22%7D' | head -n 1000 | paste -sd'&' >q; code alice /api/v1/series -X POST --data-binary @q)" '^4[0-9][0-9]$'
like "fifty thousand parameters" "$(yes 'a=b' | head -n 30000 | paste -sd'&' >q; code alice /api/v1/query -X POST --data-binary @q)" '^4[0-9][0-9]$'
still "PromQL that has no end"

ok "nothing is under way any more" wait_for 40 idle 1
is "no metric is there twice" "$(curl -s -u 'prometheus:correct horse' "$U/metrics" | grep -v '^#' | sed 's/ [^ ]*$//' | sort | uniq -d)" ""

# --- backends that lie: a configuration of its own, in which a failure ends soon and is forgotten soon
kill "$PID"; wait "$PID"
cat >bad.yaml <<-END
	ceems_lb:
	  health: {fail_after: 1000, eject: 10ms}
	  backends:
	    - id: alpha
	      tsdb: [{web: {url: "http://127.0.0.1:$BACKEND"}, timeout: 6s}]
	  identity: {front_ends: ["password:grafana"], munge: false}
	ceems_api_server:
	  web: {url: "http://127.0.0.1:$AGG", basic_auth: {username: lb, password: correct horse}}
END
lb bad || { ok "ceems_lb starts again" false; tap_done; }
warm
answer() { printf '%b' "$1" >raw; }
lates() { cat control.late 2>/dev/null | wc -l; }
later_than() { [ "$(lates)" -gt "$1" ]; }
lie() { # WHAT WANTED [ANSWER]: raw answers are in the file raw
	local got
	[ $# -lt 3 ] || answer "$3"
	told "${HOW:-raw} raw"
	late=$(lates)
	got=$(as alice "$(own 101)" -o body -w '%{http_code} %{size_download} %{exitcode}')
	told ok
	# what comes when the next request is on its way already cannot be told from its answer
	[ "${HOW:-}" != later ] || wait_for 10 later_than "$late"
	like "$1" "$got" "$2"
	grep -q POISON body 2>/dev/null && is "and none of it is told: $1" "$(cat body)" ""
	next=$(as bob "$(own 102)" | jq -r '.data.result[0].metric.asked' 2>/dev/null)
	like "and the next user has an answer of his own: $1" "$next" '102'
}
J='{"status":"success","data":{"resultType":"vector","result":[]}}'
OK='HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
bad='^502 '
lie "a length and chunks" "$bad" "${OK}Content-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nhello\\r\\n0\\r\\n\\r\\n"
lie "two lengths" "$bad" "${OK}Content-Length: 5\\r\\nContent-Length: 6\\r\\n\\r\\nhello!"
lie "a length below zero" "$bad" "${OK}Content-Length: -5\\r\\n\\r\\nhello"
lie "a length that is none" "$bad" "${OK}Content-Length: five\\r\\n\\r\\nhello"
lie "a length beyond 64 bits" "$bad" "${OK}Content-Length: 99999999999999999999999\\r\\n\\r\\nhello"
lie "an unknown coding" "$bad" "${OK}Transfer-Encoding: xyz\\r\\n\\r\\nhello"
lie "a NUL in its head" "$bad" "${OK}X: a\\0b\\r\\nContent-Length: 2\\r\\n\\r\\n{}"
lie "a folded line in its head" "$bad" "${OK}X: a\\r\\n b\\r\\nContent-Length: 2\\r\\n\\r\\n{}"
lie "a header without a colon" "$bad" "${OK}nothing\\r\\nContent-Length: 2\\r\\n\\r\\n{}"
lie "a blank before a colon" "$bad" "${OK}Content-Length : 2\\r\\n\\r\\n{}"
lie "no status" "$bad" 'hello\r\n\r\n'
lie "another version" "$bad" 'HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\n{}'
lie "a status of four digits" "$bad" 'HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\n{}'
lie "a status of two" "$bad" 'HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\n{}'
lie "bytes" "$bad" '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03'"$(many 100)"'\r\n\r\n'
lie "another protocol" "$bad" 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'
lie "a thousand answers before the answer" "$bad" "$(times 'HTTP/1.1 100 Continue\r\n\r\n' 1000)${OK}Content-Length: 2\\r\\n\\r\\n{}"
lie "a redirect is not followed" "^(502|302|307) " 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:'"$AGG"'/api/v1/units/admin\r\nContent-Length: 0\r\n\r\n'
lie "a body that 204 cannot have" '^(204|502) ' "HTTP/1.1 204 No Content\\r\\nContent-Length: 80\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\nContent-Length: 8\\r\\n\\r\\n\"POISON\""
HOW=close
lie "an answer that is cut" ' 18$| 56$|^502' "${OK}Content-Length: 1000\\r\\n\\r\\n$J"
lie "chunks that are cut" ' 18$| 56$|^502' "${OK}Transfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nhe"
lie "chunks whose size is none" ' 18$| 56$|^502' "${OK}Transfer-Encoding: chunked\\r\\n\\r\\nzz\\r\\nhello\\r\\n0\\r\\n\\r\\n"
lie "chunks beyond 64 bits" ' 18$| 56$|^502' "${OK}Transfer-Encoding: chunked\\r\\n\\r\\nfffffffffffffffff5\\r\\nhello\\r\\n0\\r\\n\\r\\n"
lie "a chunk below zero" ' 18$| 56$|^502' "${OK}Transfer-Encoding: chunked\\r\\n\\r\\n-1\\r\\nhello\\r\\n0\\r\\n\\r\\n"
lie "chunks without line ends" ' 18$| 56$|^502' "${OK}Transfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nhelloxx0\\r\\n\\r\\n"
lie "an answer of HTTP/1.0, to its end" '^200 ' "HTTP/1.0 200 OK\\r\\nContent-Type: application/json\\r\\n\\r\\n$J"
lie "an answer that ends with the connection" '^200 ' "${OK}\\r\\n$J"
lie "no answer" "$bad" ''
lie "half a head" "$bad" 'HTTP/1.1 200 OK\r\nContent-Le'
HOW=raw
lie "headers of its own are not passed on" '^200 ' "${OK}Set-Cookie: a=b\\r\\nX-Grafana-User: bob\\r\\nServer: x\\r\\nWWW-Authenticate: Basic\\r\\nAccess-Control-Allow-Origin: *\\r\\nContent-Length: ${#J}\\r\\n\\r\\n$J"
told "raw raw"
is "no, really" "$(as alice "$(own 101)" -D - -o /dev/null | grep -ciE '^(set-cookie|x-grafana-user|server|www-authenticate|access-control|connection: keep)')" 0
told ok
HOW=more lie "an answer behind the answer" '^200 '
HOW=later lie "an answer that nobody asked for" '^200 '
for i in 1 2 3 4 5; do late=$(lates); told later; as alice "$(own 101)" >/dev/null; told ok; wait_for 10 later_than "$late"; as bob "$(own 102)"; done >told
is "whoever comes next never gets it" "$(grep -o 102 told | wc -l) $(grep -c POISON told)" "5 0"
HOW='slow 700' lie "a slow answer is an answer" '^200 '
HOW='drip 2' lie "one byte at a time as well" '^200 '
HOW=hang lie "no answer at all ends in time" '^504 '
HOW=drop lie "a connection that is closed" "$bad"
HOW=reset lie "a connection that is reset" "$bad"
HOW=heads lie "a head without end" "$bad"
told endless
as alice "$(own 101)" -m 4 -o body >/dev/null
like "an answer without end is passed on as it comes" "$(stat -c %s body)" '^[1-9][0-9]{5}'
still "backends that lie"
head -c 100M /dev/zero | gzip -1 >zeros.gz
{ printf '%b' "${OK}Content-Encoding: gzip\\r\\nContent-Length: $(stat -c %s zeros.gz)\\r\\n\\r\\n"; cat zeros.gz; } >raw
told "raw raw"
is "compressed zeros are passed on as they are" "$(as alice "$(own 101)" -H 'Accept-Encoding: gzip' -o - | cmp - zeros.gz && echo same)" same
told ok
still "a gzip bomb"
sed 's/tsdb: \[{/&filter_labels: [asked, secret], /' bad.yaml >filter.yaml
kill "$PID"; wait "$PID"
lb filter || { ok "ceems_lb starts with filter_labels" false; tap_done; }
is "a label that is to be left out is" "$(as alice "$(own 101)" | jq -c '.data.result[0].metric')" '{}'
warm
told "raw raw"
# refused, or, where some of it is on its way, cut
looked() { as alice "$(own 101)" -o body -w '%{http_code} %{exitcode}' "$@"; }
like "a gzip bomb that must be looked into is no answer" "$(looked -H 'Accept-Encoding: gzip')" '^50[0-9] 0$|^200 (18|56)$'
for j in '{"status":"success","data":{"result":[{"metric":{"secret":' '[[[[[[[[' "$(times '[' 20000)" 'nothing' '{"status":"success"}x' '\xff\xfe'; do
	answer "${OK}Content-Length: $(printf %b "$j" | wc -c)\\r\\n\\r\\n$j"
	like "what is no JSON is no answer: ${j:0:20}" "$(looked)" '^50[0-9] 0$|^200 (18|56)$'
done
still "a gzip bomb and bad JSON that must be looked into"
kill "$PID"; wait "$PID"

# --- who says that he is another
lb main || { ok "ceems_lb starts again" false; tap_done; }
warm
ask() { curl -s -m 100 -g -o /dev/null -w '%{http_code}' -H 'X-Ceems-Cluster-Id: alpha' "$@" "$U$(own 102)"; }
front=(-u 'grafana:correct horse')
before=$(asked)
is "a name alone is nobody's" "$(ask -H 'X-Grafana-User: bob')" 401
is "nor with a wrong password" "$(ask -u grafana:wrong -H 'X-Grafana-User: bob')" 401
is "nor with that of a user who is no front end" "$(ask -u 'prometheus:correct horse' -H 'X-Grafana-User: bob' | sed s/403/401/)" 401
is "a front end that names nobody is nobody" "$(ask "${front[@]}")" 401
is "nor does an empty name help" "$(ask "${front[@]}" -H 'X-Grafana-User;' | sed s/400/401/)" 401
for u in 'bob,alice' 'bob alice' "bob'--" 'b*b' '../bob' 'bob;' '%62ob' 'bob\0' "$(many 5000 b)" $'b\xc3\xb6b' $'b\xd0\xbeb' '"bob"' 'bob@' 'BOB' 'ceems-int-svc' 'admin' 'root' '0' '-1' 'true'; do
	like "a name that is nobody's here: ${u:0:20}" "$(ask "${front[@]}" -H "X-Grafana-User: $u")" '^4(00|01|03|31)$'
done
is "two names are refused" "$(ask "${front[@]}" -H 'X-Grafana-User: alice' -H 'X-Grafana-User: bob')" 400
is "also when both are the same" "$(ask "${front[@]}" -H 'X-Grafana-User: bob' -H 'x-grafana-user: bob')" 400
for h in 'X-Ceems-Logged-User: bob' 'X-Ceems-Admin-User: alice' 'X-Auth-Request-User: bob' 'X-Forwarded-User: bob' 'Remote-User: bob' 'X-Remote-User: bob' 'X-WEBAUTH-USER: bob' 'X-Grafana-Org-Id: 1' \
	'X-Grafana-Role: Admin' 'X-Forwarded-For: 127.0.0.1' 'Forwarded: for=127.0.0.1' 'X-Real-IP: 127.0.0.1' 'Cookie: user=bob' 'X_Grafana_User: bob'; do
	is "alice stays alice with ${h%%:*}" "$(ask "${front[@]}" -H 'X-Grafana-User: alice' -H "$h")" 403
done
b64() { base64 -w0 | tr '+/' '-_' | tr -d =; }
none=$(printf '{"alg":"none","typ":"JWT"}' | b64).$(printf '{"username":"bob","sub":"user:1","exp":9999999999}' | b64).
for t in "$none" "$none$(many 86)" 'x.y.z' "$(many 7000)" '..' ''; do
	like "a token that nobody signed is none: ${t:0:12}" "$(ask -H "X-Grafana-Id: $t") $(ask "${front[@]}" -H 'X-Grafana-User: alice' -H "X-Grafana-Id: $t") $(ask -H "Authorization: Bearer $t")" '^4[0-9][0-9] 4[0-9][0-9] 4[0-9][0-9]$'
done
for a in 'Basic' 'Basic !!!' "Basic $(printf 'grafana' | base64)" "Basic $(printf ':' | base64)" "Basic $(printf 'grafana:correct horse\0x' | base64)" 'MUNGE x' 'MUNGE MUNGE:AwQDAAB=:' 'Negotiate x' "$(many 8000)"; do
	like "no proof: ${a:0:20}" "$(ask -H "Authorization: $a" -H 'X-Grafana-User: bob')" '^4[0-9][0-9]$'
done
is "two proofs are none" "$(ask -H "Authorization: Basic $(printf 'grafana:correct horse' | base64)" -H 'Authorization: Basic eDp5' -H 'X-Grafana-User: bob' | sed 's/40[13]/400/')" 400
like "another cluster is another" "$(curl -s -o /dev/null -w '%{http_code}' "${front[@]}" -H 'X-Grafana-User: bob' -H 'X-Ceems-Cluster-Id: beta' "$U$(own 102)")" '^40[0-9]$'
is "none of these reached the backend" "$(asked)" "$before"
is "no log line has the password, a token or a query in it" "$(cat ./*.log | grep -cE 'correct horse|Y29ycmVjdCBob3JzZ|eyJ|uuid=')" 0
still "forged identity"
kill "$PID"; wait "$PID"

if ! have_munge "$BUILD/ceems_lb"; then
	skip "identity by MUNGE" "needs root, munged and libmunge"
else
	munge_start
	psql_do -c "INSERT INTO person (cluster, name, uid) SELECT id, 'games', $(id -u games) FROM cluster" \
		-c "INSERT INTO unit (cluster, uuid, restarts, submitted, known_by, uid, gid, person, started, state)
			SELECT c.id, '104', 0, now() - interval '2 h', 'jobcomp', p.uid, 100, p.id, now() - interval '1 h', 'RUNNING'
			FROM cluster c, person p WHERE p.name = 'games'" >/dev/null
	sed "s|munge: false|munge_socket: $MUNGE_SOCKET|" main.yaml >munge.yaml
	lb munge || { ok "ceems_lb starts with MUNGE" false; tap_done; }
	cred() { setpriv --reuid="$1" --regid=nogroup --clear-groups munge --socket="$MUNGE_SOCKET" -s "$2"; }
	by() { curl -s -o /dev/null -w '%{http_code}' -H 'X-Ceems-Cluster-Id: alpha' -H "Authorization: MUNGE $1" "${@:3}" "$U$2"; }
	c=$(cred games "ceems-api/1 GET $(own 104)")
	is "a credential says who asks" "$(by "$c" "$(own 104)")" 200
	is "it is good once" "$(by "$c" "$(own 104)")" 401
	is "for this target alone" "$(by "$(cred games "ceems-api/1 GET $(own 101)")" "$(own 104)")" 401
	is "for this method alone" "$(by "$(cred games "ceems-api/1 POST $(own 104)")" "$(own 104)")" 401
	is "for this purpose alone" "$(by "$(cred games "GET $(own 104)")" "$(own 104)")" 401
	is "and says no other's name" "$(by "$(cred games "ceems-api/1 GET $(own 104)")" "$(own 104)" -H 'X-Grafana-User: bob' | sed s/400/403/)" 403
	is "nor reads another's" "$(by "$(cred games "ceems-api/1 GET $(own 102)")" "$(own 102)")" 403
	is "one of another key is none" "$(by "MUNGE:AwQDAAB$(many 80 A)=:" "$(own 104)")" 401
	is "no log line has a credential in it" "$(grep -c MUNGE: munge.log)" 0
	ok "credentials that were none are counted" [ "$(metric 'ceems_web_checks_refused_total{check="munge",reason="wrong"}')" -gt 0 ]
	kill "$PID"; wait "$PID"
fi

# --- clocks that differ: 103 was bob's until two and a half hours ago and is alice's since one
psql_do >/dev/null -c "INSERT INTO unit (cluster, uuid, restarts, submitted, known_by, uid, gid, person, started, ended, state)
	SELECT c.id, '103', 0, now() - interval '6 h', 'jobcomp', p.uid, 100, p.id, now() - interval '5 h', now() - interval '150 min', 'COMPLETED'
		FROM cluster c, person p WHERE p.name = 'bob'
	UNION ALL SELECT c.id, '103', 0, now() - interval '2 h', 'jobcomp', p.uid, 100, p.id, now() - interval '1 h', NULL, 'RUNNING'
		FROM cluster c, person p WHERE p.name = 'alice'"
LIB=$(find /usr/lib -name libfaketime.so.1 2>/dev/null | head -1)
skewed() { # NAME OFFSET
	[ "$2" = 0 ] && { lb main; return; }
	LD_PRELOAD=$LIB FAKETIME=$2 DONT_FAKE_MONOTONIC=1 lb main
}
if [ -n "${SAN:-}" ] || [ -z "$LIB" ]; then
	skip "clocks that differ" "libfaketime is not installed, or goes not with a sanitizer"
else
	for skew in 0 +90m -3h; do
		LD_PRELOAD= skewed main "$skew" || { ok "ceems_lb starts with its clock at $skew" false; continue; }
		case $skew in +90m) t=5400 ;; -3h) t=-10800 ;; *) t=0 ;; esac
		t=$(($(date +%s) + t))
		got=$(code alice "$(own 103)")
		case $skew in
		-3h) is "with a clock three hours behind what is asked is bob's then" "$got" 403 ;;
		*) is "with its clock at $skew alice reads her own" "$got" 200
			sent=$(tail -n 1 record | grep -oE 'time=[0-9]+' | cut -d= -f2)
			ok "and the time that was proved is the time that is asked for" test $((sent - t)) -gt -30 -a $((sent - t)) -lt 30 ;;
		esac
		is "bob reads what was his at its time, by what the request says" "$(code bob "$(own 103)&time=$(($(date +%s) - 14400))")" 200
		is "and not what is alice's" "$(code bob "$(own 103)&time=$(date +%s)")" 403
		is "nor both" "$(code bob "/api/v1/query_range?query=ceems_x%7Buuid%3D%22103%22%7D&start=$(($(date +%s) - 14400))&end=$(date +%s)&step=60")" 403
		kill "$PID"; wait "$PID"
	done
fi
tap_done
