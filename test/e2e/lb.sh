#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The load balancer as it is run: real Prometheus servers with data behind it, a real aggregator
# that says who owns which job, a front end with a password in front of it. Two clusters in one
# Prometheus, servers that hold different times, one that is killed and comes back, reload, drain.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
lb=$BUILD/ceems_lb agg=${AGGREGATOR:-$BUILD/ceems_aggregator}
for p in ceems_lb ceems_aggregator; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
for t in prometheus promtool curl jq; do command -v $t >/dev/null || skip_all "$t is not installed"; done
need_pg
cd "$SCRATCH" || exit 1
if have_root; then DROPPED=(--security.run-as-user=nobody); else DROPPED=(); fi
# mine FILE...: the load balancer may read them, others may not
mine() {
	chmod 640 "$@"
	if have_root; then chgrp "$(id -gn nobody)" "$@"; fi
}
# bcrypt of "correct horse"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'

# --- who runs what
pg_start || { ok "Postgres starts" false; tap_done; }
"$agg" --migrate --db.url="$PGURL" >/dev/null && psql_do -f "$TOP/test/e2e/lb_seed.sql" >/dev/null ||
	{ ok "records of jobs" false; tap_done; }
# 103 of alpha is alice's; some hours before bob had that number
psql_do -c "INSERT INTO unit (cluster, uuid, restarts, submitted, known_by, uid, gid, person, project, name, started, ended, state)
	SELECT cluster, '103', 0, now() - interval '5 hours', 'jobcomp', uid, gid, person, project, 'job',
		now() - interval '4 hours', now() - interval '3 hours', 'COMPLETED'
	FROM unit JOIN cluster c ON c.id = cluster WHERE c.name = 'alpha' AND uuid = '102'" >/dev/null || ok "a number that is used again" false
printf "basic_auth_users:\n  lb: '%s'\n" "$hash" >agg-web.yaml
chmod 600 agg-web.yaml
agg_port=$(free_port)
agg_start() {
	"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$agg_port" --web.config.file=agg-web.yaml \
		--security.drop-privileges=false --identity.front-end=password:lb --identity.front-end-roles=true --admin.users=boss >>agg.log 2>&1 &
	agg_pid=$!
	started $agg_pid
	wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$agg_port/health"
}

# --- what was measured: two hours, of which one server has the last alone
end=$(date +%s)
awk -v from=$((end - 7200)) -v to="$end" 'BEGIN {
	n = split("alpha 101 n1,alpha 102 n1,alpha 103 n2,beta 101 n9,beta 201 n9", unit, ",")
	print "# TYPE ceems_compute_unit_memory_used_bytes gauge"
	for (i = 1; i <= n; i++) {
		split(unit[i], u, " ")
		for (t = from; t <= to; t += 30)
			printf "ceems_compute_unit_memory_used_bytes{ceems_id=\"%s\",uuid=\"%s\",hostname=\"%s\",instance=\"%s:9010\"} %d %d\n",
				u[1], u[2], u[3], u[3], i * 1000, t
	}
	print "# TYPE node_load1 gauge"
	for (t = from; t <= to; t += 30)
		printf "node_load1{ceems_id=\"alpha\",hostname=\"n1\"} 7 %d\n", t
	print "# EOF" }' >data.om
promtool tsdb create-blocks-from openmetrics data.om tsdb1 >/dev/null 2>&1 || { ok "data for Prometheus" false; tap_done; }
cp -r tsdb1 tsdb2
printf 'global: {external_labels: {server: "1"}}\nscrape_configs: []\n' >prometheus.yml
prom() { # NUMBER
	prometheus --config.file=prometheus.yml --storage.tsdb.path="tsdb$1" --log.level=error --storage.tsdb.retention.time=10y \
		--web.listen-address="127.0.0.1:${prom_port[$1]}" >>"prom$1.log" 2>&1 </dev/null &
	prom_pid[$1]=$!
	started $!
	wait_for 20 curl -sf "http://127.0.0.1:${prom_port[$1]}/-/ready"
}
prom_port=(0 "$(free_port)" "$(free_port)") prom_pid=()
ok "two Prometheus servers with data" prom 1
prom 2
ok "an aggregator that knows who ran what" agg_start

own=$(curl -s -o /dev/null -w '%{http_code}' -u 'lb:correct horse' -H 'X-Grafana-User: alice' "http://127.0.0.1:$agg_port/api/v1/units/own")
[ "$own" != 404 ] || { skip "the load balancer" "this aggregator does not say whose units are whose"; tap_done; }

# --- the load balancer
config() { # what follows is ceems_lb's
	cat >lb.new
	cat >>lb.new <<-END
		ceems_api_server:
		  web:
		    url: http://127.0.0.1:$agg_port
		    basic_auth: {username: lb, password: correct horse}
	END
	mine lb.new
	mv lb.new lb.yaml
}
both() {
	config <<-END
		ceems_lb:
		  strategy: round-robin
		  health: {interval: 300ms, timeout: 10s, slow_start: 0s}
		  identity: {munge: false, front_ends: ["password:grafana"], front_end_roles: true}
		  limits: {owned: 2s}
		  audit: {decisions: true}
		  $*
		  backends:
		    - id: alpha
		      tsdb:
		        - web: {url: "http://127.0.0.1:${prom_port[1]}"}
		        - web: {url: "http://127.0.0.1:${prom_port[2]}"}
		    - id: beta
		      tsdb: [{web: {url: "http://127.0.0.1:${prom_port[1]}"}}]
	END
}
printf "basic_auth_users:\n  grafana: '%s'\n  prometheus: '%s'\n" "$hash" "$hash" >lb-web.yaml
mine lb-web.yaml
lb_start() {
	: >lb.log # of the one before
	"$lb" --config.file=lb.yaml --web.config.file=lb-web.yaml --web.listen-address="${HOST:-127.0.0.1}:0" --web.listen-address="${HOST:-127.0.0.1}:0" \
		--web.threads=2 "${DROPPED[@]}" "$@" 2>lb.log &
	LB=$!
	started $LB
	wait_for 10 grep -q 'msg="*ready' lb.log || { sed 's/^/# /' lb.log; return 1; }
	port=$(sed -n "s/.*serves Prometheus' API on port \([0-9]*\).*/\1/p" lb.log)
	U=http://127.0.0.1:$port
}
# as USER PATH [curl's]: what Grafana would send for that user to cluster $C; code: the status alone
C=alpha
as() { local u=$1 p=$2; shift 2; curl -s -m 100 -u 'grafana:correct horse' -H "X-Grafana-User: $u" -H "X-Ceems-Cluster-Id: $C" "$U$p" "$@"; }
code() { as "$@" -o body -w '%{http_code}'; }
query() { local u=$1 q=$2; shift 2; as "$u" /api/v1/query --data-urlencode "query=$q" "$@"; }
value() { jq -r '[.data.result[]?.value[1]] | join(" ")' 2>/dev/null; }
why() { jq -r '.error // "none"' 2>/dev/null; }
M=ceems_compute_unit_memory_used_bytes
metric() { curl -s -u 'prometheus:correct horse' "$U/metrics" | grep -F "$1 " | sed 's/.* //'; }

both
is "the configuration is valid" "$("$lb" --config.file=lb.yaml --web.config.file=lb-web.yaml --check-config | tail -1)" \
	"ceems_lb: the configuration is valid"
ok "it starts" lb_start || tap_done
scrape() { curl -s -m 100 -o body -w '%{http_code}' "$@" "$U/metrics"; }
is "metrics are Prometheus' by a password of its own" "$(scrape -u 'prometheus:correct horse') $(scrape)" "200 401"
is "and not for those who come by a front end" "$(scrape -u 'grafana:correct horse') $(why <body | cut -c1-51) $(scrape -u 'prometheus:correct horse' -H 'X-Grafana-User: ann')" \
	"403 users and front ends may not read the metrics of th 403"
if have_root; then
	# /proc/PID of who hides is root's
	is "it runs as somebody without rights" "$(sed -n 's/^Uid:\t//p' "/proc/$LB/status" | tr '\t' ' ')" "65534 65534 65534 65534"
	is "whom another program of that account cannot look into" \
		"$(setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'cat "/proc/$0/environ" 2>&1 | grep -c "Permission denied"' "$LB")" 1
fi

is "its system calls are filtered, where the kernel can" "$(metric 'ceems_lb_sandbox_active{kind="seccomp"}')" \
	"$(! grep -q 'not filtered: this kernel' lb.log; echo $((1 - $?)))"
is "serving this host alone there is no warning of plain HTTP" "$(grep -c 'plain HTTP' lb.log)" 0

# --- allowed and refused
is "a user reads her own job" "$(query alice "$M{uuid=\"101\"}" | value)" 1000
is "as a range" "$(as alice /api/v1/query_range -G --data-urlencode "query=$M{uuid=\"101\"}" -d "start=$((end - 300))&end=$end&step=60" |
	jq -r '.data.result[0].values | length')" 6
like "not another's, and is told why" "$(query alice "$M{uuid=\"102\"}" | why)" '102'
is "which is a 403" "$(code alice /api/v1/query --data-urlencode "query=$M{uuid=\"102\"}")" 403
like "a selector without a unit is refused with what to add" "$(query alice "$M" | why)" 'add uuid='
# exemplars are read from start to end, whatever the query says beside its selectors
exemplars() { code alice /api/v1/query_exemplars --data-urlencode "query=$M{uuid=\"103\"}$1" -d "start=$((end - $2))&end=$((end - $3))"; }
is "exemplars are of the time that is asked for" "$(exemplars "" 3600 0) $(exemplars "" 13000 12000)" "200 403"
is "and of no other" "$(exemplars " offset -12000s" 13000 12000) $(exemplars " @ $end" 13000 12000)" "403 403"
is "names of labels are refused for a number that was another's in their block" \
	"$(code alice "/api/v1/labels?match[]=$M%7Buuid=%22103%22%7D&start=$((end - 3600))&end=$end" -g)" 403
is "which can be queried" "$(code alice /api/v1/query --data-urlencode "query=$M{uuid=\"103\"}")" 200
is "nothing of the node" "$(code alice /api/v1/query -d 'query=node_load1')" 403
is "not the peer's way around: one's own beside another's" \
	"$(code alice /api/v1/query --data-urlencode "query=$M{uuid=\"101\"} or $M{uuid=\"102\"}")" 403
is "Grafana's test of a data source" "$(query alice 1+1 | jq -r '.data.result[1]')" 2
is "who says nothing is nobody" "$(curl -s -o /dev/null -w '%{http_code}' "$U/api/v1/query?query=1")" 401
is "a wrong password is refused" "$(curl -s -o /dev/null -w '%{http_code}' -u grafana:wrong -H 'X-Grafana-User: alice' "$U/api/v1/query?query=1")" 401
is "an administrative path is closed" "$(code alice /api/v1/admin/tsdb/snapshot -d x=y)" 403
is "health needs neither user nor cluster" "$(curl -s -o /dev/null -w '%{http_code}' "$U/health")" 200

# --- two clusters in one server
C=beta
is "in another cluster the same number is another's job" "$(code alice /api/v1/query --data-urlencode "query=$M{uuid=\"101\"}")" 403
is "who reads his own, and that alone" "$(query bob "$M{uuid=\"101\"}" | value)" 4000
C=gamma
like "a cluster that there is not" "$(code alice /api/v1/query -d query=1)" '^4'
C=alpha
is "the label says it as the header does" "$(query alice "$M{uuid=\"101\",ceems_id=\"alpha\"}" | value)" 1000
is "a label that says otherwise is refused" "$(code alice /api/v1/query --data-urlencode "query=$M{uuid=\"101\",ceems_id=\"beta\"}" | cut -c1)" 4

# --- both servers are used, one may go
for _ in 1 2 3 4 5 6; do query alice "$M{uuid=\"101\"}" >/dev/null; done
up() { metric "ceems_lb_backend_up{cluster=\"alpha\",protocol=\"prometheus\",backend=\"http://127.0.0.1:${prom_port[$1]}\"}"; }
answered() { metric "ceems_lb_backend_requests_total{cluster=\"alpha\",protocol=\"prometheus\",backend=\"http://127.0.0.1:${prom_port[$1]}\",outcome=\"answered\"}"; }
ok "both servers of a cluster are asked: $(answered 1), $(answered 2)" test "$(answered 1)" -ge 3 -a "$(answered 2)" -ge 3
kill -9 "${prom_pid[2]}"
wait "${prom_pid[2]}" 2>/dev/null
good=0
for _ in $(seq 20); do [ "$(query alice "$M{uuid=\"101\"}" | value)" = 1000 ] && good=$((good + 1)); done
is "a server that is killed is noticed by nobody" $good 20
is_down() { [ "$(up 2)" = 0 ]; }
ok "but by its health check" wait_for 10 is_down
ok "which is said" wait_for 10 grep -q "127.0.0.1:${prom_port[2]}: .*gets no requests" lb.log
before=$(answered 2)
prom 2
is_up() { [ "$(up 2)" = 1 ]; }
ok "it comes back" wait_for 10 is_up
for _ in 1 2 3 4; do query alice "$M{uuid=\"101\"}" >/dev/null; done
ok "and is asked again" test "$(answered 2)" -gt "$before"

# --- reload
pid_of() { ps -o pid= -p "$LB"; }
cp lb.yaml good.yaml
echo 'ceems_lb: {backends: [' >lb.yaml
kill -HUP "$LB"
ok "a broken file is refused loudly" wait_for 5 grep -q 'level=error.*lb.yaml.*the old configuration stays in force' lb.log
is "and leaves the old in force" "$(query alice "$M{uuid=\"101\"}" | value)" 1000
is "which is counted" "$(metric 'ceems_lb_reloads_total{result="failed"}')" 1
config <<-END
	ceems_lb:
	  health: {interval: 300ms, timeout: 10s}
	  identity: {munge: false, front_ends: ["password:grafana"], front_end_roles: true}
	  cluster_label: ceems_id
	  backends:
	    - id: alpha
	      tsdb:
	        - web: {url: "http://127.0.0.1:${prom_port[1]}"}
	          retention: 1h
	          filter_labels: [instance, hostname]
	        - web: {url: "http://127.0.0.1:${prom_port[2]}"}
	          retention: 3h
	          filter_labels: [instance, hostname]
END
(query alice "count_over_time($M{uuid=\"101\"}[1h:1ms])" -o slow -w '%{http_code}' >slow.code) &
slow=$!
sleep 0.2
kill -HUP "$LB"
ok "a good one is taken" wait_for 5 grep -q 'msg="*reload: done' lb.log
wait "$slow"
is "what was under way is answered by whom it was asked" "$(cat slow.code)" 200
C=beta
like "a cluster that is gone is gone" "$(code bob /api/v1/query -d query=1)" '^4'
C=alpha

# --- by time
ask_from() { as alice /api/v1/query_range -G --data-urlencode "query=$M{uuid=\"101\"}" -d "start=$((end - $1))&end=$((end - $2))&step=60" -o body -w '%{http_code}'; }
one=$(answered 1) two=$(answered 2)
is "a query of the last half hour" "$(ask_from 1800 0)" 200
is "goes to the server that holds the last hour" "$(($(answered 1) - one)) $(($(answered 2) - ${two:-0}))" "1 0"
is "one of two hours" "$(ask_from 6000 0)" 200
is "to the one that holds all of it" "$(($(answered 1) - one)) $(($(answered 2) - ${two:-0}))" "1 1"
is "what nobody holds is refused" "$(ask_from 86400 0)" 422
like "with what there is" "$(why <body)" 'the oldest data begin at'

# --- a header that names users, by a reload
reloads() { metric 'ceems_lb_reloads_total{result="ok"}'; }
reload() { local n; n=$(reloads); mine lb.yaml; kill -HUP "$LB"; more() { [ "$(reloads)" -gt "$n" ]; }; wait_for 10 more; }
named_by() { curl -s -o /dev/null -w '%{http_code}' -u 'grafana:correct horse' -H "$1: alice" -H 'X-Ceems-Cluster-Id: alpha' "$U/api/v1/query?query=1"; }
is "a header that is no user's name here" "$(named_by X-WEBAUTH-USER) $(named_by X-Grafana-User)" "401 200"
sed -i 's/munge: false,/munge: false, user_headers: [X-WEBAUTH-USER],/' lb.yaml
ok "user_headers are taken by SIGHUP" reload
is "and each request is asked by them alone" "$(named_by X-WEBAUTH-USER) $(named_by X-Grafana-User)" "200 401"
sed -i 's/ user_headers: .X-WEBAUTH-USER.,//' lb.yaml
ok "and back" reload
is "as before" "$(named_by X-WEBAUTH-USER) $(named_by X-Grafana-User)" "401 200"

# --- labels that are not shown
query alice "$M{uuid=\"101\"}" >body
is "filter_labels are not in the answer" "$(jq -c '.data.result[0].metric | keys' body)" '["__name__","ceems_id","uuid"]'
is "nor when the client takes gzip" "$(query alice "$M{uuid=\"101\"}" --compressed | jq -c '.data.result[0].metric | keys')" '["__name__","ceems_id","uuid"]'
is "nor among the names of labels" "$(as alice "/api/v1/labels?match[]=$M%7Buuid=%22101%22%7D" -g | jq -c .data)" '["__name__","ceems_id","uuid"]'
is "nor their values" "$(as alice "/api/v1/label/hostname/values?match[]=$M%7Buuid=%22101%22%7D" -g | jq -c '.data // []')" '[]'

is "nor copied into another label" "$(code alice /api/v1/query --data-urlencode \
	"query=label_replace($M{uuid=\"101\"}, \"x\", \"\$1\", \"instance\", \"(.*)\")")" 403

# --- ownership is asked for, and remembered for a while
kill "$agg_pid"; wait "$agg_pid" 2>/dev/null
is "without the aggregator what is known holds" "$(query alice "$M{uuid=\"101\"}" | value)" 1000
is "what is not is refused for now" "$(code alice /api/v1/query --data-urlencode "query=$M{uuid=\"777\"}")" 503
agg_start
known() { [ "$(code alice /api/v1/query --data-urlencode "query=$M{uuid=\"103\"}")" = 200 ]; }
ok "until it is back" within 20 known

# --- the end
(query alice "count_over_time($M{uuid=\"101\"}[1h:1ms])" -o slow -w '%{http_code}' >slow.code) &
slow=$!
sleep 0.3
kill -TERM "$LB"
wait "$slow"
like "what is under way at the end is answered" "$(cat slow.code)" '^(200|422)$'
wait "$LB"
is "it ends well" $? 0
is "no password is in its log" "$(grep -c 'correct\|horse' lb.log)" 0
HOST=0.0.0.0 lb_start
ok "serving other hosts by plain HTTP it warns, with what to do" wait_for 10 grep -q 'plain HTTP.*tls_server_config' lb.log
tap_done
