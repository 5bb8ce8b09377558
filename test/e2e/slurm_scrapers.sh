#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real Prometheus every second, curl every three, and others at any time: each of them sees
# every job with its final counters, and an ended job stays for three of the longest gaps.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm
command -v prometheus >/dev/null || skip_all "prometheus is not installed"

node=scrape$$
rig_start --nodes=$node
ceemsd_start
ok "ceemsd starts" wait_for 20 ceemsd_up
truth_start

port=$(free_port) || exit 1
prometheus=http://127.0.0.1:$port
mkdir "$SCRATCH/prometheus"
cat >"$SCRATCH/prometheus/config.yaml" <<-END
	global: { scrape_interval: 1s, scrape_timeout: 1s }
	scrape_configs:
	  - job_name: ceems
	    static_configs: [{ targets: ["${CEEMSD_URL#http://}"] }]
END
chown -R nobody:nogroup "$SCRATCH/prometheus"
setpriv --reuid nobody --regid nogroup --clear-groups "$(command -v prometheus)" \
	--config.file="$SCRATCH/prometheus/config.yaml" --storage.tsdb.path="$SCRATCH/prometheus/data" \
	--web.listen-address="127.0.0.1:$port" --log.level=warn >"$SCRATCH/prometheus.log" 2>&1 </dev/null &
prometheus_pid=$!
started $prometheus_pid
ok "Prometheus starts" wait_for 30 curl -sf -o /dev/null "$prometheus/-/ready"

slow() { # every three seconds
	local n=0
	while :; do
		n=$((n + 1))
		curl -sf "$CEEMSD_URL/metrics" >"$SCRATCH/slow.$n.new" && mv "$SCRATCH/slow.$n.new" "$SCRATCH/slow.$n"
		sleep 3
	done
}
busy() { # one after the other, as fast as they are answered
	while :; do
		if curl -sf ${2:+-H "Accept: $2"} -o "$SCRATCH/busy.$1" "$CEEMSD_URL/metrics"; then
			grep -q '^ceems_scrape_collector_success{collector="slurm"} 1$' "$SCRATCH/busy.$1" && echo good || echo wrong
		else
			echo failed
		fi
		sleep 0.05
	done >"$SCRATCH/busy.log.$1"
}
slow &
slow=$!
started $slow
busy 1 "" & busy1=$!
busy 2 "application/openmetrics-text" & busy2=$!
started $busy1; started $busy2

for i in 1 2 3 4 5 6 7 8 9; do
	as games sbatch -o /dev/null -e /dev/null --array=1-2 --wrap "$JOBS/burn 10" >/dev/null
	srun "$JOBS/burn" $((i * 20)) >/dev/null 2>&1
done
sbatch -o /dev/null -e /dev/null --wrap "srun $JOBS/burn 500; srun $JOBS/burn 200" >/dev/null
ok "the jobs end" settled 60
kill $busy1 $busy2
scrape
is "28 jobs" "$(scraped_cpu | wc -l)" 28
is "each with the CPU time of its records" "$(scraped_cpu)" "$(record_cpu)"
lines() { # file: "mode uuid seconds" of each job
	sed -n 's/^ceems_compute_unit_cpu_\(user\|system\)_seconds_total{.*uuid="\([0-9]*\)"} /\1 \2 /p' "$1" | sort
}
# everyone comes by once more
prometheus_cpu() {
	local mode
	for mode in user system; do
		curl -sfG --data-urlencode "query=max_over_time(ceems_compute_unit_cpu_${mode}_seconds_total{cgrouphostname=\"$node\"}[1h])" "$prometheus/api/v1/query" |
			jq -r ".data.result[] | \"$mode \\(.metric.uuid) \\(.value[1])\""
	done | sort >"$SCRATCH/prometheus.cpu"
}
prometheus_node() {
	curl -sfG --data-urlencode "query=ceems_units_cpu_seconds_total" "$prometheus/api/v1/query" | jq -r '.data.result[] | "\(.metric.mode) \(.value[1])"' | sort
}
node_cpu() { sed -n 's/^ceems_units_cpu_seconds_total{.*mode="\([a-z]*\)"} /\1 /p' "$SCRATCH/metrics" | sort; }
came_by() {
	last=$(ls -v "$SCRATCH"/slow.* | grep -v new | tail -1)
	prometheus_cpu
	[ "$(cat "$SCRATCH/prometheus.cpu")" = "$(lines "$SCRATCH/metrics")" ] && [ "$(prometheus_node)" = "$(node_cpu)" ] && [ "$(lines "$last")" = "$(lines "$SCRATCH/metrics")" ]
}
wait_for 30 came_by
is "max_over_time in Prometheus is each job's final counter, to the digit" "$(cat "$SCRATCH/prometheus.cpu")" "$(lines "$SCRATCH/metrics")"
is "Prometheus has the node's counters, too" "$(prometheus_node)" "$(node_cpu)"
is "so has who comes every three seconds" "$(lines "$last")" "$(lines "$SCRATCH/metrics")"
ok "he came several times while jobs ran" test "${last##*.}" -ge 3
is "who came all the time never got an error or half a page" "$(sort -u "$SCRATCH"/busy.log.*)" good
echo "# $(cat "$SCRATCH"/busy.log.* | wc -l) scrapes beside them"
ok "the counters never fell" awk '
	match($0, /^ceems_compute_unit_cpu_(user|system)_seconds_total\{.*\} /) { k = substr($0, 1, RLENGTH); v = $NF; if (k in max && v + 0 < max[k] + 0) bad = 1; max[k] = v }
	END { exit bad }' $(ls -v "$SCRATCH"/slow.* | grep -v new) "$SCRATCH/metrics"

# the longest gap counts, not only --unit.linger
kill "$ceemsd_pid" $slow
wait "$ceemsd_pid" 2>/dev/null
LINGER=1s ceemsd_start
ok "ceemsd starts again" wait_for 20 ceemsd_up
# nobody else may come: Prometheus would close the gaps
kill $prometheus_pid
wait $prometheus_pid 2>/dev/null
scrape
sleep 2
scrape
srun -J lingers "$JOBS/burn" 20 >/dev/null 2>&1
sleep 2
scrape
id=$(unit lingers '.[0].id')
sleep 2
scrape
like "an ended job is still there after two gaps of two seconds" "$(scraped_cpu)" "$node $id [1-9]"
gone() { scrape && ! scraped_cpu | grep -q "^$node $id "; }
ok "and goes after three" wait_for 200 gone
is "its counters stay in the node's" "$(scraped_node_cpu)" "$(record_node_cpu)"
tap_done
