#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A Thanos store with nothing but samples of five minutes (downsampled blocks of eight days) behind ceems_lb: owners have the server's
# own answers; of a number that was alice's and then bob's neither has a sample of the other's by any step, function or
# resolution, though one of these samples is of both; and a partial answer says so. Thanos is built from its Go module.
# timeout 3600
. "$(dirname "$0")/../tap.sh"
dir=$("$TOP/test/rig/go_program" make thanos 2>"$SCRATCH/said") || skip_all "$dir"
PATH=$dir:$PATH ENGINE=thanos_store
now=$(date +%s)
turn=$(((now - 4 * 86400) / 300 * 300 + 137)) # when 103 became bob's: within five minutes
awk -v to="$now" -v turn="$turn" 'BEGIN {
	n = split("101 102 103", unit, " ")
	print "# TYPE ceems_compute_unit_memory_used_bytes gauge"
	for (i = 1; i <= n; i++)
		for (t = to - 8 * 86400; t <= to - 7200; t += 60)
			printf "ceems_compute_unit_memory_used_bytes{ceems_id=\"alpha\",uuid=\"%s\"} %d %d\n", unit[i],
				unit[i] == 101 ? 1 + t % 7 : unit[i] == 102 ? 66602 : t < turn ? 3 : 66603, t
	print "# EOF" }' >"$SCRATCH/data.om"
. "$TOP/test/owned.sh"
psql_do -c "UPDATE unit SET submitted = now() - interval '9 days', started = now() - interval '9 days', ended = CASE WHEN uuid = '103' THEN to_timestamp($turn) END" \
	-c "INSERT INTO unit (cluster, uuid, submitted, known_by, person, started) SELECT 1, '103', to_timestamp($turn), 'jobcomp', id, to_timestamp($turn) FROM person WHERE name = 'bob' AND cluster = 1"
lb_begin ''
direct() { curl -sg -m 100 "http://127.0.0.1:$engine_port/api/v1/$1" "${@:2}"; }
range=(-d "start=$((turn - 86400))" -d "end=$((turn + 86400))" -d step=3600)
query() { printf -- 'query=%s' "$1"; }

want=$(direct query_range "${range[@]}" --data-urlencode "$(query "$M{uuid=\"101\"}")" | jq -cS .data)
like "the server has downsampled series alone" "$(ls bucket | wc -l) $(jq '.result[0].values | length' <<<"$want")" '^[1-9][0-9]* 49$'
is "their owner has the server's own answer" "$(as alice /api/v1/query_range "${range[@]}" --data-urlencode "$(query "$M{uuid=\"101\"}")" | jq -cS '.data // .error')" "$want"
is "another's is refused" "$(as alice /api/v1/query_range "${range[@]}" --data-urlencode "$(query "$M{uuid=\"102\"}")" | jq -r .errorType)" forbidden

# around the turn: alice may see 3, bob 66603; a sum of both is more than 66603 a sample, an average is between
bad='' n=0 told=0
for step in 60 300 1500 3600 21600; do
	for f in "$M{uuid=\"103\"}" "max_over_time($M{uuid=\"103\"}[5m])" "min_over_time($M{uuid=\"103\"}[1h])" "avg_over_time($M{uuid=\"103\"}[10m])"; do
		for more in '' '&max_source_resolution=1h&dedup=false'; do
			for off in -86400 -7200 -600 -300 -137 -60 0 60 163 300 600 3600 7200 86400; do
				for who in alice bob; do
					n=$((n + 1))
					[ $who = alice ] && from=$((turn + off - 2 * step)) to=$((turn + off)) || from=$((turn + off)) to=$((turn + off + 2 * step))
					got=$(as $who "/api/v1/query_range?start=$from&end=$to&step=$step$more" -G --data-urlencode "$(query "$f")" | jq -r '.data.result[]?.values[][1]' | sort -u | xargs)
					case $who:$got in *:) ;; alice:3 | bob:66603) told=$((told + 1)) ;; *) bad="$bad $who:$f:$step:$off:$more:$got" ;; esac
				done
			done
		done
	done
done
is "of $n ranges around the turn none tells one the other's samples" "$bad" ""
ok "though $told tell their own" [ $told -gt $((n / 20)) ]

# ---- a store that is gone
kill9 "$engine_store"
partial() { direct query_range "${range[@]}" --data-urlencode "$(query "$M{uuid=\"101\"}")" | jq -e '.warnings | length > 0' >/dev/null; }
ok "without its store the server's answer is partial" wait_for 60 partial
like "which its owner is told" "$(as alice /api/v1/query_range "${range[@]}" --data-urlencode "$(query "$M{uuid=\"101\"}")" | jq -c '[.status, .warnings[0]]')" '\["success",".+"\]'
tap_done
