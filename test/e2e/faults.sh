#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 280
# Jobs of a real Slurm while Postgres, the aggregator, both couriers, ceemsd and slurmctld are
# killed (-9) in any order: at the end the database has each job once, linked to what its node
# told, and the numbers are those that ceemsd counted.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
. "$(dirname "$0")/../jobcomp_slurm.sh"
. "$TOP/test/pg.sh"
need_jobcomp
need_pg
agg=$BUILD/ceems_aggregator
[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier was not built here"
# FAULTS_SECONDS: for about so long, a thousand jobs (faults_long.sh)
seconds=${FAULTS_SECONDS:-0} jobs_each=12 pause=0
[ "$seconds" = 0 ] || jobs_each=500 pause=$((seconds / 650))
(umask 077; echo a-token-of-this-test >"$SCRATCH/token")
chmod 640 "$SCRATCH/token"
have_root && { chgrp ceems "$SCRATCH/token" 2>/dev/null || chgrp "$(id -gn nobody)" "$SCRATCH/token"; }

# ---- what is killed, and begun again
pg_start --durable || { ok "Postgres starts" false; tap_done; }
agg_port=$(free_port)
agg_start() {
	"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$agg_port" --ingest.token-file="$SCRATCH/token" \
		--security.drop-privileges=false --rollup.delay=500ms >>"$SCRATCH/agg.log" 2>&1 </dev/null &
	agg_pid=$!
	started $agg_pid
}
node=flt$$
jobcomp_rig --nodes=$node
LINGER=1d
ceemsd() {
	ceemsd_start --reports.enabled --reports.interval=5s --reports.spool="$SCRATCH/spool" --cluster="$cluster" \
		--aggregator.url="http://127.0.0.1:$agg_port" --aggregator.token-file="$SCRATCH/token"
}
ship_start() { # slurmctld's records
	"$BUILD/ceems-courier" --aggregator.url="http://127.0.0.1:$agg_port" --aggregator.token-file="$SCRATCH/token" \
		--ship.spool="$SPOOL" >>"$SCRATCH/ship.log" 2>&1 </dev/null &
	ship_pid=$!
	started $ship_pid
}
ctld_start() { SLURM_RIG_DIR=$SLURM CEEMS_JOBCOMP_CONF=$SLURM/jobcomp.yaml slurmctld >/dev/null 2>&1 </dev/null; }
gone() { kill -9 "$1" 2>/dev/null; { wait "$1"; } 2>/dev/null; }
a_while() { sleep "0.$((RANDOM % 900 + 50))"; }
hit() {
	case $1 in
	postgres) pg_kill; a_while; pg_up ;;
	aggregator) gone "$agg_pid"; a_while; agg_start ;;
	ceemsd) gone "$ceemsd_pid"; a_while; ceemsd ;;
	courier) pkill -9 -P "$ceemsd_pid" ;; # ceemsd begins another one
	ship) gone "$ship_pid"; a_while; ship_start ;;
	esac
}
cluster=$(scontrol show config | sed -n 's/^ClusterName *= *//p')
agg_up() { curl -sf -o /dev/null "http://127.0.0.1:$agg_port/health"; }
agg_start
ok "the aggregator starts" wait_for 20 agg_up
ceemsd
ship_start
ok "ceemsd starts" wait_for 20 ceemsd_up

# ---- a job is known within seconds of its start
sql() { psql_do -c "$1"; }
is_sql() { [ "$(sql "$1" 2>/dev/null)" = "$2" ]; }
sbatch -J first -o /dev/null --wrap "sleep 4" >/dev/null
begun() { [ -n "$(squeue -h -t R -o %A)" ]; }
wait_for 30 begun
at=$SECONDS
ok "a job that runs is in the database" wait_for 15 is_sql "SELECT count(*) FROM unit WHERE ended IS NULL AND state = 'RUNNING'" 1
ok "within 6 s of its start" test $((SECONDS - at)) -le 6

# ---- the faults
submit() {
	local n=$1
	while [ "$n" -gt 0 ]; do # what a slurmctld that is away refuses is tried again
		sleep $pause
		sbatch -W -J faults -o /dev/null -e /dev/null --wrap "srun $JOBS/burn 20" >/dev/null 2>&1 && n=$((n - 1)) || sleep 0.3
	done
}
submitters=()
for i in 1 2; do
	submit $jobs_each &
	submitters+=($!)
done
busy() { local p; for p in "${submitters[@]}"; do kill -0 "$p" 2>/dev/null && return; done; return 1; }
all=(postgres aggregator ceemsd courier ship) order=() kills=0
limit=$((SECONDS + 150 + 2 * seconds))
while busy || [ $kills -lt ${#all[@]} ]; do
	[ $SECONDS -lt $limit ] || break
	[ ${#order[@]} -gt 0 ] || mapfile -t order < <(printf '%s\n' "${all[@]}" | shuf)
	hit "${order[0]}"
	order=("${order[@]:1}")
	kills=$((kills + 1))
	a_while
done
wait "${submitters[@]}"
echo "# $kills kills"
ok "each was killed at least once" test $kills -ge 5
# slurmctld only where nothing runs and its state is saved, which it does every five seconds:
# what it has not written down to have ended it begins again
wait_for 30 no_job
sleep 7
kill -9 "$(ctld_pid)"
a_while
ctld_start
ctld_up() { scontrol ping | grep -q UP; }
ok "slurmctld comes back" wait_for 30 ctld_up
submit 2

# ---- the end
ended() { no_job && nothing_running; }
ok "all jobs end" wait_for 30 ended || squeue -h | sed "s|^|# |"
scrape
jobs=$(jq -r '.units | map(.id) | unique[]' "$SCRATCH/units" | sort -n)
count=$(wc -l <<<"$jobs")
ok "there were enough of them" test "$count" -ge $((2 * jobs_each))
rest="SELECT (SELECT count(*) FROM unit_node WHERE NOT final OR unit IS NULL) || ' ' || (SELECT count(*) FROM job_record WHERE unit IS NULL)
	|| ' ' || (SELECT count(*) FROM unit WHERE known_by = 'jobcomp' AND ended IS NOT NULL)"
at_rest() { is_sql "$rest" "0 0 $count"; }
ok "all of it reaches the database and is linked" wait_for 90 at_rest || echo "# $(sql "$rest"), wanted 0 0 $count"
ids() { sort -n | paste -sd' '; }
is "each job is there, once" "$(sql "SELECT uuid FROM unit" | ids)" "$(ids <<<"$jobs")"
is "with one instance on its node" "$(sql "SELECT uuid FROM unit_node" | ids)" "$(ids <<<"$jobs")"
is "each is linked to its own" "$(sql "SELECT count(*) FROM unit_node n JOIN unit u ON u.id = n.unit WHERE u.uuid <> n.uuid")" 0
is "jobs have Slurm's word for their end" "$(sql "SELECT DISTINCT state FROM unit")" COMPLETED
is "windows add up to the final reports: processor time" "$(sql "SELECT n.uuid FROM unit_node n LEFT JOIN unit_interval i USING (instance)
	GROUP BY n.uuid, n.cpu_user_ns, n.cpu_system_ns HAVING sum(i.cpu_user_ns + i.cpu_system_ns) IS DISTINCT FROM n.cpu_user_ns + n.cpu_system_ns")" ""
is "and energy" "$(sql "SELECT n.uuid, sum(i.host_uj), n.host_uj FROM unit_node n LEFT JOIN unit_interval i USING (instance)
	GROUP BY n.uuid, n.host_uj HAVING coalesce(sum(i.host_uj), 0) <> coalesce(n.host_uj, 0)")" ""
is "which are what ceemsd counted" "$(sql "SELECT uuid || ' ' || cpu_user_ns + cpu_system_ns FROM unit_node" | sort)" "$(scraped_cpu | cut -d' ' -f2-)"
is "no more was observed than there was" "$(sql "SELECT uuid FROM unit_node WHERE observed_ms > 1 + 1000 * extract(epoch FROM ended - started)")" ""
agg_metric() { curl -s "http://127.0.0.1:$agg_port/metrics" | awk -v m="$1" 'index($0, m) == 1 { n += $NF } END { print n + 0 }'; }
is "nothing was refused" "$(agg_metric ceems_aggregator_ingest_refused_records_total)" 0
is "nothing came twice with other numbers" "$(agg_metric ceems_aggregator_ingest_differing_total)" 0
is "no unit was given up" "$(value ceems_reports_untold_units_total)" 0
is "no spool lost anything" "$("$BUILD/ceems_tool" spool --stats "$SCRATCH/spool" | jq -c '[.lost_interval, .lost_final]')$("$BUILD/ceems_tool" spool --stats "$SPOOL" | jq .lost_job)" "[0,0]0"
tap_done
