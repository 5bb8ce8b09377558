# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests that have data in a server of time series behind ceems_lb: which one is
# ENGINE (prometheus; victoria-metrics, thanos), as a program of that name in PATH.
ENGINE=${ENGINE:-prometheus}
need_engine() {
	local p
	for p in prometheus promtool "$ENGINE"; do command -v "$p" >/dev/null || skip_all "$p is not installed"; done
}
engine_up() { curl -sf -o /dev/null "http://127.0.0.1:$prom_port/$1"; }
# engine_begin FILE: a server with the samples of a file in OpenMetrics' format, at $prom_port; false: it does not start
engine_begin() {
	local store_port grpc
	if [ "$ENGINE" != victoria-metrics ]; then
		promtool tsdb create-blocks-from openmetrics "$1" tsdb >/dev/null 2>&1 || return 1
		echo 'global: {external_labels: {replica: a}}' >prometheus.yml
		store_port=$(free_port)
		prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --log.level=error --storage.tsdb.retention.time=10y \
			--web.listen-address="127.0.0.1:$store_port" >prom.log 2>&1 </dev/null &
		started $!
		prom_port=$store_port
		wait_for 20 engine_up -/ready || return 1
	fi
	case $ENGINE in
	victoria-metrics)
		prom_port=$(free_port)
		victoria-metrics -httpListenAddr="127.0.0.1:$prom_port" -storageDataPath=vm -retentionPeriod=10y -search.latencyOffset=0s -search.maxQueryLen=1MB >vm.log 2>&1 </dev/null &
		started $!
		wait_for 20 engine_up health || return 1
		# its reader of Prometheus' text wants milliseconds
		awk '/^#/ { next } { printf "%s %s %.0f\n", $1, $2, $3 * 1000 }' "$1" | curl -sf -m 60 --data-binary @- "http://127.0.0.1:$prom_port/api/v1/import/prometheus" || return 1
		curl -sf -o /dev/null "http://127.0.0.1:$prom_port/internal/force_flush"
		;;
	thanos)
		grpc=$(free_port)
		thanos sidecar --prometheus.url="http://127.0.0.1:$store_port" --tsdb.path=tsdb --grpc-address="127.0.0.1:$grpc" --http-address="127.0.0.1:$(free_port)" >sidecar.log 2>&1 </dev/null &
		started $!
		prom_port=$(free_port)
		thanos query --endpoint="127.0.0.1:$grpc" --query.replica-label=replica --grpc-address="127.0.0.1:$(free_port)" --http-address="127.0.0.1:$prom_port" >query.log 2>&1 </dev/null &
		started $!
		wait_for 30 engine_up -/ready || return 1
		wait_for 30 engine_has_data
		;;
	esac
}
engine_has_data() { curl -sf "http://127.0.0.1:$prom_port/api/v1/labels" | grep -q uuid; }
