#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The dashboards of contrib/grafana: they are what the generator makes; their structure, links,
# variables and names of metrics are right; every query parses in both dialects, and those for
# users can be proved; provisioning is what Grafana reads.
. "$(dirname "$0")/../tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -x "$BUILD/promql_prove" ] || skip_all "promql_prove was not built here"
export BUILD PYTHONDONTWRITEBYTECODE=1
kept=contrib/grafana/dashboards
docs="doc/metrics.md doc/aggregator.md doc/redfish_proxy.md"
[ ! -f doc/lb.md ] || docs+=" doc/lb.md"

ok "they can be generated" python3 contrib/grafana/generate "$SCRATCH/made"
is "what is kept is what is generated" "$(diff -r "$SCRATCH/made" $kept | head -5)" ""
ok "there are pages for users and for operators" test "$(ls $kept/user | wc -l)" -ge 7 -a "$(ls $kept/operator | wc -l)" -ge 4
# shellcheck disable=SC2086
is "nothing is wrong with them" "$(python3 test/grafana.py check $kept $docs 2>&1 | head -20)" ""

is "emissions begin with a provider that the aggregator has" \
	"$(cat $kept/*/*.json | jq -r '.templating.list[]? | select(.name == "provider") | .type + " " + .query.infinityQuery.url' | sort -u)" "query /api/v1/emissions/factors"
is "units that ended are counted over their hour, not guessed from a rate" \
	"$(cat $kept/*/*.json | jq -r '.. | objects | .expr? // empty | select(contains("ceems_units_ended_total"))' | LC_ALL=C sort -u)" \
	$'sum by (state) (increase(ceems_units_ended_total[1h]))\nsum by (state) (increase(ceems_units_ended_total{hostname="$node"}[1h]))'
# Grafana's sum of no values is 0
is "energy and emissions that are not known are no 0 kWh and no 0 g" "$(cat $kept/*/*.json | jq -rc '.panels[]? | select(.type == "stat" and .options.reduceOptions.calcs == ["sum"] and (.fieldConfig.defaults.unit | IN("kwatth", "massg")))
	| [.fieldConfig.overrides[] | .matcher.options + " " + .properties[].value[0].options."0".text]' | sort -u)" '["CO2e –"]
["Host energy –","GPU energy –"]'
is "grams of each provider that the programs know can be shown" \
	"$(jq -r '.panels[]? | select(.title == "Emissions" and .type == "stat") | .targets[].columns[].selector' $kept/user/ceems-my-jobs.json | sed 's/^grams\.//' | LC_ALL=C sort | paste -sd' ')" \
	"$(sed -n '/emission_providers\[\] = /,/^};/p' lib/emissions/emission.c | grep -o '{"[a-z]*"' | tr -d '{"' | LC_ALL=C sort | paste -sd' ')"
is "what is asked about one unit is asked by its name" "$(cat $kept/*/*.json | jq -rc 'select(.uid | IN("ceems-job", "ceems-vm", "ceems-pod", "ceems-op-unit")) | .panels[]? |
	select(.type == "stat") | .targets[] | .url // empty' | sort -u)" '/api/v1/units/${cluster}/${uuid}'

shown() { grep -o '(grafana-[a-z-]*\.png)' doc/grafana.md | tr -d '()' | sort; }
is "pictures in doc/ are those that are shown" "$(shown)" "$(cd doc && ls grafana-*.png)"

# the check can fail
broken() { # sed program, file, what is said
	rm -rf "$SCRATCH/bad"
	cp -r $kept "$SCRATCH/bad"
	sed -i "$1" "$SCRATCH/bad/$2"
	cmp -s "$SCRATCH/bad/$2" "$kept/$2" && { echo "the test changed nothing"; return; }
	# shellcheck disable=SC2086
	python3 test/grafana.py check "$SCRATCH/bad" $docs 2>&1 | head -1
}
like "a query without its unit is refused" \
	"$(broken 's/ceems_compute_unit_memory_rss_bytes{uuid=[^,]*,/ceems_compute_unit_memory_rss_bytes{/' user/ceems-job.json)" 'Memory: .*refused'
like "a metric that is nowhere documented is seen" "$(broken 's/ceems_compute_unit_memory_rss_bytes/ceems_unheard_of/' user/ceems-job.json)" 'ceems_unheard_of is not documented'
like "a query that does not parse is seen" "$(broken '0,/"expr": "sum(/s//"expr": "sum((/' user/ceems-job.json)" 'parse error'
like "a link to nowhere is seen" "$(broken 's,/d/ceems-job?,/d/ceems-jab?,' user/ceems-my-jobs.json)" 'ceems-jab, which is not there'
like "an aggregate in a URL is seen" "$(broken 's/&var-cluster=/\&var-cpu_usage=1\&var-cluster=/' user/ceems-my-jobs.json)" 'hands cpu_usage on by its URL'
like "increase() of a job's counter is seen" "$(broken 's/max_over_time(ceems_compute_unit_cpu_user/increase(ceems_compute_unit_cpu_user/' user/ceems-job.json)" 'increase..'
like "an operator's endpoint on a user's page is seen" "$(broken 's,/api/v1/usage/current",/api/v1/usage/current/admin",' user/ceems-my-jobs.json)" 'is not for users'
like "a variable that nobody defines is seen" "$(broken 's/\$host/$hast/' user/ceems-job.json)" '\$hast is no variable'

# ---- provisioning
if ! python3 -c 'import yaml' 2>/dev/null; then
	skip "the provisioned sources are those of the dashboards" "python3 has no yaml"
else
	sources() { python3 - "$1" <<-'END'
		import re, sys, yaml
		have = yaml.safe_load(open(sys.argv[1]))["datasources"]
		for d in have:
		    print(d["type"], d["access"], bool(re.match("^CEEMS", d["name"])), "header" if "httpHeaderName1" in d["jsonData"] else "",
		          " ".join(str(h.endswith("/api/v1/")) for h in d["jsonData"].get("allowedHosts", [])))
		END
	}
	want=$'prometheus proxy True header \ngrafana-pyroscope-datasource proxy True header \nyesoreyeram-infinity-datasource proxy True header True'
	for f in contrib/grafana/provisioning/datasources/*; do
		is "its sources are those of the dashboards, and passwords go to no other host: ${f##*/}" "$(sources "$f")" "$want"
	done
	is "dashboards are where they are installed" "$(sed -n 's/^ *path: //p' contrib/grafana/provisioning/dashboards/ceems.yaml | paste -sd' ')" \
		"/usr/share/ceems/grafana/dashboards/user /usr/share/ceems/grafana/dashboards/operator"
fi
tap_done
