# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests that have data in a server of time series behind ceems_lb: which one is
# ENGINE (prometheus, prometheus3; victoria-metrics, vmselect for its cluster, thanos, thanos_store for one with nothing but
# downsampled blocks, cortex), as a program of that name in PATH. All but Prometheus are asked below a path or as a tenant, as sites have them.
ENGINE=${ENGINE:-prometheus}
need_engine() {
	local p
	for p in prometheus promtool "${ENGINE%_store}"; do command -v "$p" >/dev/null || skip_all "$p is not installed"; done
}
engine_up() { curl -sf -o /dev/null "http://127.0.0.1:$engine_port/$1"; }
# engine_begin FILE: a server with the samples of a file in OpenMetrics' format, which ceems_lb reaches by `web: {$engine_web}`;
# false: it does not start. Prometheus also scrapes what $engine_scrape, lines of its configuration, says.
engine_begin() {
	engine_port=$(free_port) engine_path='' engine_tenant=''
	case $ENGINE in
	prometheus*) prometheus_begin "$1" '' "$ENGINE" ;;
	victoria-metrics) engine_path=/select/0/prometheus && victoria_begin "$1" ;; # as its cluster's
	vmselect) engine_path=/select/7/prometheus && victoria_cluster_begin "$1" ;; # 7: the tenant
	thanos) engine_tenant=THANOS-TENANT && thanos_begin "$1" ;;
	thanos_store) thanos_store_begin "$1" ;;
	cortex) engine_path=/prometheus engine_tenant=X-Scope-OrgID && cortex_begin "$1" ;;
	esac || return 1
	engine_web="url: \"http://127.0.0.1:$engine_port$engine_path\"${engine_tenant:+, http_headers: {$engine_tenant: {values: [site]\}\}}"
}
prometheus_begin() { # FILE LABELS [PROGRAM]
	promtool tsdb create-blocks-from openmetrics "$1" tsdb >/dev/null 2>&1 || return 1
	printf 'global: {external_labels: {%s}}\n%s\n' "$2" "${engine_scrape:-}" >prometheus.yml
	"${3:-prometheus}" --config.file=prometheus.yml --storage.tsdb.path=tsdb --log.level=error --storage.tsdb.retention.time=10y \
		--web.listen-address="127.0.0.1:$engine_port" >prom.log 2>&1 </dev/null &
	started $!
	wait_for 20 engine_up -/ready
}
victoria_begin() { # FILE
	victoria-metrics -httpListenAddr="127.0.0.1:$engine_port" -http.pathPrefix="$engine_path" -storageDataPath=vm -retentionPeriod=10y -search.latencyOffset=0s \
		-search.maxQueryLen=1MB >vm.log 2>&1 </dev/null &
	started $!
	wait_for 20 engine_up "${engine_path#/}/health" || return 1
	victoria_import "$1" "$engine_port$engine_path/api/v1/import/prometheus" &&
		curl -sf -o /dev/null "http://127.0.0.1:$engine_port$engine_path/internal/force_flush"
}
# its reader of Prometheus' text wants milliseconds
victoria_import() { awk '/^#/ { next } { printf "%s %s %.0f\n", $1, $2, $3 * 1000 }' "$1" | curl -sf -m 60 --data-binary @- "http://127.0.0.1:$2"; }
victoria_cluster_begin() { # FILE: one that writes, one that reads, two that store
	local i http writer nodes='' ask=() ports=()
	for i in 1 2; do
		http=$(free_port) && ports+=("$http") nodes+=${nodes:+,}127.0.0.1:$(free_port) ask+=("$(free_port)")
		vmstorage -storageDataPath=vmstorage$i -retentionPeriod=10y -httpListenAddr="127.0.0.1:$http" -vminsertAddr="${nodes##*,}" \
			-vmselectAddr="127.0.0.1:${ask[-1]}" >vmstorage$i.log 2>&1 </dev/null &
		started $!
	done
	writer=$(free_port)
	vminsert -httpListenAddr="127.0.0.1:$writer" -storageNode="$nodes" >vminsert.log 2>&1 </dev/null &
	started $!
	vmselect -httpListenAddr="127.0.0.1:$engine_port" -storageNode="127.0.0.1:${ask[0]},127.0.0.1:${ask[1]}" -search.latencyOffset=0s -search.maxQueryLen=1MB \
		-cacheDataPath=vmselect >vmselect.log 2>&1 </dev/null &
	started $!
	wait_for 20 engine_up health && wait_for 20 curl -sf -o /dev/null "http://127.0.0.1:$writer/health" || return 1
	victoria_import "$1" "$writer/insert/7/prometheus/api/v1/import/prometheus" || return 1
	wait_for 30 victoria_cluster_has "$(awk '!/^#/ { print $1 }' "$1" | sort -u | wc -l)" "${ports[@]}"
}
victoria_cluster_has() { # SERIES PORT...: vminsert sends in its own time
	local series=$1 http
	shift
	for http; do curl -sf -o /dev/null "http://127.0.0.1:$http/internal/force_flush"; done
	curl -sf "http://127.0.0.1:$engine_port$engine_path/api/v1/query" --data-urlencode 'query=count({__name__!=""})' | grep -q "\"$series\""
}
thanos_begin() { # FILE: with a querier that lets each tenant read its own series alone
	local store grpc
	prometheus_begin "$1" 'replica: a, tenant_id: site' || return 1
	store=$engine_port grpc=$(free_port) engine_port=$(free_port)
	thanos sidecar --prometheus.url="http://127.0.0.1:$store" --tsdb.path=tsdb --grpc-address="127.0.0.1:$grpc" --http-address="127.0.0.1:$(free_port)" >sidecar.log 2>&1 </dev/null &
	started $!
	thanos query --endpoint="127.0.0.1:$grpc" --query.replica-label=replica --query.enforce-tenancy --grpc-address="127.0.0.1:$(free_port)" \
		--http-address="127.0.0.1:$engine_port" >query.log 2>&1 </dev/null &
	started $!
	wait_for 30 engine_up -/ready && wait_for 30 engine_has_data
}
thanos_store_begin() { # FILE, of some days: sets engine_store
	local meta grpc bucket=(--objstore.config-file=store.yml)
	promtool tsdb create-blocks-from openmetrics "$1" tsdb >/dev/null 2>&1 && mkdir bucket || return 1
	printf 'type: FILESYSTEM\nconfig: {directory: "%s/bucket"}\n' "$PWD" >store.yml
	thanos tools bucket upload-blocks "${bucket[@]}" --path=tsdb --label='replica="a"' >upload.log 2>&1 || return 1
	thanos compact "${bucket[@]}" --data-dir=compact --consistency-delay=0s --http-address="127.0.0.1:$(free_port)" >compact.log 2>&1 || return 1
	for meta in bucket/*/meta.json; do jq -e '.thanos.downsample.resolution == 300000' "$meta" >/dev/null || rm -rf "${meta%/*}"; done
	grpc=$(free_port)
	thanos store "${bucket[@]}" --data-dir=store --grpc-address="127.0.0.1:$grpc" --http-address="127.0.0.1:$(free_port)" >store.log 2>&1 </dev/null &
	engine_store=$!
	started $engine_store
	thanos query --endpoint-strict="127.0.0.1:$grpc" --query.replica-label=replica --query.auto-downsampling --grpc-address="127.0.0.1:$(free_port)" \
		--http-address="127.0.0.1:$engine_port" >query.log 2>&1 </dev/null &
	started $!
	wait_for 30 engine_up -/ready && wait_for 30 engine_has_data
}
cortex_begin() { # FILE: all its parts in one process
	local ring rings=()
	for ring in distributor.ring ring compactor.ring ruler.ring store-gateway.sharding-ring alertmanager.sharding-ring; do rings+=("-$ring.store=inmemory"); done
	cortex "${rings[@]}" -distributor.replication-factor=1 -ingester.lifecycler.addr=127.0.0.1 -ingester.min-ready-duration=0s \
		-server.http-listen-address=127.0.0.1 -server.http-listen-port="$engine_port" -server.grpc-listen-address=127.0.0.1 -server.grpc-listen-port="$(free_port)" \
		-blocks-storage.backend=filesystem -blocks-storage.filesystem.dir=cortex/blocks -blocks-storage.tsdb.dir=cortex/tsdb -blocks-storage.bucket-store.sync-dir=cortex/sync \
		-compactor.data-dir=cortex/compactor -ruler-storage.backend=local -ruler-storage.local.directory=cortex/rules -ruler.rule-path=cortex/rule \
		>cortex.log 2>&1 </dev/null &
	started $!
	wait_for 60 engine_up ready || return 1
	"$TOP/test/fake/remote_write.py" "$1" "http://127.0.0.1:$engine_port/api/v1/push" X-Scope-OrgID=site && wait_for 30 engine_has_data
}
# engine_has_data [TENANT]: whether that tenant (site) has series
engine_has_data() { curl -sf ${engine_tenant:+-H "$engine_tenant: ${1:-site}"} "http://127.0.0.1:$engine_port$engine_path/api/v1/labels" | grep -q uuid; }
