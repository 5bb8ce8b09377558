# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests that need a Postgres: need_pg skips the test where
# there is none, pg_start [DIR] [options of test/rig/pg] starts one (DIR: $SCRATCH/pg) and
# sets PGURL, PGADMIN, PGBIN, PGDIR; psql_do SQL queries it; pg_stop [DIR]. All are stopped when the test ends.
pg_dirs=()
need_pg() {
	local why
	why=$("$TOP/test/rig/pg" possible) || skip_all "$why"
}
pg_start() {
	local dir=$SCRATCH/pg
	case ${1:-} in '' | --*) ;; *) dir=$1; shift ;; esac
	pg_dirs+=("$dir")
	"$TOP/test/rig/pg" start "$dir" "$@" || return 1
	. "$dir/env"
}
pg_stop() { "$TOP/test/rig/pg" stop "${1:-$SCRATCH/pg}"; }
pg_kill() { "$TOP/test/rig/pg" kill "${1:-$SCRATCH/pg}"; }
pg_up() { "$TOP/test/rig/pg" up "${1:-$SCRATCH/pg}"; }
psql_do() { # -c SQL; what fails is not an empty answer
	"$PGBIN/psql" -XAtq -v ON_ERROR_STOP=1 "$PGURL" "$@" || { set -- $?; echo "psql: exit status $1"; return "$1"; }
}
# no chore of an aggregator's that writes (linker, roll-up) works from now on: records stay as they are
pg_still() {
	psql_do -c "SELECT pg_advisory_lock(x'6365656d'::integer, 1), pg_advisory_lock(x'6365656d'::integer, 2)" -c 'SELECT pg_sleep(3600)' >/dev/null 2>&1 &
	started $!
	wait_for 30 pg_is_still
}
pg_is_still() { [ "$(psql_do -c "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = x'6365656d'::integer AND objid IN (1, 2) AND granted")" = 2 ]; }
psql_admin() { "$PGBIN/psql" -XAtq -v ON_ERROR_STOP=1 "$PGADMIN" "$@"; }

# before the scratch folder goes; test_cleanup stays the test's own
pg_cleanup() {
	local d
	for d in ${pg_dirs[@]+"${pg_dirs[@]}"}; do "$TOP/test/rig/pg" stop "$d"; done
}
