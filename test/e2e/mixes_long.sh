#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Everything at once that a site has seen: while real jobs run, in random order, the clock of ceemsd and its
# courier leaps (L for a moment, l until the next) and that of slurmd and slurmstepd with it (S, as far as a
# real Slurm goes on), the unit table is removed (T) or damaged (t), the ring removed (R), the spool's disk
# full (F), the aggregator's clock wrong (W), and the aggregator (A), ceemsd (D), its courier (c) and that of
# slurmctld's records (C) are killed. From Slurm 25.05 on slurmctld tells each start as well; those records come at once,
# twice, late, or after the job's end (test/fake/spool_late.c). Afterwards each job that Slurm ended is there once, with the CPU time
# that the kernel counted for it (test/slurm_bill.sh). s is as S, but by a minute at most, which an
# aggregator takes for right.
# MIXES=N (20), JOBS=N (300, of each), SEED=N: of the first mix, the next has the next; LETTERS=: of these faults;
# FAULTS=: in this order, as the test prints it; KEEP=1: what there was to look at stays. Smoke: MIXES=1 JOBS=20.
# timeout 4300
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
. test/pg.sh
. test/clock_off.sh
. test/slurm_bill.sh
mkdir "$SCRATCH/spool"
mount -t tmpfs -o size=8m,mode=700 tmpfs "$SCRATCH/spool" 2>/dev/null || skip_all "cannot mount a tmpfs"
eval "$(declare -f test_cleanup | sed 's/^test_cleanup/rig_cleanup/')"
test_cleanup() { rig_cleanup; pg_cleanup; umount -l "$SCRATCH/spool"; }
mixes=${MIXES:-20} jobs=${JOBS:-300} seed=${SEED:-$RANDOM}
node=mix$$
BILL_SPOOL=$SCRATCH/late
bill_rig
"$BUILD/spool_late" "$SPOOL" "$BILL_SPOOL" "$seed" >"$SCRATCH/passed" </dev/null &
started $!
tells_starts() { printf "%s\n" 25.05 "$(rig_version)" | sort -VC; }
# all that slurmctld told was taken by the aggregator: nothing is held, or in a spool
all_shipped() {
	[ "$(grep -c '^held' "$SCRATCH/passed")" = "$(grep -Ec '^start .* (twice|late|behind)$' "$SCRATCH/passed")" ] &&
		[ -z "$("$BUILD/ceems_tool" spool "$SPOOL")$("$BUILD/ceems_tool" spool "$BILL_SPOOL")" ]
}
starts() { awk -v how="$1" '$1 == "start" && (how == "" || $3 == how) { n += !seen[$2]++ } END { print n + 0 }' "$SCRATCH/passed"; }
nap() { sleep "0.$((RANDOM % 900 + 100))"; }

leaps=(5 -5 30 -30 3600 -3600 10800 -10800 86400 -86400 2592000 -2592000)
slurm_leaps=(-130 -170 -220)
close_leaps=(5 -5 30 -30 60 -60)
make_fault() { # LETTER
	case $1 in
	L) clock_file "$SCRATCH/off" "${leaps[RANDOM % ${#leaps[@]}]}"; nap; nap; clock_file "$SCRATCH/off" 0 ;;
	l) clock_file "$SCRATCH/off" "${leaps[RANDOM % ${#leaps[@]}]}" ;; # until the next one
	S) clocks_set "${slurm_leaps[RANDOM % ${#slurm_leaps[@]}]}" ;; # until the next one
	s) clocks_set "${close_leaps[RANDOM % ${#close_leaps[@]}]}" ;;
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
# A spool on a full disk gives up the oldest intervals first (doc/reports.md): the unit's totals have what they said, by
# its final report, its hours and days do not. Units of NAME of which hours or days are anything else.
short_units() { # NAME SENSE
	db "SELECT count(*) FROM unit u, LATERAL (SELECT coalesce(sum(cpu_user_ns + cpu_system_ns), 0) AS cpu FROM unit_hour h WHERE h.unit = u.id) h,
		LATERAL (SELECT coalesce(sum(cpu_user_ns + cpu_system_ns), 0) AS cpu FROM unit_day d WHERE d.unit = u.id) d
		WHERE u.name = '$1' AND u.known_by = 'jobcomp' AND (h.cpu $2 u.cpu_user_ns + u.cpu_system_ns OR h.cpu <> d.cpu)"
}
given_up() { curl -sf -m 20 "http://127.0.0.1:$ceemsd_port/metrics" | awk '/^ceems_reports_lost_total{.*kind="interval"/ { print $NF }'; }
submit_jobs() { # NAME
	local n=0 left
	while [ $n -lt "$jobs" ]; do
		left=$((jobs - n < 20 ? jobs - n : 20))
		sbatch -o /dev/null -e /dev/null -J "$1" --array=1-$left --wrap \
			"[ \$((SLURM_ARRAY_TASK_ID % 3)) != 0 ] || srun $JOBS/burn 20; $JOBS/burn \$((SLURM_ARRAY_TASK_ID * 10))" >/dev/null 2>&1 && n=$((n + left)) || sleep 0.3
	done
}
for ((mix = 1; mix <= mixes; mix++)); do
	RANDOM=$seed
	letters=${LETTERS:-LlSsTtRFWADcC} faults='' name=mix$mix
	submit_jobs $name &
	submitter=$!
	until ! kill -0 $submitter 2>/dev/null && no_job; do
		if [ -n "${FAULTS:-}" ]; then fault=${FAULTS:${#faults} % ${#FAULTS}:1}; else fault=${letters:RANDOM % ${#letters}:1}; fi
		faults+=$fault
		make_fault "$fault"
		nap
		nap
	done
	clocks_set 0
	echo "# mix $mix, SEED=$seed: $faults"
	ok "mix $mix: all records of slurmctld are taken" wait_for 240 all_shipped
	check_bill "mix $mix" $name "$jobs"
	if tells_starts; then is "mix $mix: each job had the record of its start" "$(starts)" "$((mix * jobs))"; fi
	echo "# mix $mix, starts so far: $(starts now) at once, $(starts twice) twice, $(starts late) late, $(starts behind) after the end"
	short=$(short_units $name '<')
	is "mix $mix: hours and days have no more than units" "$(short_units $name '>')" 0
	wait_for 60 ceemsd_up
	lost=$(given_up)
	ok "mix $mix: nor less, but for intervals that a full disk gave up" [ "$short" -le "${lost:-0}" ]
	echo "# mix $mix: $short units have less in their hours, $lost intervals were given up"
	[ -n "${KEEP:-}" ] && cp "$SCRATCH/wrong" "$SCRATCH/wrong.$mix" && "$PGBIN/pg_dump" -f "$SCRATCH/db.$mix" "$PGURL"
	seed=$((seed + 1))
done
echo "# $((mixes * jobs)) jobs in $mixes mixes"
tap_done
