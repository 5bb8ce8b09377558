#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two load balancers behind a TCP balancer (HAProxy) share nothing: each proves by itself, one that is killed
# costs the request that it was answering at most, a right that ends ends at both, and a fresh one asks the aggregator once for each user.
. "$(dirname "$0")/../tap.sh"
haproxy=$(PATH=$PATH:/usr/sbin command -v haproxy) || skip_all "haproxy is not installed"
. "$TOP/test/owned.sh"
config ''
ports=("$(free_port)" "$(free_port)") pids=()
lb_start() { # which
	"$lb" --config.file=lb.yaml --web.config.file=lb-web.yaml --web.listen-address="127.0.0.1:${ports[$1]}" --security.drop-privileges=false 2>"lb$1.log" &
	pids[$1]=$!
	started $!
	wait_for 30 grep -q 'msg="*ready' "lb$1.log"
}
lb_start 0 && lb_start 1 || { ok "two load balancers start" false; tap_done; }
port=$(free_port)
cat >haproxy.cfg <<END
defaults
  mode tcp
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  retries 3
  option redispatch 1
frontend users
  bind 127.0.0.1:$port
  default_backend lb
backend lb
  balance roundrobin
  server one 127.0.0.1:${ports[0]} check inter 200ms
  server two 127.0.0.1:${ports[1]} check inter 200ms
END
"$haproxy" -db -f haproxy.cfg >haproxy.log 2>&1 </dev/null &
started $!
ask() { # user query [port]: the status; the answer in body
	curl -s -m 60 -u 'grafana:correct horse' -H "X-Grafana-User: $1" -H "X-Ceems-Cluster-Id: alpha" -o body -w '%{http_code}' \
		--data-urlencode "query=$2" "http://127.0.0.1:${3:-$port}/api/v1/query"
}
answers() { [ "$(ask alice "$M{uuid=\"101\"}")" = 200 ]; }
ok "HAProxy reaches them" wait_for 30 answers
metric() { curl -s -m 20 "http://127.0.0.1:${ports[$1]}/metrics" -u 'prometheus:correct horse' | awk -v m="$2" '$1 ~ "^" m { s += $2 } END { print s + 0 }'; }
statuses() { # user query times: how often which status
	for _ in $(seq "$3"); do ask "$1" "$2"; echo; done | sort | uniq -c | awk '{ print $2 "x" $1 }' | paste -sd' '
}
is "an owner reads her unit, wherever she comes out" "$(statuses alice "$M{uuid=\"101\"}" 20)" 200x20
is "nobody else does, at neither" "$(statuses bob "$M{uuid=\"101\"}" 20)" 403x20
both_took() { [ "$(metric 0 ceems_lb_requests_total)" -ge 15 ] && [ "$(metric 1 ceems_lb_requests_total)" -ge 15 ]; }
ok "both have answered" both_took

psql_do -c "UPDATE unit SET person = (SELECT p.id FROM person p WHERE p.name = 'bob' AND p.cluster = unit.cluster) WHERE uuid = '101' AND cluster = 1"
ended() { [ "$(statuses alice "$M{uuid=\"101\"}" 4)" = 403x4 ]; }
ok "a right that was taken away ends at both" wait_for 30 ended
is "and its new owner reads it at both" "$(statuses bob "$M{uuid=\"101\"}" 4)" 200x4

disown "${pids[0]}"
(sleep 0.3; kill9 "${pids[0]}") &
# what it was answering at that moment is cut: a balancer of connections cannot ask again
like "one that is killed costs the request that it was answering at most" "$(statuses bob "$M{uuid=\"101\"}" 60)" '^(200x60|000x1 200x59)$'
wait $!
lb_start 0
questions() { metric 0 ceems_lb_ownership_questions_total; }
cold=$(questions)
for _ in $(seq 50); do ask bob "$M{uuid=\"101\"}" "${ports[0]}" >/dev/null; done
warm=$(questions)
ok "a fresh one needs few questions to know a user ($((warm - cold)) of 50 requests)" test $((warm - cold)) -ge 1 -a $((warm - cold)) -le 5
tap_done
