#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What only Prometheus 3 has, with data of it in a real one behind ceems_lb: native histograms, and names of metrics and labels
# in UTF-8. Their owner has the server's own answer, and nobody has what is of others. Prometheus is built from its Go module.
# timeout 3600
. "$(dirname "$0")/../tap.sh"
dir=$("$TOP/test/rig/go_program" make prometheus3 2>"$SCRATCH/said") || skip_all "$dir"
PATH=$dir:$PATH ENGINE=prometheus3

# what it scrapes is a file; 666.. is bob's
mkdir "$SCRATCH/exporter"
awk 'BEGIN {
	split("101 102", uuid, " "); split("41 66603", degrees, " "); split("5 66604", seconds, " "); split("a 1,b 666", row, ",")
	print "# TYPE \"ceems.unit.temperature\" gauge"
	for (i = 1; i <= 2; i++)
		printf "{\"ceems.unit.temperature\",\"uuid\"=\"%s\",\"rack.row\"=\"%s\"} %s\n", uuid[i], row[i], degrees[i]
	print "# TYPE ceems_unit_wait_seconds histogram"
	for (i = 1; i <= 2; i++) {
		printf "ceems_unit_wait_seconds_bucket{uuid=\"%s\",le=\"1\"} 3\nceems_unit_wait_seconds_bucket{uuid=\"%s\",le=\"2\"} 4\n", uuid[i], uuid[i]
		printf "ceems_unit_wait_seconds_bucket{uuid=\"%s\",le=\"+Inf\"} 4\n", uuid[i]
		printf "ceems_unit_wait_seconds_sum{uuid=\"%s\"} %s\nceems_unit_wait_seconds_count{uuid=\"%s\"} 4\n", uuid[i], seconds[i], uuid[i]
	}
}' >"$SCRATCH/exporter/metrics"
exporter=$(free_port)
(cd "$SCRATCH/exporter" && exec python3 -m http.server --bind 127.0.0.1 "$exporter" >"$SCRATCH/exporter.log" 2>&1) &
started $!
engine_scrape="scrape_configs:
  - job_name: exporter
    scrape_interval: 1s
    scrape_protocols: [PrometheusText1.0.0]
    fallback_scrape_protocol: PrometheusText1.0.0
    convert_classic_histograms_to_nhcb: true
    static_configs: [{targets: ['127.0.0.1:$exporter'], labels: {ceems_id: alpha}}]"
. "$TOP/test/owned.sh"
lb_begin 'families: [{metric: "ceems.unit.temperature", label: uuid}]'
scraped() { at=$(curl -s "http://127.0.0.1:$engine_port/api/v1/query" --data-urlencode 'query=timestamp({"ceems.unit.temperature",uuid="102"}) and count_over_time({"ceems.unit.temperature"}[1m]) > 3' | jq -er '.data.result[0].value[1]'); }
ok "Prometheus 3 has scraped them" wait_for 30 scraped || sed 's/^/# /' prom.log
direct() { curl -s "http://127.0.0.1:$engine_port/api/v1/query" -d "time=$at" --data-urlencode "query=$1" | jq -cS .data; }
answer() { as "$1" /api/v1/query -d "time=$at" --data-urlencode "query=$2" | jq -cS '.data // .error'; }
code() { as "$1" /api/v1/query -o body -w '%{http_code}' -d "time=$at" --data-urlencode "query=$2"; }

W=ceems_unit_wait_seconds
like "a histogram is one sample there" "$(direct "$W{uuid=\"101\"}")" '"histogram":\[.*"buckets"'
bad='' n=0
while IFS= read -r q; do
	n=$((n + 1))
	want=$(direct "$q") got=$(answer alice "$q")
	[ "$(jq '.result | length' <<<"$want")" = 1 ] && [ "$got" = "$want" ] || bad="$bad $q: $got"
done <<E
$W{uuid="101"}
histogram_quantile(0.5, $W{uuid="101"})
histogram_count($W{uuid="101"})
histogram_avg(sum($W{uuid="101"}))
histogram_fraction(0, 1, $W{uuid="101"})
max_over_time(histogram_sum($W{uuid="101"})[10s:1s])
{"ceems.unit.temperature",uuid="101"}
{"ceems.unit.temperature","uuid"="101","rack.row"=~"a.*"}
sum by ("rack.row") ({"ceems.unit.temperature",uuid="101"})
{__name__="ceems.unit.temperature",uuid="101"}
label_replace({"ceems.unit.temperature",uuid="101"}, "row.of", "\$1", "rack.row", "(.*)")
E
is "their owner has the server's own answer to each of $n queries" "$bad" ""
bad='' n=0
while IFS= read -r q; do
	n=$((n + 1))
	c=$(code alice "$q")
	[ "$c" != 200 ] && ! grep -q 666 body || bad="$bad $q"
done <<E
$W{uuid="102"}
$W
histogram_sum($W{uuid=~"101|102"})
histogram_quantile(0.5, sum($W))
{"ceems.unit.temperature",uuid="102"}
{"ceems.unit.temperature","rack.row"="b 666"}
{"ceems.unit.temperature"}
count by ("rack.row") ({"ceems.unit.temperature"})
{"ceems.unit.temperature",uuid="101"} or {"ceems.unit.temperature","uuid"="102"}
{"ceems.unit.temperature",uuid="101"} + on () group_left ("rack.row") {"ceems.unit.temperature",uuid="102"}
info({"ceems.unit.temperature",uuid="101"}, {"rack.row"=~".+"})
label_replace({"ceems.unit.temperature",uuid="102"}, "uuid", "101", "rack.row", ".*")
E
is "nobody else has any of theirs by $n others" "$bad" ""
is "values of a label with a dot, by its escaped name, are one's own" "$(as alice /api/v1/label/U__rack_2e_row/values | jq -c '.data // .error')" '["a 1"]'
is "other ways of writing it are refused" "$(for name in rack.row rack%2Erow %22rack.row%22; do as alice "/api/v1/label/$name/values" -o /dev/null -w '%{http_code}\n'; done | xargs)" "403 400 403"
is "series, too" "$(as alice /api/v1/series --data-urlencode 'match[]={"ceems.unit.temperature",uuid="101"}' | jq -c '[.data[]?."rack.row"]') $(as alice /api/v1/series -o /dev/null -w '%{http_code}' --data-urlencode 'match[]={"rack.row"="b 666"}')" '["a 1"] 403'
is "names of labels and metrics have their dots" "$(for of in labels label/__name__/values; do as alice "/api/v1/$of" | jq -c '[.data[]? | select(contains("."))]'; done | xargs -d '\n')" \
	'["rack.row"] ["ceems.unit.temperature"]'
like "a range of histograms is one, too" "$(as alice /api/v1/query_range -d "start=$((${at%.*} - 1))&end=${at%.*}&step=1" --data-urlencode "query=$W{uuid=\"101\"}" | jq -c '.data.result[0] // .error')" '"histograms":\['
tap_done
