# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by benches of an aggregator that reads a cloud or a cluster for the first time from a server that replays
# answers (a stand-in, its pages made beforehand) into a real Postgres.
TOP=$(cd "$(dirname "$0")/../.." && pwd)
cd "$TOP" || exit 1
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
export BUILD
bench=${0##*/}
[ -x "$BUILD/ceems_aggregator" ] || { echo "$bench: ceems_aggregator is not built" >&2; exit 1; }
why=$(test/rig/pg possible) || { echo "$bench: $why" >&2; exit 1; }
. test/port.sh
work=$(mktemp -d /tmp/ceems-bench.XXXXXX) && chmod 755 "$work" || exit 1
host='' agg=''
clean() {
	for p in $agg $host; do kill "$p" && wait "$p"; done 2>/dev/null
	test/rig/pg stop "$work/pg" >/dev/null 2>&1
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM
test/rig/pg start "$work/pg" >/dev/null || exit 1
. "$work/pg/env"
sync_sql() { "$PGBIN/psql" -XAtq "$PGURL" -c "$1"; }
sync_host() { # command...: the stand-in, until it says that it is ready
	"$@" >"$work/host" 2>&1 </dev/null & host=$!
	until grep -q ready "$work/host"; do kill -0 $host || { cat "$work/host" >&2; exit 1; }; sleep 0.2; done
}
# The aggregator, with $work/clusters.yaml, on a database that it has made before
sync_begin() {
	local port
	port=$(free_port)
	"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$port" --db.url="$PGURL" --security.drop-privileges=false --migrate >/dev/null 2>&1
	sync_from=${EPOCHREALTIME/./}
	"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$port" --db.url="$PGURL" --security.drop-privileges=false \
		--clusters.file="$work/clusters.yaml" >"$work/agg.log" 2>&1 </dev/null & agg=$!
	give_up=$((SECONDS + 600))
}
# TABLE.COLUMN AFTER: until a whole list that ended later
sync_wait() {
	until [ "$(sync_sql "SELECT count(*) FROM ${1%.*} WHERE ${1#*.} > '$2'")" = 1 ]; do
		kill -0 $agg && [ $SECONDS -lt $give_up ] || { tail -n 5 "$work/agg.log" >&2; exit 1; }
		sleep 0.1
	done
}
sync_cpu() { awk '{ print $14 + $15 }' "/proc/$agg/stat"; }
# TABLE.COLUMN WHAT WANTED KNOWN_BY: waits for two whole lists, and says what they took
sync_measure() {
	local first done_at ticks n rss
	sync_begin
	sync_wait "$1" 2000-01-01
	first=$((${EPOCHREALTIME/./} - sync_from))
	done_at=$(sync_sql "SELECT now()")
	ticks=$(sync_cpu)
	sync_wait "$1" "$done_at"
	ticks=$(($(sync_cpu) - ticks))
	n=$(sync_sql "SELECT count(*) FROM unit WHERE known_by = '$4' AND person IS NOT NULL AND project IS NOT NULL")
	rss=$(awk '/^VmHWM/ { print $2 }' "/proc/$agg/status")
	awk -v bench="$bench" -v what="$2" -v n="$n" -v wanted="$3" -v us="$first" -v ticks="$ticks" -v hz="$(getconf CLK_TCK)" -v rss="$rss" 'BEGIN {
		printf "{\"bench\":\"%s\",\"metric\":\"%d %s, first reading\",\"value\":%.1f,\"unit\":\"s\",\"units\":%d,\"reach\":\"< 60\",\"ok\":%s}\n",
			bench, wanted, what, us / 1e6, n, us < 6e7 && n == wanted ? "true" : "false"
		printf "{\"bench\":\"%s\",\"metric\":\"the list once more, processor time of the aggregator\",\"value\":%.1f,\"unit\":\"s\"}\n", bench, ticks / hz
		printf "{\"bench\":\"%s\",\"metric\":\"highest memory of the aggregator\",\"value\":%.0f,\"unit\":\"MiB\"}\n", bench, rss / 1024
	}'
}
