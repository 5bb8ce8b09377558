#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Our PromQL beside a real Prometheus 2.42: thousands of written and random queries are
# accepted or refused by both, and what we print gives the same answer as what was asked, on a
# Prometheus with data. QUERIES=N random ones (3000), SEED=N.
. "$(dirname "$0")/../tap.sh"
command -v prometheus >/dev/null || skip_all "prometheus is not installed"
command -v promtool >/dev/null || skip_all "promtool is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
version=$(prometheus --version 2>&1 | sed -n 's/^prometheus, version \([0-9]*\.[0-9]*\).*/\1/p')
[ "$version" = 2.42 ] || skip_all "Prometheus $version is not the one that the dialect is made for, 2.42"
random=${QUERIES:-3000} seed=${SEED:-42}
echo "# SEED=$seed"

# data: an hour of a few series with names that the queries have
end=$(date +%s) start=$((end - 3600))
awk -v from=$start -v to=$end 'BEGIN {
	split("foo bar up x a1_b sum by offset ceems_compute_unit_cpu_user_seconds_total", name, " ")
	for (n = 1; n <= 8; n++) {
		print "# TYPE " name[n] " gauge"
		for (s = 0; s < 3; s++)
			for (t = from; t <= to; t += 30)
				printf "%s{a=\"%s\",b=\"%s\",uuid=\"%d\",job=\"j%d\"} %.3f %d\n", name[n],
					s ? "b" : "a", s, s * 11 + 1, s % 2, (t - from) * (s + 1) / (n + 1) % 97, t
	}
	print "# EOF" }' >"$SCRATCH/data.om"
promtool tsdb create-blocks-from openmetrics "$SCRATCH/data.om" "$SCRATCH/tsdb" >/dev/null 2>&1 ||
	{ ok "data for Prometheus" false; tap_done; }
printf 'scrape_configs: []\n' >"$SCRATCH/prometheus.yml"
port=$(free_port) || exit 1
prometheus --config.file="$SCRATCH/prometheus.yml" --storage.tsdb.path="$SCRATCH/tsdb" --log.level=error \
	--web.listen-address="127.0.0.1:$port" --storage.tsdb.retention.time=10y >"$SCRATCH/prometheus.log" 2>&1 </dev/null &
started $!
url=http://127.0.0.1:$port
ok "Prometheus starts" wait_for 20 curl -sf "$url/-/ready"

# the queries, one file each: written ones, then random ones that are UTF-8 (curl sends files as they are)
mkdir "$SCRATCH/q" "$SCRATCH/p" "$SCRATCH/their"
n=0
while IFS= read -r -d '' query; do
	printf '%s' "$query" >"$SCRATCH/q/$n"
	n=$((n + 1))
done < <(tr '\n' '\0' <test/fixture/promql/queries.txt; "$BUILD/promql_random" "$seed" "$random")
written=$(wc -l <test/fixture/promql/queries.txt)
ok "more than 2000 queries: $written written, $random by chance" test $n -gt 2000

# ask PATH FROM TO [FIELD]: each file of folder FROM as the query, answers into folder TO, by one curl
ask() {
	local f first=1
	for f in "$SCRATCH/$2"/*; do
		[ $first = 1 ] || echo next
		first=0
		printf 'url = "%s%s"\nsilent\ndata-urlencode = "query@%s"\noutput = "%s/%s"\n' \
			"$url" "$1" "$f" "$SCRATCH/$3" "${f##*/}"
		[ -z "${4:-}" ] || printf 'data-urlencode = "%s"\n' "$4"
	done >"$SCRATCH/curl.conf"
	curl -K "$SCRATCH/curl.conf"
}
ask /api/v1/format_query q their
# one line each: number, + or -
verdicts() { (cd "$SCRATCH/their" && jq -r '"\(input_filename) \(if .status == "success" then "+" else "-" end)"' *) | sort -n; }
verdicts >"$SCRATCH/theirs"
i=0
for ((i = 0; i < n; i++)); do IFS= read -rd '' query <"$SCRATCH/q/$i"; printf '%s\0' "$query"; done | "$BUILD/promql_print" >"$SCRATCH/printed"
i=0
while IFS= read -r -d '' line; do
	echo "$i ${line:0:1}"
	[ "${line:0:1}" != + ] || printf '%s' "${line:1}" >"$SCRATCH/p/$i"
	i=$((i + 1))
done <"$SCRATCH/printed" >"$SCRATCH/ours"
is "each got an answer" "$(wc -l <"$SCRATCH/ours") $(wc -l <"$SCRATCH/theirs")" "$n $n"
accepted=$(grep -c + "$SCRATCH/theirs")
ok "many are accepted ($accepted) and many refused" test "$accepted" -gt $((n / 4)) -a "$accepted" -lt $((n * 9 / 10))
is "Prometheus and we accept the same" "$(diff "$SCRATCH/ours" "$SCRATCH/theirs" | grep -c '^<')" 0
diff "$SCRATCH/ours" "$SCRATCH/theirs" | sed -n 's/^< \([0-9]*\) .*/\1/p' | head -20 | while read -r i; do
	echo "# ours $(sed -n "$((i + 1))p" "$SCRATCH/ours"): $(tr '\n' ' ' <"$SCRATCH/q/$i")"
	echo "#   theirs: $(cut -c1-200 "$SCRATCH/their/$i")"
done

# the same answers
rm -rf "$SCRATCH/their" && mkdir "$SCRATCH/their" "$SCRATCH/ours.answer"
find "$SCRATCH/q" -type f | while read -r f; do [ -e "$SCRATCH/p/${f##*/}" ] || echo "$f"; done | xargs -r rm
ask /api/v1/query q their "time=$((end - 60))"
ask /api/v1/query p ours.answer "time=$((end - 60))"
answers() {
	(cd "$1" && jq -cS '{ f: input_filename, status, type: .data.resultType, error: (.errorType // ""),
		result: (if (.data.result | type) == "array" and .data.resultType != "scalar" and .data.resultType != "string"
			then (.data.result | sort_by(.metric | tostring)) else .data.result end) }' *)
}
answers "$SCRATCH/their" | sort >"$SCRATCH/a"
answers "$SCRATCH/ours.answer" | sort >"$SCRATCH/b"
is "each printed query is answered" "$(wc -l <"$SCRATCH/b")" "$accepted"
with_data=$(grep -c '"value' "$SCRATCH/a")
ok "many with data ($with_data)" test "$with_data" -gt 100
is "with what the original gives" "$(diff "$SCRATCH/a" "$SCRATCH/b" | grep -c '^<')" 0
diff "$SCRATCH/a" "$SCRATCH/b" | sed -n 's/^< {.*"f":"\([0-9]*\)".*/\1/p' | head -5 | while read -r i; do
	echo "# $(tr '\n' ' ' <"$SCRATCH/q/$i")"
	echo "#   printed $(tr '\n' ' ' <"$SCRATCH/p/$i")"
done
tap_done
