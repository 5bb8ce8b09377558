# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/jobcomp_slurm.sh, pg.sh and clock_off.sh, by tests that compare what jobs of
# a real Slurm are billed with what the kernel counted, while clocks are wrong: a node ($node) whose
# ceemsd, courier, slurmd and slurmstepd have their own clocks, an aggregator, and a courier for
# slurmctld's records, from BILL_SPOOL if that is set. slurmd's epilog reads the kernel's count; a group that its prolog makes in the
# job's group keeps that one until then. Skips the test where it cannot run.
need_jobcomp
need_pg
for p in ceems_aggregator ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -d /sys/fs/cgroup/cpuacct ] || skip_all "the kernel's count of a job is read from cgroup v1"
need_clock_off

# clocks_set SECONDS [SECONDS]: the node's; slurmd's and slurmstepd's, where that is another
clocks_set() {
	clock_file "$SCRATCH/off" "$1"
	clock_file "$SCRATCH/off_slurm" "${2-$1}"
}
bill_rig() { # [options of the rig]: a Slurm, a Postgres, and all between the two
	local group=/sys/fs/cgroup/cpuacct/slurm_$node
	mkdir "$SCRATCH/kernel"
	cat >"$SCRATCH/prolog" <<-END
		#!/bin/bash
		# slurmstepd of another job may just remove the user's, as empty
		for n in {1..100}; do mkdir -p $group/uid_\$SLURM_JOB_UID/job_\$SLURM_JOB_ID/kept && exit 0; sleep 0.05; done
		echo "\$SLURM_JOB_ID: no group to count in" >>$SCRATCH/uncounted
		exit 0
	END
	cat >"$SCRATCH/epilog" <<-END
		#!/bin/bash
		job=$group/uid_\$SLURM_JOB_UID/job_\$SLURM_JOB_ID
		read -r used <\$job/cpuacct.usage && echo "\$SLURM_JOB_ID \$used" >$SCRATCH/kernel/\$SLURM_JOB_ID ||
			echo "\$SLURM_JOB_ID: not counted" >>$SCRATCH/uncounted
		rmdir \$job/kept \$job 2>/dev/null
		exit 0
	END
	chmod 755 "$SCRATCH/prolog" "$SCRATCH/epilog"
	# a node whose clock leaps may seem to have booted: its jobs are not run again, under the same number
	printf '%s\n' "Prolog=$SCRATCH/prolog" "Epilog=$SCRATCH/epilog" JobRequeue=0 >"$SCRATCH/jobcomp.conf"
	clocks_set 0
	jobcomp_rig --nodes="$node" --node-clock="$SCRATCH/clock_off.so:$SCRATCH/off_slurm" "$@"
	munge=$SLURM/munge.sock
	pg_start || { ok "Postgres starts" false; tap_done; }
	agg_port=$(free_port) ceemsd_port=$(free_port)
	CEEMSD_URL=http://127.0.0.1:$ceemsd_port
	start_aggregator
	start_ceemsd
	start_courier
	ok "the aggregator starts" wait_for 60 agg_up
	ok "ceemsd starts" wait_for 60 ceemsd_up
}
db() { psql_do -c "$1" 2>/dev/null; }
agg_up() { curl -sf -m 20 -o /dev/null "http://127.0.0.1:$agg_port/health"; }

start_aggregator() { # [SECONDS that its clock is ahead]
	env "${clock_off[@]}" CLOCK_OFF_S="${1:-0}" "$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$agg_port" --db.url="$PGURL" --no-security.drop-privileges \
		--identity.munge-socket="$munge" --ingest.munge-socket="$munge" --ingest.user='root=*' --ingest.jobs-from=munge:root --rollup.delay=500ms --linker.grace=10s \
		>>"$SCRATCH/aggregator.log" 2>&1 </dev/null &
	aggregator_pid=$!
	started $aggregator_pid
}
start_courier() {
	"$BUILD/ceems-courier" --ship.spool="${BILL_SPOOL:-$SPOOL}" --aggregator.url="http://127.0.0.1:$agg_port" --aggregator.munge-socket="$munge" \
		--aggregator.timeout=5s >>"$SCRATCH/courier.log" 2>&1 </dev/null &
	courier_pid=$!
	started $courier_pid
}
start_ceemsd() { # its clock and its courier's is what the file says
	env "${clock_off[@]}" CLOCK_OFF_FILE="$SCRATCH/off" "$BUILD/ceemsd" --path.rundir="$RUNDIR" --web.listen-address="127.0.0.1:$ceemsd_port" \
		--collector.slurm --collector.slurm.nodes="$node" --unit.linger=10s --ring.slots=1024 --no-security.drop-privileges \
		--reports.enabled --reports.spool="$SCRATCH/spool/%n" --reports.interval=2s --cluster=ceemsrig \
		--aggregator.url="http://127.0.0.1:$agg_port" --aggregator.munge-socket="$munge" --aggregator.timeout=5s >>"$SCRATCH/ceemsd.log" 2>&1 </dev/null &
	ceemsd_pid=$!
	started $ceemsd_pid
}

# "number nanoseconds" of the jobs of that NAME: the kernel's word, of those that slurmctld ended; the bill
truth() { awk -v n="Name=$1" 'NR == FNR { used[$1] = $2; next } { for (i = 1; i <= NF; i++) if ($i == n) { sub(/^JobId=/, "", $1); print $1, ($1 in used ? used[$1] : "?") } }' <(cat "$SCRATCH"/kernel/*) "$TXT" | LC_ALL=C sort; }
bill() { db "SELECT uuid || ' ' || coalesce((cpu_user_ns + cpu_system_ns)::text, '-') FROM unit WHERE name = '$1' AND known_by = 'jobcomp'" | LC_ALL=C sort; }
# never more; on v1 what a task's children do after its end may be missing (doc/slurm.md)
wrong() { truth "$1" | LC_ALL=C join - <(bill "$1") | awk '$2 !~ /^[0-9]+$/ || $3 !~ /^[0-9]+$/ || $3 > $2 || $2 - $3 > 1000000 { print $1 ": " $2 " used, " $3 " billed, " $3 - $2 }'; }
same() { # NAME JOBS
	[ "$(truth "$1" | wc -l)" = "$2" ] && [ "$(bill "$1" | wc -l)" = "$2" ] && [ -z "$(wrong "$1")" ] && [ "$(db 'SELECT count(*) FROM dirty')" = 0 ]
}
# what of a run is on nobody's bill
strays() { db "SELECT uuid, known_by, cpu_user_ns + cpu_system_ns FROM unit WHERE known_by = 'node' ORDER BY id" | paste -sd' '; }
# lives of that NAME that cannot be: before the submission, after now, or without length. What the node saw may be
# off by as much as a node's clock may without being called wrong (doc/ingest.md).
bad_lives() {
	local agree="interval '121 s'"
	db "SELECT u.uuid, 'node', n.started, n.ended FROM unit u JOIN unit_node n ON n.unit = u.id WHERE u.name = '$1' AND
			(n.started < u.submitted - $agree OR n.ended > now() + $agree OR n.ended <= n.started)
		UNION ALL SELECT u.uuid, 'interval', i.t0, i.t0 + i.ms * interval '1 ms' FROM unit u JOIN unit_node n ON n.unit = u.id JOIN unit_interval i ON i.instance = n.instance
			WHERE u.name = '$1' AND (i.t0 < u.submitted - $agree OR i.t0 + i.ms * interval '1 ms' > now() + $agree)
		UNION ALL SELECT uuid, 'unit', started, ended FROM unit WHERE name = '$1' AND (ended IS NULL OR state IN ('PENDING', 'RUNNING') OR started < submitted OR ended > now() OR ended < started)" | paste -sd' '
}
check_bill() { # WHAT NAME JOBS
	within 240 same "$2" "$3"
	truth "$2" >"$SCRATCH/truth"
	bill "$2" >"$SCRATCH/bill"
	is "$1: Slurm ended $3 jobs" "$(wc -l <"$SCRATCH/truth")" "$3"
	is "$1: none is lost" "$(LC_ALL=C comm -23 <(cut -d' ' -f1 "$SCRATCH/truth") <(cut -d' ' -f1 "$SCRATCH/bill") | paste -sd' ')" ""
	is "$1: none is there twice" "$(cut -d' ' -f1 "$SCRATCH/bill" | uniq -d | paste -sd' ')" ""
	wrong "$2" >"$SCRATCH/wrong"
	is "$1: each is billed what the kernel counted" "$(cat "$SCRATCH/wrong"; [ ! -s "$SCRATCH/wrong" ] || cat "$SCRATCH/uncounted" 2>/dev/null)" ""
	is "$1: and nobody else is" "$(strays)" ""
	is "$1: each lived between its submission and now, and for a while" "$(bad_lives "$2")" ""
}
