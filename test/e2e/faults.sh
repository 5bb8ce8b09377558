#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Everything dies, in any order, while real jobs run: Postgres, the aggregator, ceemsd, its
# courier, the courier of slurmctld's records, slurmctld. At the end the database has each job
# that Slurm ended once, with the CPU time that ceemsd counted, and nothing else.
# JOBS=N (60), FAULT_S=N (15): how many and for how long; make check-long runs it for an hour.
# FAULTS=LETTERS: in this order, as the test prints it, again and again. slurmctld is killed among
# running jobs by the hour alone: it forgets what it has not written down in the last five seconds, and
# what becomes of those jobs is Slurm's affair; here it dies when its state is saved.
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
. test/pg.sh
need_jobcomp
need_pg
for p in ceems_aggregator ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
eval "$(declare -f test_cleanup | sed 's/^test_cleanup/rig_cleanup/')"
test_cleanup() { rig_cleanup; pg_cleanup; }
: >"$SCRATCH/young"
jobs=${JOBS:-60} least=$((${JOBS:-60} + 4)) seconds=${FAULT_S:-15}
# jobcomp/filetxt, chained, writes a line for each job in the call itself: the truth
jobcomp_rig --contain
munge=$SLURM/munge.sock
pg_start --durable || { ok "Postgres starts" false; tap_done; }
agg_port=$(free_port)
agg_up() { curl -sf -m 20 -o /dev/null "http://127.0.0.1:$agg_port/health"; }

start_aggregator() {
	"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$agg_port" --db.url="$PGURL" --no-security.drop-privileges \
		--identity.munge-socket="$munge" --ingest.munge-socket="$munge" --ingest.user='root=*' --ingest.jobs-from=munge:root --rollup.delay=1s --linker.grace=10s \
		>>"$SCRATCH/aggregator.log" 2>&1 </dev/null &
	aggregator_pid=$!
	started $aggregator_pid
}
start_courier() {
	"$BUILD/ceems-courier" --ship.spool="$SPOOL" --aggregator.url="http://127.0.0.1:$agg_port" --aggregator.munge-socket="$munge" \
		--aggregator.timeout=5s >>"$SCRATCH/courier.log" 2>&1 </dev/null &
	courier_pid=$!
	started $courier_pid
}
start_ceemsd() { # (what ended an hour ago is compared with /metrics, too)
	LINGER=$((seconds + 3600))s ceemsd_start --no-security.drop-privileges --reports.enabled --reports.spool="$SCRATCH/spool" --reports.interval=5s \
		--aggregator.url="http://127.0.0.1:$agg_port" --aggregator.munge-socket="$munge" --aggregator.timeout=5s
}
start_slurmctld() { SLURM_RIG_DIR=$SLURM CEEMS_JOBCOMP_CONF=$SLURM/jobcomp.yaml slurmctld </dev/null >/dev/null 2>&1; }
ctld_up() { scontrol ping 2>/dev/null | grep -q 'is UP'; }

start_aggregator
ok "the aggregator starts" wait_for 20 agg_up
start_ceemsd
start_courier
ok "ceemsd starts" wait_for 20 ceemsd_up

# "number submitted" of what slurmctld ended
txt_runs() { sed -n 's/^JobId=\([0-9]*\) .* SubmitTime=\([^ ]*\) .*/\1 \2/p' "${1:-$TXT}" 2>/dev/null; }
db() { psql_do -c "$1" 2>/dev/null; }
running() { [ "$(db "SELECT count(*) FROM unit WHERE uuid = '$first' AND ended IS NULL AND state = 'RUNNING'")" = 1 ]; }
# the best of three: that is what the programs need, the rest is what else runs here
for _ in 1 2 3; do
	first=$(sbatch --parsable -J first -o /dev/null --wrap "sleep 1000")
	wait_for 30 eval '[ -n "$(squeue -h -t R -j "$first" -o %A)" ]'
	at=$SECONDS
	wait_for 15 running
	took=$((SECONDS - at))
	scancel "$first"
	[ $took -gt 6 ] || break
done
ok "a job that runs is in the database within 6 s of its start ($took s)" [ $took -le 6 ]

submitted() { # ids that slurmctld has taken
	local n=0 left
	while [ $n -lt "$jobs" ]; do
		left=$((jobs - n < 10 ? jobs - n : 10))
		sbatch --parsable -o /dev/null -e /dev/null -J fault --array=1-$left --wrap \
			"srun $JOBS/burn \$((SLURM_ARRAY_TASK_ID * 5)); [ \$SLURM_ARRAY_TASK_ID != 3 ]" >>"$SCRATCH/arrays" 2>/dev/null &&
			n=$((n + left)) || sleep 0.3
		sleep 0.2
	done
}
submitted &
submitter=$!
faults='' end=$((SECONDS + seconds)) letters=${LETTERS:-PADcC}
while [ $SECONDS -lt $end ]; do
	sleep "0.$((RANDOM % 900 + 100))"
	if [ -n "${FAULTS:-}" ]; then fault=${FAULTS:${#faults} % ${#FAULTS}:1}; else fault=${letters:RANDOM % ${#letters}:1}; fi
	faults+=$fault
	case $fault in
	P) pg_kill >/dev/null 2>&1; sleep "0.$((RANDOM % 900 + 100))"; pg_up >/dev/null 2>&1 ;;
	A) kill9 "$aggregator_pid"; sleep "0.$((RANDOM % 900 + 100))"; start_aggregator ;;
	D) kill9 "$ceemsd_pid"; sleep "0.$((RANDOM % 500 + 100))"; start_ceemsd ;;
	c) kill -9 "$(pgrep -P "$ceemsd_pid" -f ceems-courier)" 2>/dev/null ;;
	C) kill9 "$courier_pid"; start_courier ;;
	S)
		{ date -d '1 second ago' +%FT%T; date +%FT%T; kill9 "$(ctld_pid)"; date +%FT%T; } >>"$SCRATCH/young"
		start_slurmctld
		wait_for 20 ctld_up
		;;
	esac
done
wait_for 60 eval '! kill -0 $submitter 2>/dev/null'
no_run() { [ -z "$(squeue -h -t PD,R,S,CF -o %A 2>/dev/null)" ]; }
if [[ $letters != *S* ]]; then
	wait_for 60 no_run
	sleep 6
	kill9 "$(ctld_pid)"
	start_slurmctld
	ok "slurmctld is killed, too, and comes back" wait_for 30 ctld_up
	jobs=3
	submitted
fi
echo "# killed: $faults (P Postgres, A aggregator, D ceemsd, c its courier, C the other courier, S slurmctld)"
ok "Postgres is there again" pg_up
wait_for 20 ctld_up || start_slurmctld
# A slurmctld that died may have forgotten what it had not yet written down, and a job that was
# COMPLETING then may stay so until slurmd is asked again: what hangs is ended, what completes has ended.
if ! wait_for 40 no_run; then for s in PENDING RUNNING SUSPENDED; do scancel --state=$s --me --quiet; done; fi
ok "all jobs end" wait_for 60 no_run
ok "the aggregator answers" wait_for 30 agg_up
ok "ceemsd, too" wait_for 30 ceemsd_up

# slurmctld that dies in the call has told filetxt and not yet the disk, or ends a job a second
# time when it is back: a job may have two lines, and is one job
# A record is on the disk a second after its call, not before (slurm_jobcomp_faults.sh): one that
# was younger when slurmctld was killed may be missing.
recorded() { db "SELECT uuid || ' ' || to_char(submitted, 'YYYY-MM-DD\"T\"HH24:MI:SS') FROM unit WHERE known_by = 'jobcomp'" | LC_ALL=C sort; }
missing() { LC_ALL=C comm -23 <(txt_runs | LC_ALL=C sort -u) <(recorded); }
young() { awk 'NR == FNR { young["EndTime=" $1]; next } { for (i in young) if (index($0, " " i " ")) { print; next } }' "$SCRATCH/young" "$TXT" | txt_runs /dev/stdin; }
lost() { missing | grep -vxFf <(young); }
arrived() { [ -z "$(lost)" ]; }
ok "a record of each job arrives" wait_for 60 arrived
all_ended() { [ "$(db "SELECT count(*) FROM unit WHERE ended IS NULL")" = 0 ]; }
ok "all runs end, those that slurmctld forgot by their nodes' word" wait_for 60 all_ended
# a record can be here before its node has told of the job at all
unseen() { db "SELECT uuid FROM unit u WHERE started IS NOT NULL AND ended > started AND NOT EXISTS (SELECT FROM unit_node n WHERE n.unit = u.id)"; }
finals() { [ -z "$(unseen)" ] && [ "$(db "SELECT count(*) FROM unit_node WHERE NOT final")" = 0 ]; }
ok "each final report arrives" wait_for 100 finals
summed() { [ "$(db "SELECT count(*) FROM dirty")" = 0 ]; }
ok "all is summed" wait_for 60 summed

# A killed slurmctld forgets the jobs of its last seconds, and gives their numbers to others: a run is
# known by its number and when it was submitted, and one that was forgotten is known by its node alone.
txt_runs | LC_ALL=C sort -u >"$SCRATCH/truth"
recorded >"$SCRATCH/records.db"
echo "# $(wc -l <"$SCRATCH/truth") jobs ended, $(wc -l <"$SCRATCH/records.db") records; younger than a second when slurmctld was killed, and missing: $(missing | grep -cxFf <(young))"

[[ $letters != *S* ]] || least=5
ok "at least $least" test "$(wc -l <"$SCRATCH/truth")" -ge $least
is "each job that Slurm ended is there" "$(lost)" ""
is "once, and nothing else" "$(LC_ALL=C comm -13 "$SCRATCH/truth" "$SCRATCH/records.db")" ""
is "each has ended" "$(db "SELECT uuid, known_by FROM unit WHERE ended IS NULL")" ""
# A slurmctld that was killed may start a run a second time, which stays one run to it: both are its own.
twice=''
[[ $letters != *S* ]] || twice="AND NOT bool_and(n.started BETWEEN u.started - interval '2 s' AND u.ended + interval '1 s')"
is "each instance belongs to one run" "$(db "SELECT u.id FROM unit_node n JOIN unit u ON u.id = n.unit GROUP BY u.id HAVING count(*) > 1 $twice")" ""
[[ $letters == *S* ]] || is "no report is left without a job" "$(db "SELECT uuid FROM unit WHERE known_by = 'node'")" ""
is "every job that ran was seen by its node" "$(unseen)" ""
ok "nothing runs any more" wait_for 30 nothing_running
# (a number that was given twice is one series there)
db "SELECT uuid || ' ' || sum(cpu_user_ns + cpu_system_ns) FROM unit_node GROUP BY uuid HAVING count(*) = 1" | sort >"$SCRATCH/cpu.db"
scraped_cpu | sed 's/^[^ ]* //' | sort | awk 'NR == FNR { once[$1]; next } $1 in once' "$SCRATCH/cpu.db" - >"$SCRATCH/cpu.truth"
is "CPU time of each is what /metrics of its node says, to the nanosecond" "$(diff "$SCRATCH/cpu.truth" "$SCRATCH/cpu.db" | head -5)" ""
is "the sums of units are those of their nodes" "$(db "SELECT u.uuid FROM unit u JOIN unit_node n ON n.unit = u.id GROUP BY u.id
	HAVING u.cpu_user_ns + u.cpu_system_ns <> sum(n.cpu_user_ns + n.cpu_system_ns)")" ""
odd() { # runs whose windows are not their final report
	db "SELECT n.uuid || ': ' || count(i.*) || ' windows, ' || n.cpu_user_ns + n.cpu_system_ns - coalesce(sum(i.cpu_user_ns + i.cpu_system_ns), 0) || ' ns, '
		|| coalesce(n.host_uj, 0) - coalesce(sum(i.host_uj), 0) || ' uJ' FROM unit_node n LEFT JOIN unit_interval i USING (instance) GROUP BY n.instance
		HAVING coalesce(sum(i.cpu_user_ns + i.cpu_system_ns), 0) <> n.cpu_user_ns + n.cpu_system_ns OR coalesce(sum(i.host_uj), 0) <> coalesce(n.host_uj, 0)"
}
add_up() { [ -z "$(odd)" ]; }
wait_for 20 add_up
is "windows add up to the final reports, processor time and energy" "$(odd)" ""
is "no more was observed than there was" "$(db "SELECT uuid FROM unit_node WHERE observed_ms > 1 + 1000 * extract(epoch FROM ended - started)")" ""
agg_metric() { curl -s "http://127.0.0.1:$agg_port/metrics" | awk -v m="$1" 'index($0, m) == 1 { n += $NF } END { print n + 0 }'; }
is "the aggregator refused nothing" "$(agg_metric ceems_aggregator_ingest_refused_records_total)" 0
is "nothing came twice with other numbers" "$(agg_metric ceems_aggregator_ingest_differing_total)" 0
is "no unit was given up" "$(value ceems_reports_untold_units_total)" 0
is "no spool lost anything" "$("$BUILD/ceems_tool" spool --stats "$SCRATCH/spool" | jq -c '[.lost_interval, .lost_final]')$("$BUILD/ceems_tool" spool --stats "$SPOOL" | jq .lost_job)" "[0,0]0"
is "nothing was refused, lost or set aside" "$(grep -hcE 'set aside [1-9]|, [1-9][0-9]* refused' "$SCRATCH/courier.log" | paste -sd+ | bc)" 0
is "the jobs that failed failed" "$(db "SELECT count(*) > 0 FROM unit WHERE state = 'FAILED'")" t
tap_done
