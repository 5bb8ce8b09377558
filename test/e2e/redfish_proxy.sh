#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# redfish_proxy with real clients, a real munged, real certificates and a real nginx before it.
# The BMCs are made up (test/fake/redfish_bmc.c): what matters here is how they fail.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
[ -x "$BUILD/redfish_proxy" ] || skip_all "redfish_proxy is not built"
cd "$SCRATCH" || exit 1
PASSWORD=planted-hunter2
POWER=/redfish/v1/Chassis/1/Power
if have_root; then DROPPED=(--security.run-as-user=nobody); else DROPPED=(); fi

# mine FILE...: the proxy may read them, others may not
mine() {
	chmod 640 "$@"
	if have_root; then chgrp "$(id -gn nobody)" "$@"; fi
}

# bmc NAME args...: sets NAME_PORT; its log is NAME.bmc.log, its control file NAME.ctl
bmc() {
	local name=$1 in; shift
	mkfifo "$name.in"
	"$BUILD/redfish_bmc" --control "$name.ctl" --log "$name.bmc.log" "$@" <"$name.in" >"$name.out" 2>"$name.err" &
	started $!
	exec {in}>"$name.in"
	wait_for 10 grep -q ^ready "$name.out" || { sed 's/^/# /' "$name.err"; return 1; }
	printf -v "${name}_PORT" %s "$(sed 's/ready //' "$name.out")"
}
told() { echo "${*:2}" >"$1.ctl.new" && mv "$1.ctl.new" "$1.ctl"; }
asked() { grep -c "^GET $POWER" "$1.bmc.log" 2>/dev/null || true; }
logins() { grep -c '^POST' "$1.bmc.log" 2>/dev/null || true; }

# proxy NAME [args...]: NAME.yaml is its configuration; sets P (port), U, PID, LOG
proxy() {
	local name=$1; shift
	mine "$name.yaml"
	LOG=$SCRATCH/$name.log
	: >"$LOG" # of the one before
	"$BUILD/redfish_proxy" --config.file="$name.yaml" --web.listen-address=127.0.0.1:0 --log.level=debug \
		"${DROPPED[@]}" "$@" 2>"$LOG" &
	PID=$!
	started "$PID"
	wait_for 10 grep -q 'msg="*ready' "$LOG" || { sed 's/^/# /' "$LOG"; return 1; }
	P=$(sed -n 's/.*serves on port \([0-9]*\).*/\1/p' "$LOG") U=http://127.0.0.1:$P
}
stop() { kill "$PID"; wait "$PID"; }
# as NODE args...: a request from 127.0.0.NODE: "status body"
as() {
	local c
	: >body
	c=$(curl -s -m 100 --path-as-is --interface "127.0.0.$1" -o body -w '%{http_code}' "${@:2}")
	echo "$c $(cat body)"
}
code() { curl -s -m 100 --path-as-is --interface "127.0.0.$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
metric() { curl -s "$U/metrics" | sed -n "s/^$1 //p"; }

bmc one --user admin --password "$PASSWORD" --sessions 2 || skip_all "the made-up BMC does not start"
bmc two --user admin --password "$PASSWORD"

# --- a node and its own BMC
cat >main.yaml <<-E
	redfish_proxy:
	  targets:
	    - host_ip_addrs: [127.0.0.2]
	      url: http://127.0.0.1:$one_PORT
	    - host_ip_addrs: [127.0.0.3]
	      url: http://127.0.0.1:$two_PORT
	  basic_auth: {username: admin, password: $PASSWORD}
	  named_clients: [127.0.0.8]
	  limits: {cache: 0s, error_cache: 0s, timeout: 5s, body: 64KiB, burst: 1000, rate: 1000}
E
proxy main || { skip_all "redfish_proxy does not start"; }
is "its system calls are filtered, where the kernel can" "$(metric 'ceems_redfish_proxy_sandbox_active{kind="seccomp"}')" \
	"$(! grep -q "not filtered: this kernel" "$LOG"; echo $((1 - $?)))"
told one watts 111
told two watts 222
like "a node reads its own BMC" "$(as 2 "$U$POWER")" '^200 .*"PowerConsumedWatts":111'
like "another node reads its own" "$(as 3 "$U$POWER")" '^200 .*"PowerConsumedWatts":222'
is "who is not listed reads none" "$(as 4 "$U$POWER")" "403 refused: no_target"
is "health needs nothing" "$(code 4 "$U/health")" 200
if have_root; then is "it runs as somebody without rights" "$(stat -c %U "/proc/$PID")" nobody; fi

if [ -x "$BUILD/ceems-courier" ]; then
	cat >node.yaml <<-E
		redfish_collector: {protocol: http, hostname: 127.0.0.1, port: $one_PORT, external_url: "$U"}
	E
	chmod 600 node.yaml
	courier() { timeout 100 "$BUILD/ceems-courier" --collector.redfish --collector.redfish.config.file=node.yaml --once --print 2>&1; }
	like "ceems-courier of a stranger gets nothing" "$(courier)" '403|refused|status'
	sed -i 's/\[127.0.0.2\]/[127.0.0.2, 127.0.0.1]/' main.yaml
	kill -HUP "$PID"
	wait_for 10 grep -q 'reload: done' "$LOG"
	like "ceems-courier of the node reads its power through the proxy" "$(courier)" '111'
else
	skip "ceems-courier reads through the proxy" "not built here"
fi

as 2 "$U$POWER" >/dev/null
sessions=$(logins one)

# --- no URL of a client's choice
n=$(cat ./*.bmc.log | wc -l)
is "a URL that the client names is not asked" \
	"$(as 2 -H "X-Redfish-Url: http://127.0.0.1:$P" "$U$POWER")" "403 refused: other_target"
is "nor another node's BMC" "$(as 2 -H "X-Redfish-Url: http://127.0.0.1:$two_PORT" "$U$POWER")" "403 refused: other_target"
is "nor a file" "$(as 2 -H 'X-Redfish-Url: file:///etc/passwd' "$U$POWER")" "400 refused: bad_header"
is "nor a path in a URL" "$(as 2 -H "X-Redfish-Url: http://127.0.0.1:$one_PORT/x" "$U$POWER")" "400 refused: bad_header"
is "nor a user in a URL" "$(as 2 -H "X-Redfish-Url: http://a@127.0.0.1:$one_PORT" "$U$POWER")" "400 refused: bad_header"
is "nor one of two" "$(as 2 -H "X-Redfish-Url: http://127.0.0.1:$one_PORT" -H 'X-Redfish-Url: http://x' "$U$POWER")" "400 refused: bad_header"
is "a stranger gains nothing by naming one" "$(as 4 -H "X-Redfish-Url: http://127.0.0.1:$one_PORT" "$U$POWER")" "403 refused: other_target"
is "none of these reached a BMC" "$(cat ./*.bmc.log | wc -l)" "$n"
like "its own URL may be named" "$(as 2 -H "X-Redfish-Url: http://127.0.0.1:$one_PORT/" "$U$POWER")" '^200 .*111'
like "a named client names a listed BMC" "$(as 8 -H "X-Redfish-Url: http://127.0.0.1:$two_PORT" "$U$POWER")" '^200 .*222'
is "and no other" "$(as 8 -H "X-Redfish-Url: http://127.0.0.1:$P" "$U$POWER")" "403 refused: other_target"

# --- no poisoning
for h in 'X-Real-IP: 127.0.0.3' 'X-Forwarded-For: 127.0.0.3' 'Forwarded: for=127.0.0.3' 'True-Client-IP: 127.0.0.3'; do
	like "${h%%:*} of a client is nothing" "$(as 2 -H "$h" "$U$POWER")" '^200 .*111'
	is "${h%%:*} of a stranger is nothing" "$(as 4 -H "$h" -H 'X-Redfish-Url: http://127.0.0.1:1' "$U$POWER")" "403 refused: other_target"
done
like "the node that was named is served as before" "$(as 3 "$U$POWER")" '^200 .*222'

# --- methods, bodies, paths
n=$(cat ./*.bmc.log | wc -l)
for m in POST PUT PATCH DELETE OPTIONS TRACE CONNECT PROPFIND; do
	is "$m is 405" "$(code 2 -X $m "$U/redfish/v1/SessionService/Sessions")" 405
done
is "a body is refused" "$(code 2 -X GET -d '{"a":1}' "$U$POWER")" 413
for p in /redfish/v1/Chassis/../AccountService/Accounts /redfish/v1/Chassis/%2e%2e/AccountService/Accounts \
	/redfish/v1/Chassis/%2E%2E%2fAccountService /redfish/v1/Chassis/.%2e/x //redfish/v1/ /redfish//v1/ \
	/redfish/v1/Chassis/1/./Power '/redfish/v1/Chassis/..;/Accounts' '/redfish/v1/Chassis/a\b' /redfish/v1/Chassis/a%5cb \
	/redfish/v1/Chassis/1%00/Power /redfish/v1/Chassis/%252e%252e/x /redfish/v1/Chassis/%c0%ae%c0%ae/x \
	"$POWER?\$expand=*" /redfish/v1/Chassis/a%0d%0aX:y /redfish/v1/Chassis/a%2fb /redfish/v1/Ch%61ssis/1 /etc/passwd "$POWER%"; do
	is "refused: $p" "$(code 2 "$U$p")" 400
done
is "an absolute target is refused" "$(printf 'GET http://127.0.0.1:%s/ HTTP/1.1\r\nHost: x\r\n\r\n' "$two_PORT" | "$BUILD/http_rude" --from 2 "$P")" "400 closed"
is "accounts are not in the list" "$(as 2 "$U/redfish/v1/AccountService/Accounts")" "403 refused: path_not_allowed"
is "none of these reached a BMC" "$(cat ./*.bmc.log | wc -l)" "$n"
is "what is sent on is the canonical path" "$(code 2 "$U/redfish/v1/Chassis/1") $(tail -n 1 one.bmc.log)" "200 GET /redfish/v1/Chassis/1 token"
is "HEAD has no body" "$(curl -s --interface 127.0.0.2 -I "$U$POWER" | tr -d '\r' | sed '1,/^$/d' | wc -c)" 0
is "what the client knows is not sent on" "$(curl -s --interface 127.0.0.2 -H 'X-Auth-Token: mine' -H 'Authorization: Basic YTpi' -H 'Cookie: a=b' -o /dev/null "$U$POWER"; tail -n 1 one.bmc.log)" "GET $POWER token"
is "headers of the BMC stay there" "$(curl -s --interface 127.0.0.2 -D - -o /dev/null "$U$POWER" | grep -ciE 'set-cookie|x-auth-token|^server')" 0
is "one session for all of it" "$(logins one)" "$sessions"

# --- a BMC that fails
fault() { told one "${@:2}"; is "$1" "$(as 2 "$U$POWER")" "$W"; }
W="504 the BMC does not answer in time" fault "a slow answer ends" slow 15000
W="502 the BMC cannot be reached" fault "a cut answer is none" cut
W="502 the BMC's answer is too long" fault "an oversized answer is none" big 200000
W="502 the BMC's answer is not valid" fault "a page is none" html
W="502 the BMC's answer is not valid" fault "a redirect is not followed" redirect "http://127.0.0.1:$two_PORT$POWER"
W="502 the BMC's answer is not valid" fault "a failure is not passed on" status 500
W="503 the BMC is busy" fault "busy is busy" status 503
W="404 the BMC has no such resource" fault "what is not there is not there" status 404
like "nested JSON is only bytes" "$(told one deep 10000; code 2 "$U$POWER")" '^200$'
told one slow 4000
as 2 "$U$POWER" >/dev/null &
slow=$!
sleep 0.2
like "a node whose BMC is quick does not wait for a slow one" "$(as 3 "$U$POWER"; kill -0 $slow && echo waits)" '^200 .*222.*waits'
wait $slow
n=$(logins one)
told one forget
like "a session that the BMC forgot is made anew" "$(as 2 "$U$POWER")" '^200 '
is "once" "$(($(logins one) - n))" 1
n=$(cat one.bmc.log | wc -l)
told one reject
is "a BMC that takes no session" "$(as 2 "$U$POWER")" "502 the BMC refuses the proxy's login"
is "is asked, signed in to and asked again, no more" "$(sed -n "$((n + 1)),\$p" one.bmc.log | cut -d' ' -f1 | xargs)" "GET POST GET"
told one watts 111
n=$(logins one)
for _ in 1 2 3 4 5; do code 2 "$U$POWER" >/dev/null; done
is "accounts are not locked by trying again" "$(($(logins one) - n))" 0
is "the other node has noticed nothing" "$(code 3 "$U$POWER")" 200
like "failures are counted" "$(metric 'ceems_redfish_proxy_bmc_requests_total{result="bad_answer"}')" '^[1-9]'
like "refusals are counted" "$(metric 'ceems_redfish_proxy_decisions_total{decision="other_target"}')" '^[1-9]'
if command -v promtool >/dev/null; then
	is "promtool reads the metrics" "$(curl -s "$U/metrics" | promtool check metrics 2>&1 | grep -c 'error while')" 0
else
	skip "promtool reads the metrics" "promtool is not installed"
fi
stop
is "it ends cleanly" "$?" 0
like "and signs out" "$(tail -n 1 two.bmc.log)" '^DELETE .* token$'
is "no log line holds a secret" "$(cat main.log | grep -cE "$PASSWORD|secret-token|secret-cookie|YTpi")" 0

# --- cache, single flight, limits
bmc three
cat >cache.yaml <<-E
	redfish_proxy:
	  targets: [{host_ip_addrs: [127.0.0.2], url: "http://127.0.0.1:$three_PORT"}]
	  limits: {cache: 1h, error_cache: 1h, rate: 1, burst: 4, queue: 2, timeout: 5s}
E
proxy cache
told three slow 700
asking=()
for i in $(seq 20); do code 2 "$U$POWER" >"code.$i" & asking+=($!); done
wait "${asking[@]}"
cat code.* >codes
is "twenty ask at once, all are answered" "$(fold -w3 codes | sort | uniq -c | xargs)" "20 200"
is "the BMC is asked once" "$(asked three)" 1
told three ok
is "and not again while the answer is young" "$(code 2 "$U$POWER") $(asked three)" "200 1"
like "its age is told" "$(curl -s --interface 127.0.0.2 -D - -o /dev/null "$U$POWER" | tr -d '\r')" $'\nAge: [0-9]+'
curl -s -m 100 --interface 127.0.0.2 -w ' %{http_code}\n' "$U/redfish/v1/Chassis/x[1-40]" >many # all in less than some seconds
like "more than limits.rate are too many" "$(cat many)" 'too many requests a second for this BMC.* 429'
kill -HUP "$PID"
wait_for 10 grep -q 'reload: done' "$LOG"
is "SIGHUP begins anew" "$(code 2 "$U$POWER") $(asked three)" "200 2"
sed -i 's/127.0.0.2/127.0.0.5/' cache.yaml
kill -HUP "$PID"
reloads() { [ "$(grep -c 'reload: done' "$LOG")" = "$1" ]; }
wait_for 10 reloads 2
is "SIGHUP takes the new list" "$(code 2 "$U$POWER") $(code 5 "$U$POWER")" "403 200"
echo 'redfish_proxy: {nonsense: 1}' >cache.yaml
kill -HUP "$PID"
wait_for 10 grep -q 'old configuration stays' "$LOG"
is "a broken one leaves the old in force" "$(code 5 "$U$POWER")" 200
like "and is named by file and line" "$(grep 'old configuration' "$LOG")" 'cache.yaml:1: unknown key: nonsense'
stop

cat >expiry.yaml <<-E
	redfish_proxy:
	  targets: [{host_ip_addrs: [127.0.0.2], url: "http://127.0.0.1:$three_PORT"}, {host_ip_addrs: [127.0.0.3], url: "http://127.0.0.1:1"}]
	  limits: {cache: 300ms, error_cache: 1h, cache_entries: 4, connect_timeout: 1s}
E
proxy expiry
n=$(asked three)
code 2 "$U$POWER" >/dev/null
sleep 0.6
code 2 "$U$POWER" >/dev/null
is "an old answer is asked for anew" "$(($(asked three) - n))" 2
is "a dead BMC" "$(as 3 "$U$POWER")" "502 the BMC cannot be reached"
is "is left alone for a while" "$(code 3 "$U$POWER") $(code 3 "$U/redfish/v1/") $(metric 'ceems_redfish_proxy_bmc_requests_total{result="unreachable"}') $(metric ceems_redfish_proxy_bmcs_down)" "502 502 1 1"
for i in $(seq 12); do code 2 "$U/redfish/v1/Chassis/z$i" >/dev/null; done
ok "tables are bounded" test "$(metric ceems_redfish_proxy_cache_entries)" -le 4
stop

# --- an end amid requests
cat >end.yaml <<-E
	redfish_proxy:
	  targets: [{host_ip_addrs: [127.0.0.2], url: "http://127.0.0.1:$three_PORT"}]
	  limits: {timeout: 30s}
E
proxy end
told three slow 20000
asking=()
for i in 1 2 3; do code 2 "$U/redfish/v1/Chassis/$i" >"end.$i" & asking+=($!); done
in_flight() { [ "$(metric ceems_redfish_proxy_requests_in_flight)" -ge 3 ]; }
wait_for 10 in_flight
stop
is "it ends amid requests" "$?" 0
wait "${asking[@]}"
is "which are told" "$(cat end.[123])" 503503503
told three watts 333

# --- configuration
check() { "$BUILD/redfish_proxy" --check-config "$@" 2>&1; }
is "--check-config says that it is good" "$(check --config.file=expiry.yaml | tail -1)" "redfish_proxy: the configuration is valid"
chmod 644 main.yaml
like "a password that others can read is refused" "$(check --config.file=main.yaml)" 'main.yaml: holds secrets and has mode 0644, refused'
chmod 666 expiry.yaml
like "a list that others can write is refused" "$(check --config.file=expiry.yaml)" 'can be written by others'
chmod 640 main.yaml expiry.yaml
check --config.file=/nonexistent >/dev/null
is "a file that is not there is an error" "$?" 2
cat >env.yaml <<-'E'
	redfish_proxy:
	  target_url: https://{node}-bmc
	  identity: [tls]
	  basic_auth: {username: $$admin, password: "${BMC_PASSWORD}"}
E
chmod 600 env.yaml
like "variables are expanded when that is asked for" "$(BMC_PASSWORD=x check --config.file=env.yaml --config.file.expand-env-vars)" 'is valid'
like "one that is not set is an error" "$(check --config.file=env.yaml --config.file.expand-env-vars)" 'env.yaml:4: .*not set'
like "the peer's flags are taken" "$(check --config.file=env.yaml --web.debug-server --runtime.gomaxprocs=1 --log.format=json --web.systemd-socket)" 'is valid'

# --- a reverse proxy before it
if command -v nginx >/dev/null; then
	N=$(free_port)
	cat >rev.yaml <<-E
		redfish_proxy:
		  trusted_proxies: [127.0.0.9]
		  targets:
		    - {host_ip_addrs: [127.0.0.2], url: "http://127.0.0.1:$three_PORT"}
		    - {host_ip_addrs: [127.0.0.9], url: "http://127.0.0.1:$two_PORT"}
	E
	proxy rev
	mkdir -p nginx
	cat >nginx.conf <<-E
		daemon off; pid $SCRATCH/nginx/pid; error_log $SCRATCH/nginx/error.log; worker_processes 1;
		events {}
		http {
			access_log off; client_body_temp_path nginx/b; proxy_temp_path nginx/p; fastcgi_temp_path nginx/f;
			uwsgi_temp_path nginx/u; scgi_temp_path nginx/s;
			server { listen 127.0.0.1:$N;
				location / { proxy_pass http://127.0.0.1:$P; proxy_bind 127.0.0.9; proxy_set_header X-Real-IP \$remote_addr; }
				location /careless/ { proxy_pass http://127.0.0.1:$P/; proxy_bind 127.0.0.9; } }
		}
	E
	have_root && chmod 777 nginx
	nginx -p "$SCRATCH" -c "$SCRATCH/nginx.conf" 2>"$SCRATCH/nginx.err" &
	started $!
	wait_for 10 curl -s -o /dev/null "http://127.0.0.1:$N/health"
	told three watts 333
	like "a node is known through nginx" "$(as 2 "http://127.0.0.1:$N$POWER")" '^200 .*333'
	is "another is not taken for it" "$(as 3 "http://127.0.0.1:$N$POWER")" "403 refused: no_target"
	is "whatever it says" "$(as 3 -H 'X-Real-IP: 127.0.0.2' -H 'X-Forwarded-For: 127.0.0.2' "http://127.0.0.1:$N$POWER")" "403 refused: no_target"
	is "nor beside nginx" "$(as 3 -H 'X-Real-IP: 127.0.0.2' "$U$POWER")" "403 refused: no_target"
	is "an nginx that does not say who asks is not asked itself" "$(as 3 "http://127.0.0.1:$N/careless$POWER")" "401 refused: unidentified"
	stop
else
	skip "a reverse proxy before it" "nginx is not installed"
fi

# --- identity by MUNGE
if ! have_munge "$BUILD/redfish_proxy"; then
	skip "identity by MUNGE" "needs root, munged and libmunge"
else
	munge_start --origin=127.0.0.2
	cat >munge.yaml <<-E
		redfish_proxy:
		  identity: [munge]
		  munge_socket: $MUNGE_SOCKET
		  munge_users: [root]
		  targets:
		    - {host_ip_addrs: [127.0.0.2], nodes: [node2], url: "http://127.0.0.1:$three_PORT"}
		    - {host_ip_addrs: [127.0.0.3], nodes: [node3], url: "http://127.0.0.1:$two_PORT"}
		  limits: {cache: 0s, error_cache: 0s}
	E
	proxy munge
	cred() { munge --socket="$MUNGE_SOCKET" -s "$1" "${@:2}"; }
	c=$(cred 'ceems-redfish-proxy/1 node2')
	like "a credential says which node asks" "$(as 4 -H "X-Ceems-Munge: $c" "$U$POWER")" '^200 .*333'
	is "it is good once" "$(as 4 -H "X-Ceems-Munge: $c" "$U$POWER")" "401 refused: bad_credential: munge: Replayed credential"
	is "none is none" "$(as 2 "$U$POWER")" "401 refused: unidentified"
	like "one of another key is none" "$(as 2 -H 'X-Ceems-Munge: MUNGE:AwQDAAB=:' "$U$POWER")" "^401 refused: bad_credential: munge: "
	is "one for another purpose is none" "$(as 2 -H "X-Ceems-Munge: $(cred node2)" "$U$POWER")" "401 refused: bad_credential: munge: the credential was made for another purpose"
	is "a node speaks for itself only" "$(as 2 -H "X-Ceems-Munge: $(cred 'ceems-redfish-proxy/1 node3')" "$U$POWER")" "401 refused: bad_credential"
	is "a user's credential is none" "$(as 2 -H "X-Ceems-Munge: $(setpriv --reuid=nobody --regid=nogroup --clear-groups munge --socket="$MUNGE_SOCKET" -s 'ceems-redfish-proxy/1 node2')" "$U$POWER")" "401 refused: bad_credential"
	unbound_is_refused() { [ "$(as 4 -H "X-Ceems-Munge: $(cred 'ceems-redfish-proxy/1 node2')" "$U$POWER")" = "401 refused: bad_credential: munge: the credential is in the format of an earlier release, which is not bound to a host and a path (munge_unbound)" ]; }
	# bound: a credential for this request, as ceems-courier makes them: METHOD URL NODE
	bound() { cred "$(munge_payload "$1" "$2") $3"; }
	denied() { # text, credential, why
		is "$1" "$(as 2 -H "X-Ceems-Munge: $2" "$U$POWER")" "401 refused: bad_credential${3:+: munge: the credential $3}"
	}
	like "one for this request says which node asks" "$(as 4 -H "X-Ceems-Munge: $(bound GET "$U$POWER" node2)" "$U$POWER")" '^200 .*333'
	denied "it is for one method" "$(bound POST "$U$POWER" node2)" "was made for another method or path"
	denied "for one path" "$(bound GET "$U/redfish/v1/Chassis" node2)" "was made for another method or path"
	denied "for one host" "$(bound GET "http://other.example:5000$POWER" node2)" "was made for host other.example, which is not this one (munge-hosts of its configuration)"
	printf x >a_body
	denied "for a request without a body" "$(cred "$(munge_payload GET "$U$POWER" a_body) node2")" "was made for another body"
	denied "one that names no node is another server's" "$(cred "$(munge_payload GET "$U$POWER")")" "is not bound to a request"
	denied "a node speaks for itself only by it, too" "$(bound GET "$U$POWER" node3)"
	printf '  munge_hosts: [other.example]\n  munge_unbound: false\n' >>munge.yaml
	kill -HUP "$PID"
	wait_for 30 unbound_is_refused
	like "a name that the site lists is ours" "$(as 4 -H "X-Ceems-Munge: $(bound GET "http://other.example:5000$POWER" node2)" "$U$POWER")" '^200 .*333'
	if [ -x "$BUILD/ceems-courier" ] && unshare -m mount -t tmpfs none /run 2>/dev/null; then
		cat >mnode.yaml <<-E
			redfish_collector: {external_url: "$U", munge: node2}
		E
		chmod 600 mnode.yaml
		# libmunge's own socket, for this command only
		like "ceems-courier says by MUNGE which node it is" "$(unshare -m sh -c 'mount -t tmpfs none /run && mkdir /run/munge && mount --bind munge /run/munge && exec timeout 100 "$0" "$@"' \
			"$BUILD/ceems-courier" --collector.redfish --collector.redfish.config.file=mnode.yaml --once --print 2>&1)" '333'
	else
		skip "ceems-courier says by MUNGE which node it is" "not built here, or no mount namespaces"
	fi
	is "no log line holds a credential" "$(grep -c MUNGE: munge.log)" 0
	stop
fi

# --- TLS: certificates of nodes and of BMCs
command -v openssl >/dev/null || { skip "TLS" "openssl is not installed"; tap_done; }
ca() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>/dev/null; }
cert() { # name ca subject san
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$3" -keyout "$1.key" -out "$1.csr" 2>/dev/null
	openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -out "$1.pem" -extfile <(echo "subjectAltName=$4") 2>/dev/null
}
ca site
ca other
cert server site /CN=proxy IP:127.0.0.1
cert node2 site /CN=node2 DNS:alias.cluster
cert node3 site /O=cluster DNS:node3.cluster
cert evil other /CN=node2 DNS:node2
cert bmc site /CN=bmc IP:127.0.0.1
mine server.key
chmod 644 site.pem
bmc tls --cert bmc.pem --key bmc.key
told tls watts 444
cat >web.yaml <<-E
	tls_server_config: {cert_file: server.pem, key_file: server.key, client_ca_file: site.pem, client_auth_type: VerifyClientCertIfGiven}
E
cat >tls.yaml <<-E
	redfish_proxy:
	  identity: [tls]
	  targets:
	    - {nodes: [node2], url: "https://127.0.0.1:$tls_PORT"}
	    - {nodes: [node3.cluster], url: "http://127.0.0.1:$three_PORT"}
	  tls_config: {ca_file: $SCRATCH/site.pem}
	  limits: {cache: 0s, error_cache: 0s}
E
proxy tls --web.config.file=web.yaml
U=https://127.0.0.1:$P
T=(--cacert site.pem)
like "a certificate's name says which node asks" "$(as 4 "${T[@]}" --cert node2.pem --key node2.key "$U$POWER")" '^200 .*444'
like "and so does its subjectAltName" "$(as 4 "${T[@]}" --cert node3.pem --key node3.key "$U$POWER")" '^200 .*333'
is "no certificate is nobody" "$(as 4 "${T[@]}" "$U$POWER")" "401 refused: unidentified"
is "one of another CA does not get in" "$(code 4 "${T[@]}" --cert evil.pem --key evil.key "$U$POWER")" 000
stop
sed -i '/tls_config/d' tls.yaml
# certificates that are asked for and not verified are worth nothing
sed 's/VerifyClientCertIfGiven/RequestClientCert/' web.yaml >any.yaml
proxy tls --web.config.file=any.yaml
U=https://127.0.0.1:$P
is "a certificate that nobody verified names nobody" "$(as 4 "${T[@]}" --cert evil.pem --key evil.key "$U$POWER")" "401 refused: unidentified"
is "nor does a good one then" "$(as 4 "${T[@]}" --cert node2.pem --key node2.key "$U$POWER")" "401 refused: unidentified"
stop
proxy tls --web.config.file=web.yaml
U=https://127.0.0.1:$P
is "a BMC whose certificate nobody vouches for is refused" "$(as 4 "${T[@]}" --cert node2.pem --key node2.key "$U$POWER")" "502 the BMC's TLS or certificate fails"
stop
tap_done
