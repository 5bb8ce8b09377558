# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests of what an aggregator does with reports: starts one on its own
# Postgres and pushes reports to it. Skips the test where that is not possible.
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator make=$BUILD/batch_make
[ -x "$agg" ] && [ -x "$make" ] || skip_all "ceems_aggregator was not built here"
command -v curl >/dev/null || skip_all "curl is not installed"
need_pg
cd "$SCRATCH" || exit 1

agg_up() { curl -sf -m 20 -o /dev/null "http://127.0.0.1:$agg_port/health"; }
agg_run() { # PORT [flags]: one on that Postgres, also beside others; sets agg_port and agg_pid
	agg_port=$1
	"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$agg_port" --ingest.token-file="$SCRATCH/token" --ingest.jobs-from=token:test \
		--security.drop-privileges=false --rollup.delay=100ms --linker.grace=1h --linker.lost-after=10m "${@:2}" >>"$SCRATCH/agg.log" 2>&1 &
	agg_pid=$!
	started $agg_pid
	wait_for 30 agg_up
}
agg_begin() { # [flags]: with a Postgres; a failure ends the test
	pg_start || { ok "Postgres starts" false; tap_done; }
	(umask 077; echo "test=* a-token-of-this-test" >"$SCRATCH/token")
	agg_run "$(free_port)" "$@" || { sed 's/^/# /' "$SCRATCH/agg.log"; ok "an aggregator starts" false; tap_done; }
}
push() { # lines for batch_make, one argument each
	printf '%s\n' "$@" | "$make" | curl -sf -m 60 -o "$SCRATCH/answer" -H 'Authorization: Bearer a-token-of-this-test' \
		-H 'Content-Type: application/x-ceems-batch' --data-binary @- "http://127.0.0.1:$agg_port/api/v1/ingest"
}
sql() { psql_do -c "$1"; }
at_rest() {
	[ "$(sql "SELECT (SELECT count(*) FROM dirty) + (SELECT count(*) FROM unit_node WHERE unit IS NULL) + (SELECT count(*) FROM job_record WHERE unit IS NULL)")" = 0 ]
}
settle() { wait_for 60 at_rest; } # linker and roll-up have done what there was
