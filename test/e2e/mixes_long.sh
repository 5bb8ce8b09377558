#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Everything at once that a site has seen: while real jobs run, in random order, the node's clock leaps (L for
# a moment, l until the next), the unit table is removed (T) or damaged (t), the ring removed (R), the spool's
# disk full (F), the aggregator's clock wrong (W), and the aggregator (A), ceemsd (D), its courier (c) and that
# of slurmctld's records (C) are killed. Afterwards each job that Slurm ended is there once, with the CPU time that the kernel
# counted for it. The kernel's count is read by slurmd's epilog: a group that its prolog puts into the job's
# keeps that until then.
# MIXES=N (20), JOBS=N (300, of each), SEED=N: of the first mix, the next has the next; LETTERS=: of these faults;
# FAULTS=: in this order, as the test prints it. Smoke: MIXES=1 JOBS=20.
# timeout 4300
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
. test/pg.sh
. test/clock_off.sh
need_jobcomp
need_pg
for p in ceems_aggregator ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -d /sys/fs/cgroup/cpuacct ] || skip_all "the kernel's count of a job is read from cgroup v1"
need_clock_off
mkdir "$SCRATCH/spool" "$SCRATCH/kernel"
mount -t tmpfs -o size=8m,mode=700 tmpfs "$SCRATCH/spool" 2>/dev/null || skip_all "cannot mount a tmpfs"
eval "$(declare -f test_cleanup | sed 's/^test_cleanup/rig_cleanup/')"
test_cleanup() { rig_cleanup; pg_cleanup; umount -l "$SCRATCH/spool"; }
mixes=${MIXES:-20} jobs=${JOBS:-300} seed=${SEED:-$RANDOM}
clock_file "$SCRATCH/off" 0
node=mix$$
group=/sys/fs/cgroup/cpuacct/slurm_$node
cat >"$SCRATCH/prolog" <<END
#!/bin/bash
mkdir -p $group/uid_\$SLURM_JOB_UID/job_\$SLURM_JOB_ID/kept
END
cat >"$SCRATCH/epilog" <<END
#!/bin/bash
cd $group/uid_\$SLURM_JOB_UID || exit 0
read -r used <job_\$SLURM_JOB_ID/cpuacct.usage && echo "\$SLURM_JOB_ID \$used" >$SCRATCH/kernel/\$SLURM_JOB_ID
rmdir job_\$SLURM_JOB_ID/kept job_\$SLURM_JOB_ID 2>/dev/null
exit 0
END
chmod 755 "$SCRATCH/prolog" "$SCRATCH/epilog"
printf '%s\n' "Prolog=$SCRATCH/prolog" "Epilog=$SCRATCH/epilog" >"$SCRATCH/jobcomp.conf"
jobcomp_rig --nodes=$node
munge=$SLURM/munge.sock
pg_start || { ok "Postgres starts" false; tap_done; }
agg_port=$(free_port) ceemsd_port=$(free_port)
CEEMSD_URL=http://127.0.0.1:$ceemsd_port
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
	"$BUILD/ceems-courier" --ship.spool="$SPOOL" --aggregator.url="http://127.0.0.1:$agg_port" --aggregator.munge-socket="$munge" \
		--aggregator.timeout=5s >>"$SCRATCH/courier.log" 2>&1 </dev/null &
	courier_pid=$!
	started $courier_pid
}
start_ceemsd() { # its clock and its courier's is what the file says
	env "${clock_off[@]}" CLOCK_OFF_FILE="$SCRATCH/off" "$BUILD/ceemsd" --path.rundir="$RUNDIR" --web.listen-address="127.0.0.1:$ceemsd_port" \
		--collector.slurm --collector.slurm.nodes=$node --unit.linger=10s --ring.slots=1024 --no-security.drop-privileges \
		--reports.enabled --reports.spool="$SCRATCH/spool/%n" --reports.interval=2s --cluster=ceemsrig \
		--aggregator.url="http://127.0.0.1:$agg_port" --aggregator.munge-socket="$munge" --aggregator.timeout=5s >>"$SCRATCH/ceemsd.log" 2>&1 </dev/null &
	ceemsd_pid=$!
	started $ceemsd_pid
}
gone() { ! kill -0 "$1" 2>/dev/null || grep -qs '^State:.Z' "/proc/$1/status"; }
kill9() { disown "$1" 2>/dev/null; kill -9 "$1" 2>/dev/null; wait_for 10 gone "$1"; }
nap() { sleep "0.$((RANDOM % 900 + 100))"; }

start_aggregator
start_ceemsd
start_courier
ok "the aggregator starts" wait_for 60 agg_up
ok "ceemsd starts" wait_for 60 ceemsd_up

leaps=(5 -5 30 -30 3600 -3600 10800 -10800 86400 -86400 2592000 -2592000)
make_fault() { # LETTER
	case $1 in
	L) clock_file "$SCRATCH/off" "${leaps[RANDOM % ${#leaps[@]}]}"; nap; nap; clock_file "$SCRATCH/off" 0 ;;
	l) clock_file "$SCRATCH/off" "${leaps[RANDOM % ${#leaps[@]}]}" ;; # until the next one
	T) kill9 "$ceemsd_pid"; rm -f "$RUNDIR/units"; nap; start_ceemsd ;;
	t) kill9 "$ceemsd_pid"; printf 'XXXXXXXXXXXXXXXX' | dd of="$RUNDIR/units" conv=notrunc status=none; start_ceemsd ;;
	R) rm -f "$RUNDIR/ring" ;;
	F) dd if=/dev/zero of="$SCRATCH/spool/filler" bs=4096 2>/dev/null; nap; nap; nap; rm -f "$SCRATCH/spool/filler" ;;
	W) kill9 "$aggregator_pid"; start_aggregator "${leaps[RANDOM % 8 + 4]}"; nap; nap; nap; kill9 "$aggregator_pid"; start_aggregator ;;
	A) kill9 "$aggregator_pid"; nap; start_aggregator ;;
	D) kill9 "$ceemsd_pid"; nap; start_ceemsd ;;
	c) kill -9 "$(pgrep -P "$ceemsd_pid" -f ceems-courier)" 2>/dev/null ;;
	C) kill9 "$courier_pid"; start_courier ;;
	esac
}
submit_jobs() { # NAME
	local n=0 left
	while [ $n -lt "$jobs" ]; do
		left=$((jobs - n < 20 ? jobs - n : 20))
		sbatch -o /dev/null -e /dev/null -J "$1" --array=1-$left --wrap \
			"[ \$((SLURM_ARRAY_TASK_ID % 3)) != 0 ] || srun $JOBS/burn 20; $JOBS/burn \$((SLURM_ARRAY_TASK_ID * 10))" >/dev/null 2>&1 && n=$((n + left)) || sleep 0.3
	done
}
# "number nanoseconds" of NAME: the kernel's word, of those that slurmctld ended; the bill
truth() { awk -v n="Name=$1" 'NR == FNR { used[$1] = $2; next } { for (i = 1; i <= NF; i++) if ($i == n) { sub(/^JobId=/, "", $1); print $1, ($1 in used ? used[$1] : "?") } }' <(cat "$SCRATCH"/kernel/*) "$TXT" | LC_ALL=C sort; }
bill() { db "SELECT uuid || ' ' || coalesce((cpu_user_ns + cpu_system_ns)::text, '-') FROM unit WHERE name = '$1' AND known_by = 'jobcomp'" | LC_ALL=C sort; }
same() { [ "$(truth "$1" | wc -l)" = "$jobs" ] && [ "$(truth "$1")" = "$(bill "$1")" ] && [ "$(db 'SELECT count(*) FROM dirty')" = 0 ]; }
# what of a run is on nobody's bill
strays() { db "SELECT uuid, known_by, cpu_user_ns + cpu_system_ns FROM unit WHERE known_by = 'node' ORDER BY id" | paste -sd' '; }

for ((mix = 1; mix <= mixes; mix++)); do
	RANDOM=$seed
	letters=${LETTERS:-LlTtRFWADcC} faults='' name=mix$mix
	submit_jobs $name &
	submitter=$!
	until ! kill -0 $submitter 2>/dev/null && no_job; do
		if [ -n "${FAULTS:-}" ]; then fault=${FAULTS:${#faults} % ${#FAULTS}:1}; else fault=${letters:RANDOM % ${#letters}:1}; fi
		faults+=$fault
		make_fault "$fault"
		nap
		nap
	done
	clock_file "$SCRATCH/off" 0
	echo "# mix $mix, SEED=$seed: $faults"
	within 240 same $name
	truth $name >"$SCRATCH/truth"
	bill $name >"$SCRATCH/bill"
	is "mix $mix: Slurm ended $jobs jobs" "$(wc -l <"$SCRATCH/truth")" "$jobs"
	is "mix $mix: none is lost" "$(LC_ALL=C comm -23 <(cut -d' ' -f1 "$SCRATCH/truth") <(cut -d' ' -f1 "$SCRATCH/bill") | paste -sd' ')" ""
	is "mix $mix: none is there twice" "$(cut -d' ' -f1 "$SCRATCH/bill" | uniq -d | paste -sd' ')" ""
	join "$SCRATCH/truth" "$SCRATCH/bill" | awk '$2 != $3 { print $1 ": " $2 " used, " $3 " billed, " $3 - $2 }' >"$SCRATCH/wrong"
	is "mix $mix: each is billed what the kernel counted" "$(cat "$SCRATCH/wrong")" ""
	is "mix $mix: and nobody else is" "$(strays)" ""
	[ -n "${KEEP:-}" ] && cp "$SCRATCH/wrong" "$SCRATCH/wrong.$mix"
	seed=$((seed + 1))
done
echo "# $((mixes * jobs)) jobs in $mixes mixes"
tap_done
