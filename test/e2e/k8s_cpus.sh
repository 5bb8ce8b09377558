#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pods that request parts of a CPU, in a real Postgres: CPUs, CPU hours and efficiency of units, days and people, as
# nodes tell of them, resized in place or not; jobs beside them, and what was there before.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "basic_auth_users:\n  lb: '%s'\n" "$hash" >web.yaml
chmod 600 web.yaml
agg_begin --web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --identity.front-end-roles=true --admin.users=boss --ingest.claims-from=token:test
api() { curl -s -m 60 -u 'lb:correct horse' -H 'X-Grafana-User: boss' "http://127.0.0.1:$agg_port/api/v1$1"; }
T=$((($(date +%s) / 86400 - 1) * 86400 + 3600)) # an hour past yesterday's midnight
W="from=$((T - 60))&to=$((T + 14400))"
S=1000000000
pod() { printf '5b8f7fd4-0000-4000-8000-%012d' "$1"; }
say() { # TYPE INSTANCE words
	echo "$1 cluster=k1 node=w1 unit=$(pod "$2") instance=$2 manager=3 started=$T ${*:3}"
}
used="user=$((400 * S)) system=$((50 * S))" # half of 0.25 CPUs for an hour
hour() { # INSTANCE words: a whole life
	say start "$1" "${@:2}" sized=$((T + 1))
	say interval "$1" t0=$T t1=$((T + 3600)) "$used" "${@:2}"
	say final "$1" t0=$T t1=$((T + 3600)) ended=$((T + 3600)) "$used" "${@:2}"
}
take() { # lines on stdin
	local l
	mapfile -t l
	push "${l[@]}"
}
trimmed() { sed -E 's/(\.[0-9]*[1-9])0+$/\1/; s/\.0+$//'; }
# of a node and of its unit: whole CPUs and thousandths; CPU seconds allocated
row() { sql "SELECT n.cpus, n.millicpus, u.cpus, u.millicpus, u.cpu_alloc_ms / 1000.0 FROM unit_node n JOIN unit u ON u.id = n.unit WHERE n.instance = $1" | trimmed; }
hours() { sql "SELECT string_agg(trim_scale(h.cpu_alloc_ms / 1000.0)::text, ' ' ORDER BY h.hour) FROM unit_hour h JOIN unit_node n ON n.unit = h.unit WHERE n.instance = $1"; }

# ---- of one size
hour 1 cpus=1 millicpus=250 | take
hour 2 cpus=2 | take # an older ceemsd
hour 3 cpus=2 millicpus=2000 | take
hour 4 | take
{
	echo "job id=7 submit=$T start=$T end=$((T + 3600)) user=carol uid=1003 account=web nodes=n1 node_count=1"
	echo "final node=n1 unit=7 instance=70 manager=1 uid=1003 started=$T t0=$T t1=$((T + 3600)) ended=$((T + 3600)) $used cpus=2 millicpus=10 sized=$T"
	echo "claim cluster=k1 uid=$(pod 1) owner=alice namespace=web name=p1 at=$T"
} | take
is_owned() { [ "$(sql "SELECT count(*) FROM usage_day")" = 2 ] && at_rest; }
wait_for 60 is_owned
is "a pod of 250m had a quarter of a CPU for an hour" "$(row 1)" "1|250|1|250|900"
is "the roll-up of its hour has that" "$(hours 1)" 900
is "the day of its owner has that, and what was not used of it" "$(sql "SELECT d.cpu_alloc_ms / 1000, wasted_cpu_ms(d.cpu_ns, d.cpu_alloc_ms) / 1000 FROM usage_day d JOIN person p ON p.id = d.person WHERE p.name = 'alice'" | trimmed)" "900|450"
is "what an older ceemsd tells of is whole" "$(row 2)" "2||2||7200"
is "a pod of 2000m has two CPUs" "$(row 3)" "2|2000|2|2000|7200"
is "a pod that requests nothing has no number" "$(row 4)" "||||"
is "a job of Slurm's has whole ones, whatever its node says" "$(sql "SELECT cpus, millicpus FROM unit_node WHERE instance = 70")" "2|"
unit() { api "/units/admin?$W" >answer.json; jq -c --arg u "$1" ".data[] | select(.uuid == \$u) | $2" answer.json; }
show='[.allocation.cpus, .total_time_seconds.alloc_cputime, .avg_cpu_usage.global]'
is "the API has parts of a CPU, CPU time and efficiency" "$(unit "$(pod 1)" "$show")" '[0.25,900,50]'
is "the API has whole ones without a point" "$(unit "$(pod 3)" "$show"; grep -c '"cpus":2[,}]' answer.json)" '[2,7200,6.25]'$'\n1'
is "the API has nothing of a pod that requests nothing" "$(unit "$(pod 4)" "$show")" '[null,null,null]'
is "the API has parts of a CPU for each node" "$(api "/units/$(unit "$(pod 1)" .id)" | jq -c '[.data[0].nodes[].cpus]')" '[0.25]'
is "usage of its owner has its CPU time and efficiency" "$(api "/usage/current/admin?$W" | jq -c '.data[] | select(.username == "alice") | [.total_time_seconds.alloc_cputime, .avg_cpu_usage.global]')" '[900,50]'
sql "UPDATE unit SET ended = started + interval '1 h' WHERE ended IS NULL" # nobody has said so yet
"$agg" --db.url="$PGURL" --security.drop-privileges=false --export=units --from="$(date -u -d "@$T" +%F)" --to="$(date -u -d "@$((T + 86400))" +%F)" >units.csv 2>export.log
is "an export has parts of a CPU, and whole ones as before" "$(python3 -c 'import csv, sys
print(*sorted(r["uuid"][-2:] + ":" + r["cpus"] for r in csv.DictReader(open("units.csv")) if r["manager"] == "k8s"))')" "01:0.25 02:2 03:2 04:"

# ---- resized in place: 250m, after half an hour 500m, after an hour and a half 2, until two hours
grows() { # INSTANCE: what its node tells, a push a line; what is told again, late or doubled is among it
	say start "$1" cpus=1 millicpus=250 sized=$((T + 1))
	say start "$1" cpus=1 millicpus=500 sized=$((T + 1800))
	say interval "$1" t0=$T t1=$((T + 3600)) "$used" cpus=1 millicpus=500
	say start "$1" cpus=2 millicpus=2000 sized=$((T + 5400))
	say start "$1" cpus=1 millicpus=500 sized=$((T + 1800))
	say start "$1" cpus=2 millicpus=2000 sized=$((T + 5500))
	say interval "$1" t0=$((T + 3600)) t1=$((T + 7200)) "$used" cpus=2 millicpus=2000
	say final "$1" t0=$T t1=$((T + 7200)) ended=$((T + 7200)) user=$((800 * S)) system=$((100 * S)) cpus=2 millicpus=2000
}
grows 5 | while read -r line; do
	push "$line"
	settle
	row 5 | cut -d'|' -f4 >>sizes
done
grows 6 | take
settle
is "a pod that is resized has the size that it has now" "$(uniq sizes | xargs)" "250 500 2000"
is "each size counts for the time that it was had" "$(row 5)" "2|2000|2|2000|$((225 * 2 + 900 * 2 + 1800 * 2))"
is "each hour has its own part of that" "$(hours 5)" "1350 4500"
is "it is the same if all comes at once" "$(row 6) $(hours 6)" "$(row 5) $(hours 5)"
is "the API's efficiency is of that" "$(unit "$(pod 5)" "$show")" "[2,5850,$(awk 'BEGIN { printf "%.4f", 900 / 5850 * 100 }')]"
{
	say start 8 cpus=1 sized=$T
	say start 8 cpus=1 millicpus=1000 sized=$((T + 60))
	for ((n = 0; n < 300; n++)); do say start 8 cpus=1 millicpus=$((1 + n % 2)) sized=$((T + 100 + n)); done
	say final 8 t0=$T t1=$((T + 3600)) ended=$((T + 3600)) "$used" cpus=1 millicpus=2
} | take
settle
is "a pod that is resized without end has a bounded history" "$(sql "SELECT cardinality(earlier_until), cardinality(earlier_millicpus), millicpus FROM unit_node WHERE instance = 8")" "256|256|2"
late() { say start 9 cpus=1 millicpus=100 sized=$((T + 1800)); }
say start 9 | take
settle
late | take
settle
is "what it requests may be known later than that it runs" "$(row 9 | cut -d'|' -f1-4)" "1|100|1|100"
marks=$(psql_do <<'E'
BEGIN;
INSERT INTO unit_node (instance, node, uuid, restarts, started, last_t1) SELECT 20, node, 'old', 0, now() - interval '30 days', now() FROM unit_node LIMIT 1;
SELECT ingest_sizes_staging();
INSERT INTO in_size VALUES (1, 20, 250, now());
SELECT ingest_sizes();
SELECT count(*) FROM dirty WHERE instance = 20;
ROLLBACK;
E
)
is "what is first told of a pod that has run for a month has its last day summed again, not all of it" "$((24 - $(xargs <<<"$marks") <= 0 && $(xargs <<<"$marks") < 27))" 1

# ---- nodes that do not know what pods request, or only in whole CPUs, beside an API server that does
server() { # INSTANCE MILLICPUS: it shows the pod
	sql "SELECT changed, made FROM k8s_pods((SELECT id FROM cluster WHERE name = 'k1'), jsonb_build_array(jsonb_build_object('uid', '$(pod "$1")', 'namespace', 'web',
		'name', 'p$1', 'created_s', $T, 'started_s', $T, 'phase', 'Running', 'cpus', ($2 + 999) / 1000, 'millicpus', $2)), false)" >>server.log
}
hour 10 | take
settle
server 10 250
server 11 250
server 12 500
{
	hour 11 cpus=1
	hour 12 cpus=1 millicpus=250
	say start 13 cpus=1
} | take
settle
server 12 500
server 13 250
settle
is "a node that knows no CPUs has the API server's, for its whole time" "$(row 10)" "1|250|1|250|900"
is "an older ceemsd, which has whole ones, has the API server's parts" "$(row 11)" "1|250|1|250|900"
is "a node's own count stays" "$(row 12)" "1|250|1|250|900"
server 13 1500
settle
is "what only the API server knows may change" "$(row 13 | cut -d'|' -f1-4)" "2|1500|2|1500"
say final 13 t0=$T t1=$((T + 3600)) ended=$((T + 3600)) "$used" cpus=1 millicpus=250 | take
settle
is "a node that learns it has its own" "$(row 13)" "1|250|1|250|900"
tap_done
