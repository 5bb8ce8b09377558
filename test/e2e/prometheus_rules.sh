#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `ceems_tool prometheus` prints: accepted by Prometheus' own promtool, and right for series
# whose result is known.
. "$(dirname "$0")/../tap.sh"
command -v promtool >/dev/null || skip_all "promtool is not installed"
tool=$BUILD/ceems_tool
[ -x "$tool" ] || skip_all "ceems_tool is not built"

known() { # fixture option...
	local name=$1; shift
	"$tool" prometheus rules "$@" >"$SCRATCH/$name.rules" || return 1
	sed "s|^rule_files:.*|rule_files: [$SCRATCH/$name.rules]|" "$TOP/test/fixture/rules/$name.yaml" >"$SCRATCH/$name.yaml"
	promtool check rules "$SCRATCH/$name.rules" >"$SCRATCH/$name.out" 2>&1 &&
		promtool test rules "$SCRATCH/$name.yaml" >>"$SCRATCH/$name.out" 2>&1 || { sed 's/^/# /' "$SCRATCH/$name.out"; return 1; }
}
alerts() {
	"$tool" prometheus alerts >"$SCRATCH/alerts.rules" && cmp "$SCRATCH/alerts.rules" contrib/prometheus/alerts.yaml &&
		sed "s|^rule_files:.*|rule_files: [$SCRATCH/alerts.rules]|" test/fixture/rules/alerts.yaml >"$SCRATCH/alerts.yaml" &&
		promtool check rules "$SCRATCH/alerts.rules" >"$SCRATCH/alerts.out" 2>&1 &&
		promtool test rules "$SCRATCH/alerts.yaml" >>"$SCRATCH/alerts.out" 2>&1 || { sed 's/^/# /' "$SCRATCH/alerts.out"; return 1; }
}
syntax() { promtool check config --syntax-only "$1" >/dev/null; }
ok "power, usage and grams by the factors of a zone" known host --pue=1.25 --country-code=FR
ok "grams by each node's own factor" known factor --pue 1.25
ok "GPUs that ceemsd reads itself" known own --pue=1.25
ok "GPUs by dcgm-exporter: whole, divided, shared" known dcgm --pue=1.25 --gpu=dcgm
ok "GPUs by AMD's SMI exporter on two nodes" known amd-smi --pue=1.25 --gpu=amd-smi
ok "GPUs by AMD's device-metrics-exporter, partitioned" known amd-device-metrics --pue=1.25 --gpu=amd-device-metrics
sed -i 's/value: 2.5}/value: 2.6}/' "$SCRATCH/host.yaml"
ok "a wrong result would be seen" eval "! promtool test rules $SCRATCH/host.yaml >/dev/null 2>&1"
ok "every alert rings when it should, and only then" alerts
for a in $(sed -n 's/.*- alert: //p' contrib/prometheus/alerts.yaml); do grep -q "alertname=\"$a\"" test/fixture/rules/alerts.yaml || echo "$a"; done >"$SCRATCH/untested"
for m in $(grep -ohE '\bceems_[a-z_]+' <(grep -vE 'summary:|description:' contrib/prometheus/alerts.yaml) | sort -u); do
	grep -rqF "\"$m\"" daemon lib lb aggregator courier || grep -rqF "\`$m\`" doc/metrics.md || echo "$m"
done >"$SCRATCH/unheard"
is "each asks for metrics that there are" "$(cat "$SCRATCH/unheard")" ""
is "none is untested" "$(cat "$SCRATCH/untested")" ""
is "the window is four scrapes" "$("$tool" prometheus rules --scrape-interval 15s | grep -c '\[60s\]')" "$(grep -c '@WINDOW@\]' <(sed -n '/^#@ head/,/^#@ dcgm/p' contrib/prometheus/rules.in))"

# ---- what the peer's pages ask for: names and labels that are recorded, or exported by doc/metrics.md
recorded() { sed -n 's/.*- record: \([^ ]*\).*/\1/p' "$SCRATCH/$1.rules"; }
while read -r kind name labels; do
	case $kind in
	R) recorded dcgm | grep -qxF "$name" || echo "$name" ;;
	[CG])
		row=$(grep -F "| \`$name\` | $kind |" doc/metrics.md | cut -d'|' -f4)
		[ -n "$row" ] || echo "$name"
		# instance and job are Prometheus'
		for l in $labels; do case "$row, U=manager, hostname, uuid" in *"$l"*) ;; *) [ "$l" = instance ] || echo "$name{$l}" ;; esac; done
		;;
	esac
done <test/fixture/rules/peer_names >"$SCRATCH/missing"
is "names that the peer's pages of one unit ask for are there" "$(cat "$SCRATCH/missing")" ""
of_cluster="job:ceems_cpu_memory_usage:avg_ratio job:ceems_cpu_usage:avg_ratio_irate job:ceems_host_power_watts:pue job:ceems_host_emissions_g_s:pue
	job:ceems_gpu_memory_usage:avg_ratio job:ceems_gpu_usage:avg job:ceems_gpu_power_watts:pue job:ceems_gpu_emissions_g_s:pue"
for f in host factor own dcgm amd-smi amd-device-metrics; do
	for name in $of_cluster; do recorded $f | grep -qxF "$name" || echo "$f: $name"; done
done >"$SCRATCH/missing"
is "so are those of its page of the cluster, whoever reads the GPUs" "$(cat "$SCRATCH/missing")" ""
like "of a zone whose name is a word of YAML" "$("$tool" prometheus rules --country-code=NO)" 'country_code: "NO"'

for kind in dcgm amd-smi amd-device-metrics; do
	{ printf 'scrape_configs:\n  - job_name: x\n'; "$tool" prometheus relabel $kind | sed 's/^/    /'; } >"$SCRATCH/p.yaml"
	ok "its syntax is right: $kind" syntax "$SCRATCH/p.yaml"
done
"$tool" prometheus scrape-config --cluster 'a "b"' node001:9010 '[fd00::1]:9010' >"$SCRATCH/s.yaml"
ok "Prometheus takes the scrape job" syntax "$SCRATCH/s.yaml"
for bad in "rules --pue 0.5" "rules --gpu voodoo" "rules --country-code fr" "rules --scrape-interval 0" "rules x" "alerts x" "relabel" "relabel x" "scrape-config" "scrape-config a/b" \
	"rules --country-code=FR --providers=a:b"; do
	# shellcheck disable=SC2086
	"$tool" prometheus $bad >"$SCRATCH/out" 2>"$SCRATCH/err"
	is "refused, one line and no output: $bad" "$? $(grep -c . "$SCRATCH/err") $(cat "$SCRATCH/out")" "3 1 "
done
tap_done
