# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh and test/pg.sh, by tests that query the aggregator's API on the records of
# test/e2e/api_seed.sql. api_database loads them into a real Postgres, or ends the test; agg_start
# [flags] serves them on $port until agg_stop.
agg=$BUILD/ceems_aggregator
kept=$((($(date +%s) - 1735689600) / 86400 + 62))d # since the records of March 2025
W='from=2025-03-10T10:00:00Z&to=2025-03-10T12:00:00Z'

need_api() {
	local t
	[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
	for t in curl jq "$@"; do command -v "$t" >/dev/null || skip_all "$t is not installed"; done
	need_pg
}
api_database() { # "as it is": the linker and the roll-up of the aggregator wait for their locks
	pg_start || { ok "Postgres starts" false; tap_done; }
	"$agg" --migrate --db.url="$PGURL" >/dev/null && psql_do -f test/e2e/api_seed.sql >/dev/null || { ok "records to ask for" false; tap_done; }
	[ "${1:-}" != "as it is" ] || pg_still || { ok "the chores stand still" false; tap_done; }
	port=$(free_port)
}
agg_code() { curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port$1"; }
agg_up() { [ "$(agg_code /health)" = 200 ]; }
agg_start() { # flags
	"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$port" --security.drop-privileges=false \
		--retention.hours="$kept" --retention.intervals="$kept" "$@" >>"$SCRATCH/log" 2>&1 &
	agg_pid=$!
	started $agg_pid
	wait_for 30 agg_up
}
agg_stop() { kill "$agg_pid"; wait "$agg_pid"; }
rows() { jq -r "[.data[]? | $1] | sort | join(\" \")" 2>/dev/null; }
