#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real Prometheus scrapes one and the same snapshot in both formats and stores identical
# series. It always prefers OpenMetrics, so the second job goes through a little proxy that
# asks for text instead. The server is held still (fixture files, a slow-changing process)
# except for what differs by nature between two requests, which is filtered by name.
. "$(dirname "$0")/../tap.sh"
command -v prometheus >/dev/null || skip_all "prometheus is not installed"
command -v curl >/dev/null && command -v jq >/dev/null || skip_all "curl and jq are needed"
[ -x "$BUILD/web_host" ] && [ -x "$BUILD/accept_proxy" ] || skip_all "web_host is not built"

mkfifo "$SCRATCH/in"
"$BUILD/web_host" --all test/fixture/node_x86 127.0.0.1:0 <"$SCRATCH/in" >"$SCRATCH/out" 2>"$SCRATCH/web.log" &
started $!
exec {IN}>"$SCRATCH/in"
wait_for 10 grep -q ^ready "$SCRATCH/out"
port=$(sed 's/^ready //' "$SCRATCH/out")
"$BUILD/accept_proxy" "$port" "text/plain;version=0.0.4" >"$SCRATCH/proxy.out" &
started $!
wait_for 10 grep -q ^ready "$SCRATCH/proxy.out"
text_port=$(sed 's/^ready //' "$SCRATCH/proxy.out")

like "the proxy gets the text format for whoever prefers OpenMetrics" \
	"$(curl -s -o /dev/null -w '%{content_type}' -H 'Accept: application/openmetrics-text' "http://127.0.0.1:$text_port/metrics")" '^text/plain'

pport=$(free_port)
cat >"$SCRATCH/prometheus.yml" <<END
global: {scrape_interval: 3s, scrape_timeout: 3s}
scrape_configs:
- job_name: openmetrics
  static_configs: [{targets: ["127.0.0.1:$port"], labels: {instance: x}}]
- job_name: text
  static_configs: [{targets: ["127.0.0.1:$text_port"], labels: {instance: x}}]
END
prometheus --config.file="$SCRATCH/prometheus.yml" --storage.tsdb.path="$SCRATCH/data" \
	--web.listen-address="127.0.0.1:$pport" >"$SCRATCH/prometheus.log" 2>&1 &
started $!
P=http://127.0.0.1:$pport
query() { curl -s -m 100 --get --data-urlencode "query=$1" "$P/api/v1/query"; }
both_up() { [ "$(query 'sum(min_over_time(up[9s]))' | jq -r '.data.result[0].value[1]')" = 2 ]; }
ok "both are scraped" wait_for 60 both_up

# name, labels and value of every series of a job, without the job and what scraping adds
series() {
	query "{job=\"$1\",__name__!~\"up|scrape_.*|promhttp_.*|process_.*|ceems_scrape_collector_duration_seconds\"}" |
		jq -r '.data.result[] | (.metric | del(.job) | to_entries | sort_by(.key) | map("\(.key)=\(.value)") | join(",")) + " " + .value[1]' | LC_ALL=C sort
}
# the same of what changes from request to request: names and labels alone
shapes() {
	query "{job=\"$1\",__name__=~\"promhttp_.*|process_.*|ceems_scrape_collector_duration_seconds\"}" |
		jq -r '.data.result[] | .metric | del(.job) | to_entries | sort_by(.key) | map("\(.key)=\(.value)") | join(",")' | LC_ALL=C sort
}
# (one of them may just be between two scrapes)
same() { series openmetrics >"$SCRATCH/om"; series text >"$SCRATCH/text"; test -s "$SCRATCH/om" && cmp "$SCRATCH/om" "$SCRATCH/text"; }
wait_for 30 same
is "both formats give identical series and values" "$(diff "$SCRATCH/om" "$SCRATCH/text" | head -5)" ""
ok "there are many of them ($(wc -l <"$SCRATCH/om"))" test "$(wc -l <"$SCRATCH/om")" -gt 100
same_shapes() { of_one=$(shapes openmetrics) of_other=$(shapes text); [ -n "$of_one" ] && [ "$of_one" = "$of_other" ]; }
wait_for 30 same_shapes
is "and identical names and labels of what changes by itself" "$of_one" "$of_other"
ok "of which there are some" test "$(shapes text | wc -l)" -ge 8
is "no sample was thrown away" \
	"$(query 'sum(scrape_samples_scraped - scrape_samples_post_metric_relabeling)' | jq -r '.data.result[0].value[1]')" 0
is "Prometheus complains of nothing" "$(grep -cE 'level=(warn|error)' "$SCRATCH/prometheus.log")" 0
# what was stored is what was sent, to the last digit
sent=$(curl -s "http://127.0.0.1:$port/metrics" | sed -n 's/^ceems_netdev_receive_bytes_total{.*device="enp3s0f0np0"} //p')
is "a value arrives as it was sent" \
	"$(query 'ceems_netdev_receive_bytes_total{job="text",device="enp3s0f0np0"}' | jq -r '.data.result[0].value[1]')" "$sent"
tap_done
