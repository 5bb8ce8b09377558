#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ownership, with a real aggregator on a real Postgres and a real Prometheus behind: rights
# that are taken away, roles that end, numbers that are used again, jobs that have just begun, an
# aggregator without its database; and the ways around a load balancer that looks for patterns, of
# which none may bring back a single sample of somebody else. Some are MetricsQL, of VictoriaMetrics.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/owned.sh"
lb_begin ''
code() { as "$1" /api/v1/query -o body -w '%{http_code}' --data-urlencode "query=$2"; }
value() { as "$1" /api/v1/query --data-urlencode "query=$2" | jq -r '[.data.result[]?.value[1]] | join(" ")' 2>/dev/null; }
reads() { [ "$(code "$1" "$M{uuid=\"$2\"}")" = 200 ]; }
refused() { [ "$(code "$1" "$M{uuid=\"$2\"}")" = 403 ]; }
as_prometheus() { case $ENGINE in prometheus*) echo "$*" ;; *) echo "${*//200/403}" ;; esac; }

# ---- rights end, jobs begin
is "a user reads her own, and not another's" "$(value alice "$M{uuid=\"101\"}") $(code alice "$M{uuid=\"102\"}")" "1 403"
[ -z "$engine_tenant" ] || is "whatever tenant she names" "$(as alice /api/v1/query -H "$engine_tenant: another" --data-urlencode "query=$M{uuid=\"101\"}" | jq -r '.data.result[].value[1]')" 1
psql_do -c "UPDATE unit SET person = (SELECT p.id FROM person p WHERE p.name = 'bob' AND p.cluster = unit.cluster) WHERE uuid = '101' AND cluster = 1"
ok "a right that was taken away ends" within 20 refused alice 101
ok "and whose it is now reads it" within 20 reads bob 101
psql_do -c "UPDATE unit SET person = (SELECT p.id FROM person p WHERE p.name = 'alice' AND p.cluster = unit.cluster) WHERE uuid = '101' AND cluster = 1"
ok "and back" within 20 reads alice 101
is "a job that nobody knows is refused, and told why" "$(code alice "$M{uuid=\"104\"}") $(jq -r .error body)" \
	"403 unit 104 is not known yet: try again in a few seconds"
is "an id that no unit can have is refused for good, by its name" "$(code alice "$M{uuid=\"my job\"}") $(jq -r .error body)" \
	'403 no unit is called "my job": ids have letters, digits and . _ : + - only'
psql_do -c "INSERT INTO unit (cluster, uuid, submitted, known_by, person, started) SELECT 1, '104', now(), 'jobcomp', id, now() - interval '100 min' FROM person WHERE name = 'alice' AND cluster = 1"
ok "once it is known it opens" within 20 reads alice 104
psql_do -c "INSERT INTO unit_node (instance, node, uuid, restarts, uid, started, last_t1) SELECT 77, min(id), '105', 0, 61001, now() - interval '1 min', now() FROM node WHERE cluster = 1"
ok "one that only its node has told of, by its number of a user" within 20 reads alice 105
ok "and to nobody else" refused bob 105

# ---- a number that is used again
ok "a job that is over is read until now" reads alice 103
psql_do -c "INSERT INTO unit (cluster, uuid, submitted, known_by, person, started) SELECT 1, '103', now(), 'jobcomp', id, now() FROM person WHERE name = 'bob' AND cluster = 1"
ok "until somebody else has its number" within 20 refused alice 103
is "its own time stays open" "$(as alice /api/v1/query_range -o /dev/null -w '%{http_code}' -d "start=$((end - 5000))&end=$((end - 2400))&step=60" --data-urlencode "query=$M{uuid=\"103\"}")" 200
# where a server takes the step for the lookback, VictoriaMetrics by default, bob would read what alice measured
is "so does bob's, but for what the server reads before it" "$(as bob /api/v1/query_range -o /dev/null -w '%{http_code}' -d "start=$(date +%s)&end=$(($(date +%s) + 10))&step=3600" --data-urlencode "query=$M{uuid=\"103\"}")" \
	"$(as_prometheus 200)"
# VictoriaMetrics ignores the @ of a whole query, and takes start() for that of the subquery around it
is "an @ is believed of a server that keeps to it" "$(code alice "$M{uuid=\"103\"}[2m] @ $((end - 4000))") $(code alice "sum($M{uuid=\"103\"})[2m:1m] @ $((end - 4000))") $(code bob "last_over_time(timestamp($M{uuid=\"103\"} @ start())[1h:1m])")" \
	"$(as_prometheus 200 200 200)"
is "the time of both is nobody's" "$(code bob "max_over_time($M{uuid=\"103\"}[2h])") $(code alice "max_over_time($M{uuid=\"103\"}[2h])")" "403 403"

# ---- roles end
is "no role, nothing without a unit" "$(code carol "sum($M)")" 403
psql_do -c "INSERT INTO role VALUES ('carol', 'admin', NULL, 'test')"
is_admin() { [ "$(code carol "sum($M)")" = 200 ]; }
is_none() { ! is_admin; }
ok "who becomes an admin reads all of the cluster" within 20 is_admin
is "and of no other" "$(value carol "count($M{uuid=\"201\"})")" ""
psql_do -c "DELETE FROM role"
ok "who is one no longer does not" within 20 is_none

# ---- ways around: nothing of bob's comes back
leak() { grep -q 666 body && echo leak; }
n=0 bad=''
while IFS= read -r q; do
	n=$((n + 1))
	c=$(code alice "$q")
	[ "$c" != 200 ] && [ -z "$(leak)" ] || bad="$bad $q"
done <<E
$M{uuid="104"} or $M{uuid="102"}
$M{uuid="104"} or $M
{__name__=~".+"} or $M{uuid="104"}
{__name__=~".+"} # ,uuid="104"
$M{uuid="104"} or $M{uuid=~"10.+"}
$M{uuid="104"} or $M{uuid!="x"}
$M{uuid = '102'}
$M{uuid=\`102\`}
$M{uuid="\\x3102"}
$M{uuid="104"} * on () group_right () $M
label_replace($M, "uuid", "104", "uuid", ".*")
label_join($M{uuid="102"}, "uuid", "", "secret")
count_values("secret", $M)
absent($M{uuid="102"})
scalar($M{uuid="102"}) + $M{uuid="104"}
max_over_time(($M{uuid="104"} or $M)[10m:1m])
topk(1, $M)
$M{uuid="104",ceems_id="beta"} or $M{uuid="101",ceems_id="beta"}
sum by (secret) ($M{uuid=~"104|102"})
$M{uuid="101"} offset -1h or $M{uuid=~".*"} @ $end
$M{uuid="104" or uuid="102"}
$M{uuid="104" or ceems_id="alpha"}
WITH (q = $M) q
WITH (f = {uuid="102"}) $M{f}
$M{uuid="102"} default 1
$M{uuid="104"} default $M
$M{uuid="104"} ifnot $M
union($M{uuid="104"}, $M)
($M{uuid="104"}, $M)
rollup($M[5m])
label_set($M, "uuid", "104")
$M keep_metric_names
$M[5i]
{__graphite__="*"}
{__graphite__="*", uuid="104"} or {__graphite__="*"}
{uuid="101" or uuid=~".+"}
{__name__="$M",uuid="101" or __name__="$M"}
$M{uuid="101"}{uuid="102"}
{"$M", "uuid"="102"}
{'uuid'='102'}
$M{uuid=~"101|"}
$M{uuid=~"101|(?i:102)"}
$M{uuid=~"101\$|102"}
$M{uuid="101",ceems_id="beta"}
$M{uuid="101"} + on () group_left (secret) $M{uuid="102"}
clamp($M{uuid="101"}, scalar($M{uuid="102"}), 100000)
quantile_over_time(scalar($M{uuid="102"}), $M{uuid="101"}[5m])
max_over_time(sum_over_time($M{uuid="102"}[5m])[1h:1m])
WITH (uuid = "102") $M{uuid=uuid}
with (f(x) = $M{uuid=x}) f("102")
$M{uuid="101"} @ (end() - 1h)
$M{uuid="102"}[5m] @ 1
$M if $M{uuid="101"}
sum($M) limit 5
aggr_over_time(("min_over_time", "max_over_time"), $M[5m])
rollup_candlestick($M[5m])
label_map($M, "uuid", "102", "101")
limit_offset(10, 0, $M)
info($M{uuid="101"}, {__name__=~".+", uuid="102"})
limitk(10, $M)
limit_ratio(-1, $M{uuid="102"})
sort_by_label($M, "uuid")
first_over_time($M{uuid="102"}[5m])
rate($M{uuid="102"}[5m] anchored)
xrate($M{uuid="102"}[5m])
histogram_fraction(0, 1, $M)
vm_account_id{uuid="101"}
count({__name__!=""})
E
is "none of $n queries reads what is of others" "$bad" ""
bad='' n=0
V='query=ceems_compute_unit_memory_used_bytes%7Buuid%3D%22102%22%7D' O='query=ceems_compute_unit_memory_used_bytes%7Buuid%3D%22104%22%7D'
MV='match[]=ceems_compute_unit_memory_used_bytes%7Buuid%3D%22102%22%7D' MO='match[]=ceems_compute_unit_memory_used_bytes%7Buuid%3D%22104%22%7D'
while read -r target data; do
	n=$((n + 1))
	c=$(as alice "$target" -g --path-as-is -o body -w '%{http_code}' ${data:+-d "$data"})
	[ "$c" != 200 ] && [ -z "$(leak)" ] || bad="$bad $target:$c"
done <<E
/api/v1/query?$V&$O
/api/v1/query?$O&$V
/api/v1/query?$O $V
/api/v1/query?$V $O
/api/v1/query/?$O&$V
//api/v1/query?$V
/api/v1/./query?$V
/api/v1/label/../query?$V
/api/v1/query%2f?$V
/api/v1/series?$MO&$MV
/api/v1/series?$MO&match[]=%7B__name__%3D~%22.%2B%22%7D
/api/v1/labels?$MO&$MV
/api/v1/label/secret/values?$MO&$MV
/api/v1/query_exemplars?$V&start=$((end - 100))&end=$end
/federate?$MV
/federate/?$MV
/api/v1/read x=1
/api/v1/admin/tsdb/delete_series $MV
/api/v1/status/config
/api/v1/status/tsdb
/api/v1/targets
/api/v1/rules
/metrics/../api/v1/query?$V
/
/api/v1/series?$MO $MV
/api/v1/series?match[0]=$MO&match[1]=$MV
/api/v1/query?query[]=$V
/api/v1/query?$O;$V
/api/v1/query?$O&step=60&$V
/prometheus/api/v1/query?$V
/select/0/prometheus/api/v1/query?$V
/select/7/prometheus/api/v1/query?$V
/select/multitenant/prometheus/api/v1/query?$V
/api/prom/api/v1/query?$V
/api/prom/read x=1
/api/v1/query_explain?$V
/api/v1/export?$MV
/api/v1/export/csv?$MV&format=uuid,__value__
/api/v1/export/native?$MV
/api/v1/series/count
/api/v1/status/top_queries
/api/v1/status/active_queries
/api/v1/stores
/api/v1/user_stats
/api/v1/cardinality/label_values?label_names[]=uuid
/api/v1/cardinality/active_series?selector=$V
/api/v1/import/prometheus x=1
/admin/tenants
/distributor/all_user_stats
/ingester/tsdb/site
/graphite/render?target=ceems_compute_unit_memory_used_bytes
/graphite/metrics/find?query=*
/render?target=*
/metrics/find?query=*
/tags/autoComplete/values?tag=uuid
/vmui/
/influx/query?q=SHOW%20DATABASES
/influx/write x=1
/expand-with-exprs?$V
/debug/pprof/cmdline
/flags
E
is "none of $n requests does" "$bad" ""
# what only other servers know: VictoriaMetrics' filters and times, Thanos' stores and replicas
bad='' n=0
while IFS= read -r p; do
	n=$((n + 1))
	got=$(as alice "/api/v1/query?query=$M%7Buuid%3D%22101%22%7D&$p" -g | jq -c '[.data.result[]? | .metric.uuid, .value[1]]')
	[ "$got" = '["101","1"]' ] || bad="$bad $p:$got"
done <<-E
	extra_label=uuid=102
	extra_label=ceems_id=beta
	extra_filters[]=%7Buuid%3D%22102%22%7D
	extra_filters=%7Buuid%3D%22101%22%20or%20uuid%3D%22102%22%7D
	max_lookback=100d
	step=100d
	latency_offset=-1d
	round_digits=-9
	nocache=1&trace=1
	storeMatch[]=%7Bx%3D%22y%22%7D
	replicaLabels[]=uuid&replicaLabels[]=ceems_id&dedup=true
	dedup=false&partial_response=true
	max_source_resolution=1h
	engine=thanos&analyze=true&tenant=another
	shard_info=%7B%22total_shards%22%3A2%7D
	tenant=0:1&db=another
E
is "none of $n parameters of other servers changes an answer" "$bad" ""
for p in label/secret/values label/uuid/values labels "series?match[]=$M"; do as alice "/api/v1/$p" -g; done >body
is "what is asked for without a unit is narrowed" "$(leak)$(as alice /api/v1/label/uuid/values | jq -c '.data')" '["101","104","105"]'
# 103 is bob's now: one block may hold labels of both
is "by the time that is asked for" "$(as alice "/api/v1/label/uuid/values?start=$((end - 5000))&end=$((end - 2400))" | jq -c .data)" '["101","104"]'
is "who has nothing sees nothing" "$(as eve /api/v1/label/uuid/values | jq -c .data) $(as eve /api/v1/label/secret/values | jq -c .data)" '[] []'

# ---- where the site narrows instead of refusing
config 'enforce: inject'
kill -HUP "$LB"
ok "another configuration" wait_for 5 grep -q 'reload: done' lb.log
is "a sum without a unit is of one's own" "$(value alice "sum($M)") $(value eve "sum($M)")" "10 "
is "another's name is refused all the same" "$(code alice "sum($M{uuid=\"102\"}) + sum($M)")" 403

# ---- both sides by MUNGE
if [ ${#munge[@]} = 0 ]; then
	skip "MUNGE on both sides" "needs root, munged and munge"
else
	psql_do -c "INSERT INTO person (cluster, name, uid) VALUES (1, 'daemon', 1)" -c "INSERT INTO unit (cluster, uuid, submitted, known_by, person, started)
		SELECT 1, '106', now(), 'jobcomp', id, now() FROM person WHERE name = 'daemon' AND cluster = 1"
	config '' 'munge: true'
	: >lb.log
	kill -HUP "$LB"
	wait_for 5 grep -q 'reload: done' lb.log
	by_munge() { # payload's request, then curl's
		local c
		c=$(setpriv --reuid=1 --regid=1 --clear-groups munge --socket="$MUNGE_SOCKET" -s "ceems-api/1 $1")
		curl -s -m 100 -o body -w '%{http_code}' -H "Authorization: MUNGE $c" -H "X-Ceems-Cluster-Id: alpha" "http://127.0.0.1:$port/api/v1/query" "${@:2}"
	}
	is "an ordinary user's credential, and ours to the aggregator" "$(by_munge 'POST /api/v1/query' --data-urlencode "query=$M{uuid=\"106\"}")" 200
	is "opens nothing else" "$(by_munge 'POST /api/v1/query' --data-urlencode "query=$M{uuid=\"101\"}")" 403
	is "one for another request is none" "$(by_munge 'GET /api/v1/query' --data-urlencode "query=$M{uuid=\"106\"}")" 401
	by_bound() { # body that it is made for, URL that it is made for, body that is sent
		local c
		printf '%s' "$1" >made
		c=$(setpriv --reuid=1 --regid=1 --clear-groups munge --socket="$MUNGE_SOCKET" -s "$(munge_payload POST "$2" made)")
		curl -s -m 100 -o body -w '%{http_code}' -H "Authorization: MUNGE $c" -H "X-Ceems-Cluster-Id: alpha" "http://127.0.0.1:$port/api/v1/query" --data-binary "$3"
	}
	here=http://127.0.0.1:$port/api/v1/query mine="query=$M{uuid=\"106\"}"
	is "one that is bound to host and body" "$(by_bound "$mine" "$here" "$mine")" 200
	is "is of that body alone" "$(by_bound "$mine" "$here" "query=up") $(jq -r .error body)" "401 munge: the credential was made for another body"
	is "and of that host" "$(by_bound "$mine" "http://other.example:9030/api/v1/query" "$mine") $(jq -r .error body | grep -o 'host other.example')" "401 host other.example"
	is "and none with a name beside it" "$(by_munge 'POST /api/v1/query' -H 'X-Grafana-User: alice' --data-urlencode 'query=1')" 403
fi

# ---- many at once, and no database
psql_do -c "INSERT INTO unit (cluster, uuid, submitted, known_by, person, started) SELECT 1, i::text, now(), 'jobcomp', (SELECT id FROM person WHERE name = 'alice' AND cluster = 1), now() FROM generate_series(10000, 16999) i"
many="$M{uuid=~\"$(seq -s'|' 10000 16999)|101\"}"
is "seven thousand units are one question" "$(value alice "$many")" 1
is "and one that is not among them spoils it" "$(code alice "${many/10000/102}")" 403
psql_do -c "DELETE FROM unit WHERE length(uuid) = 5"
# a reload forgets: what is known then is of now, and for long enough to be looked at
OWNED=12s config '' "${munge:+munge: true}"
: >lb.log
kill -HUP "$LB"
wait_for 5 grep -q 'reload: done' lb.log
ok "one's own is known" reads alice 101
pg_kill
is "without a database what is known holds" "$(code alice "$M{uuid=\"101\"}")" 200
is "her other jobs are known with it and nobody else's" "$(code alice "$M{uuid=\"104\"}") $(code alice "$M{uuid=\"102\"}") $(code bob "$M{uuid=\"102\"}")" "200 503 503"
down() { [ "$(code alice "$M{uuid=\"101\"}")" = 503 ]; }
ok "until its time is over, then it is refused" within 40 down
like "in words" "$(jq -r .error body)" 'aggregator does not answer'
is "and what reads nothing of anybody is answered" "$(code alice 1+1)" 200
tap_done
