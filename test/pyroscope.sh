# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by shell tests, after tap.sh: a real Pyroscope, 1.x or 2.x, alone on loopback ports. CEEMS_PYROSCOPE is its
# program (Debian has no package).
#   pyroscope_start    leaves its URL in PYROSCOPE_URL; false: there is none, or it does not start

# Its parts talk to each other by addresses that they tell each other: without these the machine's other one, and
# ports that are always the same.
pyroscope_options() { # PORT
	local grpc raft a
	grpc=$(free_port) raft=127.0.0.1:$(free_port)
	echo server.http-listen-address=127.0.0.1
	echo server.http-listen-port="$1"
	echo server.grpc-listen-address=127.0.0.1
	echo server.grpc-listen-port="$grpc"
	echo memberlist.bind-addr=127.0.0.1
	echo memberlist.bind-port="$(free_port)"
	for a in {distributor,compactor,overrides-exporter,query-scheduler}.ring.instance-addr query-frontend.instance-addr \
		store-gateway.sharding-ring.instance-addr {ingester,segment-writer}.lifecycler.addr memberlist.advertise-addr; do
		echo "$a=127.0.0.1"
	done
	for a in metastore.address query-backend.address; do echo "$a=127.0.0.1:$grpc"; done
	for a in bind-address advertise-address server-id; do echo "metastore.raft.$a=$raft"; done
	for a in {segment-writer,ingester}.min-ready-duration; do echo "$a=1s"; done
	echo architecture.storage=v2 # an empty store that keeps both kinds answers from the older, which has nothing
	echo usage-stats.enabled=false
	echo self-profiling.disable-push=true
}
pyroscope_start() {
	local port o known args=()
	[ -x "${CEEMS_PYROSCOPE:-}" ] || return
	mkdir "$SCRATCH/pyroscope" || return
	port=$(free_port)
	known=$("$CEEMS_PYROSCOPE" -help-all 2>&1)
	while read -r o; do
		[[ "$known " != *" -${o%%=*}"[[:space:]]* ]] || args+=("-$o")
	done < <(pyroscope_options "$port")
	(cd "$SCRATCH/pyroscope" && exec "$CEEMS_PYROSCOPE" "${args[@]}") >"$SCRATCH/pyroscope.log" 2>&1 &
	started $!
	PYROSCOPE_URL=http://127.0.0.1:$port
	wait_for 180 pyroscope_ready
}
pyroscope_ready() { [ "$(curl -s -m 10 -o /dev/null -w '%{http_code}' "$PYROSCOPE_URL/ready")" = 200 ]; }
