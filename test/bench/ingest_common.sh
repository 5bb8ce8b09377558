# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by benches of the ingest: a real Postgres with durable commits and one aggregator.
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$TOP" || exit 1
BUILD=${BUILD:-build}
work=$(mktemp -d /tmp/ceems-bench.XXXXXX)
chmod 711 "$work"
agg_pid=
clean() {
	[ -z "$agg_pid" ] || { kill "$agg_pid" 2>/dev/null; wait "$agg_pid" 2>/dev/null; }
	test/rig/pg stop "$work/pg" 2>/dev/null
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM
. test/port.sh
test/rig/pg possible || exit 1
test/rig/pg start "$work/pg" --durable --set=shared_buffers=1GB --set=max_wal_size=4GB --set=wal_compression=on || exit 1
. "$work/pg/env"
port=$(free_port)
(umask 077; echo a-token-of-this-bench >"$work/token")
"$BUILD/ceems_aggregator" --db.url="$PGURL" --web.listen-address="127.0.0.1:$port" --ingest.token-file="$work/token" \
	--security.drop-privileges=false "$@" >"$work/agg.log" 2>&1 &
agg_pid=$!
for _ in $(seq 100); do curl -sf -o /dev/null "http://127.0.0.1:$port/health" && break; sleep 0.1; done
sql() { "$PGBIN/psql" -XAtq -v ON_ERROR_STOP=1 "$PGURL" -c "$1"; }
load() { "$BUILD/bench/ingest_load" "$port" "$work/token" "$@"; } # start|interval NODES UNITS WINDOWS T0 [THREADS]
rss() { awk -v k="$1:" '$1 == k { print $2 }' "/proc/$agg_pid/status"; }
# Processor time in seconds so far: the aggregator's, and that of Postgres with the sessions that are over
aggregator_cpu() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$agg_pid/stat"; }
postgres_cpu() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v hz="$(getconf CLK_TCK)" -v first="$PGPID" '{ sub(/^.*\) /, $1 " ") }
		$1 == first { t += $13 + $14 + $15 + $16 } $3 == first { t += $13 + $14 } END { print t / hz }'
}
row() { # metric value unit [sense reach]
	awk -v b="$bench" -v m="$1" -v v="$2" -v u="$3" -v s="${4:-}" -v r="${5:-}" 'BEGIN {
		printf "{\"bench\":\"%s\",\"metric\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",", b, m, v, u
		if (r == "") print "\"reach\":null,\"ok\":null}"
		else printf "\"reach\":\"%s %s\",\"ok\":%s}\n", s, r, (s == "<" ? v < r : v > r) ? "true" : "false" }'
}
