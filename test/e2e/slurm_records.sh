#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Attempts to give the record of a real job to another: a job forges its account, name and
# user in its environment; a node's clock jumps by an hour; job numbers start again. Real
# Slurm, plugins, ceemsd, couriers, aggregator and Postgres; only the clock is made wrong.
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
. test/pg.sh
. test/clock_off.sh
need_jobcomp
need_pg
for p in ceems_aggregator ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
need_clock_off
eval "$(declare -f test_cleanup | sed 's/^test_cleanup/rig_cleanup/')"
test_cleanup() { rig_cleanup; pg_cleanup; }
printf '%s\n' FirstJobId=100 MaxJobId=106 MinJobAge=2 >"$SCRATCH/jobcomp.conf"
a=rca$$ b=rcb$$
jobcomp_rig --contain --nodes=$a,$b
munge=$SLURM/munge.sock
pg_start || { ok "Postgres starts" false; tap_done; }
agg_port=$(free_port)
agg_up() { curl -sf -m 20 -o /dev/null "http://127.0.0.1:$agg_port/health"; }
"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$agg_port" --db.url="$PGURL" --no-security.drop-privileges \
	--identity.munge-socket="$munge" --ingest.munge-socket="$munge" --ingest.user='root=*' --ingest.jobs-from=munge:root --rollup.delay=500ms --linker.grace=5s \
	>"$SCRATCH/aggregator.log" 2>&1 </dev/null &
started $!
"$BUILD/ceems-courier" --ship.spool="$SPOOL" --aggregator.url="http://127.0.0.1:$agg_port" --aggregator.munge-socket="$munge" \
	>"$SCRATCH/courier.log" 2>&1 </dev/null &
started $!
node() { # seconds that its clock is ahead
	[ "$1" = 0 ] || export "${clock_off[@]}" CLOCK_OFF_S="$1"
	ceemsd_start --no-security.drop-privileges --reports.enabled --reports.spool="$SCRATCH/spool" --reports.interval=5s \
		--aggregator.url="http://127.0.0.1:$agg_port" --aggregator.munge-socket="$munge"
	unset LD_PRELOAD CLOCK_OFF_S
	wait_for 20 ceemsd_up
}
ok "the aggregator starts" wait_for 20 agg_up
ok "ceemsd starts" node 0
db() { psql_do -c "$1" 2>/dev/null; }
is_db() { [ "$(db "$1")" = "$2" ]; }

# ---- a job that says it is another's
cat >"$JOBS/forge" <<-'END'
	#!/bin/bash
	export SLURM_JOB_ACCOUNT=forged SLURM_JOB_NAME=forged SLURM_JOB_PARTITION=forged SLURM_JOB_USER=root SLURM_JOB_UID=0 SLURM_JOB_GID=0
	export SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=1 SLURM_HET_JOB_ID=1 SLURM_RESTART_COUNT=7 SLURM_CLUSTER_NAME=forged SLURM_JOB_ID=1 USER=root
	srun --jobid="$1" --export=ALL bash -c "$(dirname "$0")/burn 60; sleep $2"
END
chmod 755 "$JOBS/forge"
forged=$(as daemon sbatch -A physics -J honest -o "$JOBS/out" -e "$JOBS/err" --wrap "$JOBS/forge \$SLURM_JOB_ID 3" | sed -n 's/^Submitted batch job //p')
is "a job of daemon's" "${forged:+there}" there
runs() { is_db "SELECT count(*) FROM unit WHERE uuid = '$forged' AND state = 'RUNNING'" 1; }
ok "it runs, and forges what it is" wait_for 20 runs
like "while it runs it has no project and no user but the one who runs it, or those that slurmctld said at its start (25.05)" \
	"$(db "SELECT coalesce(j.name, '-'), u.uid FROM unit u LEFT JOIN project j ON j.id = u.project WHERE u.uuid = '$forged'")" "^(-|physics)[|]$(id -u daemon)\$"
record() { is_db "SELECT known_by FROM unit WHERE uuid = '$forged'" jobcomp; }
ok "its record comes" wait_for 30 record
final() { is_db "SELECT count(*) FROM unit_node WHERE uuid = '$forged' AND final" 1; }
ok "and its node's last report" wait_for 30 final
is "the account, name and user are Slurm's" \
	"$(db "SELECT p.name, j.name, u.name, u.uid, u.partition, u.restarts, u.array_job IS NULL, u.het_job IS NULL, c.name FROM unit u JOIN cluster c ON c.id = u.cluster
		JOIN person p ON p.id = u.person JOIN project j ON j.id = u.project WHERE u.uuid = '$forged'")" "daemon|physics|honest|$(id -u daemon)|$(sinfo -h -o %R | head -1)|0|t|t|ceemsrig"
is "nothing forged is a person, a project or a cluster" "$(db "SELECT (SELECT count(*) FROM person WHERE name IN ('root', 'forged')), (SELECT count(*) FROM project WHERE name = 'forged'), (SELECT count(*) FROM cluster)")" "0|0|1"
is "nor what the node says of it" "$(db "SELECT array_job, array_task, restarts, uid FROM unit_node WHERE uuid = '$forged'")" "||0|$(id -u daemon)"
charged() { is_db "SELECT count(*) FROM usage_day d JOIN person p ON p.id = d.person JOIN project j ON j.id = d.project WHERE p.name = 'daemon' AND j.name = 'physics' AND d.cpu_ns >= 60000000" 1; }
ok "what it used is charged to them" wait_for 20 charged

# ---- a node whose clock leaps
nothing_waits() { [ -z "$(squeue -h -o %A)" ] && is_db "SELECT count(*) FROM unit_node WHERE NOT final OR unit IS NULL" 0 && is_db "SELECT count(*) FROM unit WHERE ended IS NULL" 0 && is_db "SELECT count(*) FROM dirty WHERE due <= now() + interval '5 s'" 0; }
wrong() { # what cpu-ms
	local id
	id=$(as daemon sbatch --parsable -A physics -J "$1" -o /dev/null -e /dev/null --wrap "srun $JOBS/burn $2; sleep 2")
	landed() { is_db "SELECT count(*) FROM unit u JOIN unit_node n ON n.unit = u.id WHERE u.uuid = '$id' AND u.known_by = 'jobcomp' AND u.state = 'COMPLETED' AND n.final" 1; }
	ok "$1: the node's reports come to the job's record" wait_for 30 landed
	ok "all comes to rest" wait_for 30 nothing_waits
	is "with all that it used, once" "$(db "SELECT u.cpu_user_ns + u.cpu_system_ns >= $2 * 1000000, u.cpu_user_ns + u.cpu_system_ns = n.cpu_user_ns + n.cpu_system_ns,
		u.cpu_user_ns + u.cpu_system_ns = (SELECT sum(cpu_user_ns + cpu_system_ns) FROM unit_interval i WHERE i.instance = n.instance)
		FROM unit u JOIN unit_node n ON n.unit = u.id WHERE u.uuid = '$id'")" "t|t|t"
	is "and it lasted as long as Slurm says" "$(db "SELECT extract(epoch FROM ended - started)::int < 60, abs(extract(epoch FROM now() - ended)) < 600 FROM unit WHERE uuid = '$id'")" "t|t"
}
for off in 3600 -3600; do
	kill "$ceemsd_pid"; wait "$ceemsd_pid" 2>/dev/null
	node $off || ok "ceemsd starts with a wrong clock" false
	wrong "a clock $off s ahead" 80
done
kill "$ceemsd_pid"; wait "$ceemsd_pid" 2>/dev/null
node 0
wrong "a clock that is right again" 80

# ---- a job that is requeued and goes on on another node, which does not know that it is its second run
moved=$(as daemon sbatch --parsable --requeue -w $a -A physics -J moved -o /dev/null -e /dev/null --wrap "srun $JOBS/burn 100; touch $JOBS/burnt-\$SLURMD_NODENAME; sleep 600")
on() { [ "$(squeue -h -j "$moved" -t R -o %N)" = "$1" ] && is_db "SELECT count(*) FROM unit_node n JOIN node o ON o.id = n.node WHERE n.uuid = '$moved' AND o.name = '$1'" 1; }
ok "a job runs on one node" wait_for 20 on $a
wait_for 20 test -e "$JOBS/burnt-$a" # what it uses there is used
scontrol requeue "$moved"
pending() { [ -n "$(squeue -h -j "$moved" -t PD -o %i)" ]; }
wait_for 20 pending
scontrol update JobId="$moved" ReqNodeList= ExcNodeList=$a StartTime=now
ok "and again on another" wait_for 30 on $b
wait_for 20 test -e "$JOBS/burnt-$b"
scancel "$moved"
is_moved() { is_db "SELECT count(*) FROM unit WHERE uuid = '$moved' AND known_by = 'jobcomp' AND ended IS NOT NULL" 2 && is_db "SELECT count(*) FROM unit_node WHERE uuid = '$moved'" 2; }
ok "it has a record of each run, and its node's word" wait_for 20 is_moved
ok "all comes to rest" wait_for 30 nothing_waits
is "each run with the report of its own node" "$(db "SELECT u.restarts, u.state, u.node_list, string_agg(o.name, ' '), sum(n.cpu_user_ns + n.cpu_system_ns) >= 100000000
	FROM unit u JOIN unit_node n ON n.unit = u.id JOIN node o ON o.id = n.node WHERE u.uuid = '$moved' GROUP BY 1, 2, 3 ORDER BY 1")" \
	$'0|REQUEUED|'$a'|'$a$'|t\n1|CANCELLED|'$b'|'$b'|t'

# ---- numbers that begin anew: after MaxJobId, and when slurmctld has forgotten all (its state is lost)
forgotten() { ! scontrol show job "$forged" >/dev/null 2>&1; }
ok "slurmctld has done with the first job" wait_for 120 forgotten
# anew HOW TIMES USER ACCOUNT CPU-MS ROWS: the number of the first job is given to the next one
anew() {
	local times=$2 before again
	before=$(db 'SELECT count(*) FROM unit')
	again=$(as "$3" sbatch --parsable -A "$4" -J again -o /dev/null -e /dev/null --wrap "srun $JOBS/burn $5")
	is "$1: the number is given once more" "$again" "$forged"
	runs_of_it() { is_db "SELECT count(*) FROM unit WHERE uuid = '$forged' AND known_by = 'jobcomp' AND ended IS NOT NULL" "$times"; }
	ok "there are $times jobs of that number" wait_for 30 runs_of_it
	reports_of_all() { is_db "SELECT count(*) FROM unit_node WHERE uuid = '$forged'" "$times"; }
	ok "and the node's report of each has come" wait_for 30 reports_of_all
	ok "all comes to rest" wait_for 30 nothing_waits
	is "each its owner's, with its own node's report" "$(db "SELECT p.name, j.name, u.name, count(n.instance), sum(n.cpu_user_ns + n.cpu_system_ns) / 1000000 >= CASE u.name WHEN 'honest' THEN 60 ELSE $5 END
		FROM unit u JOIN person p ON p.id = u.person JOIN project j ON j.id = u.project LEFT JOIN unit_node n ON n.unit = u.id WHERE u.uuid = '$forged' GROUP BY 1, 2, 3 ORDER BY 3 DESC, 1")" "$6"
	is "and no other changed" "$(db 'SELECT count(*) FROM unit')" $((before + 1))
}
next_id() { scontrol show config | sed -n 's/^NEXT_JOB_ID *= *//p'; }
for _ in {1..6}; do [ "$(next_id)" = "$forged" ] || srun -Q true; done # 105 is the last
all_six() { is_db "SELECT count(DISTINCT uuid) FROM unit WHERE known_by = 'jobcomp' AND ended IS NOT NULL" 6 && nothing_waits; }
ok "all numbers have been given" wait_for 60 all_six
anew "after MaxJobId" 2 bin chemistry 200 $'daemon|physics|honest|1|t\nbin|chemistry|again|1|t'
kill -9 "$(ctld_pid)"
gone() { ! kill -0 "$(ctld_pid)" 2>/dev/null; }
wait_for 10 gone
rm -f "$SLURM"/state/job_state*
SLURM_RIG_DIR=$SLURM CEEMS_JOBCOMP_CONF=$SLURM/jobcomp.yaml slurmctld -c </dev/null >/dev/null 2>&1
ctld_up() { scontrol ping 2>/dev/null | grep -q 'is UP' && [ "$(sinfo -h -o %T | sort -u)" = idle ]; }
ok "slurmctld begins anew" wait_for 30 ctld_up
anew "state lost" 3 root chemistry 200 $'daemon|physics|honest|1|t\nbin|chemistry|again|1|t\nroot|chemistry|again|1|t'
agg_metric() { curl -s "http://127.0.0.1:$agg_port/metrics" | awk -v m="$1" 'index($0, m) == 1 { n += $NF } END { print n + 0 }'; }
is "nothing was refused" "$(agg_metric ceems_aggregator_ingest_refused_records_total)" 0
tap_done
