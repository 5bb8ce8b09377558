# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests that follow the reports of a ceemsd with --ship.spool=$SCRATCH/spool into an aggregator
# and to cacct: with Postgres and munge of their own.
. "$TOP/test/pg.sh"
. "$TOP/test/munge.sh"
chain_begin() { # prints why it is not possible
	local agg=$BUILD/ceems_aggregator port
	[ -x "$agg" ] && [ -x "$BUILD/ceems-courier" ] && [ -x "$BUILD/cacct" ] || { echo "not all programs were built here"; return; }
	"$TOP/test/rig/pg" possible || return
	have_munge "$agg" && have_munge "$BUILD/cacct" || { echo "no munge"; return; }
	munge_start || { echo "munged does not start"; return; }
	pg_start >pg.log 2>&1 || { echo "Postgres does not start"; return; }
	port=$(free_port)
	export CEEMS_API_URL=http://127.0.0.1:$port CEEMS_MUNGE_SOCKET=$MUNGE_SOCKET HOME=$SCRATCH
	"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$port" --identity.munge-socket="$MUNGE_SOCKET" --ingest.munge-socket="$MUNGE_SOCKET" \
		--ingest.user='root=*' --admin.users=root --rollup.delay=0s --security.run-as-user="" >agg.log 2>&1 </dev/null &
	started $!
	wait_for 30 curl -sf -o /dev/null "$CEEMS_API_URL/health" || echo "the aggregator does not start"
}
sql() { psql_do -c "$1"; }
# UUID: CPU time of a unit's final report, with what it had used before it was found
chain_cpu_us() { sql "SELECT (cpu_user_ns + cpu_system_ns + coalesce(before_cpu_user_ns + before_cpu_system_ns, 0)) / 1000 FROM unit_node WHERE final AND uuid = '$1'"; }
# NAME: microjoules of ceems_NAME_joules_total in the scrape that is in body, all units and domains together
joules() { awk -v m="^ceems_$1_joules_total" '$0 ~ m { split($NF, n, "."); uj += n[1] * 1000000 + substr(n[2] "000000", 1, 6) } END { printf "%.0f\n", uj }' body; }
# That scrape adds up to the microjoule, in units' own series as well. ceemsd sees jobs of other tests on this machine, too: a
# job's newer run takes over the series of the one before, whose energy is in the sum of all units alone.
energy_adds_up() {
	local shown=$(joules compute_unit_energy) units=$(joules node_attributed_energy) rest=$(joules node_unattributed_energy) all=$(joules node_energy)
	[ $((units + rest)) = "$all" ] && [ "$shown" -gt 0 ] &&
		{ [ "$shown" = "$units" ] || { [ "$shown" -lt "$units" ] && grep -q '^ceems_compute_unit_energy_joules_total{manager="slurm"' body; }; } ||
		tap_say "units $units, shown $shown, rest $rest, all $all"
}
chain_ship() { # [NODE...]: what is in spool, or in spool-NODE
	local node
	for node in "${@:-}"; do
		NODE_NAME=$node timeout 200 "$BUILD/ceems-courier" --once --aggregator.url="$CEEMS_API_URL" --aggregator.munge-socket="$MUNGE_SOCKET" \
			--ship.spool="$SCRATCH/spool${node:+-$node}" >>courier.log 2>&1
	done
}
# UUID: ships what there is; true if the final report is there, and no report waits for its unit
chain_has() {
	chain_ship
	[ -n "$(chain_cpu_us "$1")" ] && [ "$(sql "SELECT count(*) FROM unit_node WHERE unit IS NULL")" = 0 ]
}
chain_cacct() { "$BUILD/cacct" -a -n -P -o JobIDRaw "$@" 2>>cacct.err | sort; }
chain_other_user() { setpriv --reuid=daemon --regid=daemon --clear-groups "$BUILD/cacct" -n -P -o JobIDRaw 2>/dev/null; }
