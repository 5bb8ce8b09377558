#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs of unusual shapes in a real Slurm: several programs in one step, steps that overlap, a broadcast program, another user's job by
# --uid, an environment of 200 KB, a signal, preemption by suspending (gang scheduling) and by requeueing, a cron job. Each step has one
# start and one end, each unit the CPU time of its steps, each run its completion record.
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
need_jobcomp
a=sha$$ b=shb$$
cat >"$SCRATCH/jobcomp.conf" <<END
ScronParameters=enable
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
PartitionName=low Nodes=$a PriorityTier=1 OverSubscribe=FORCE:1 PreemptMode=SUSPEND State=UP MaxTime=60
PartitionName=high Nodes=$a PriorityTier=10 OverSubscribe=FORCE:1 PreemptMode=OFF State=UP MaxTime=60
PartitionName=again Nodes=$b PriorityTier=1 OverSubscribe=NO PreemptMode=REQUEUE State=UP MaxTime=60
PartitionName=urgent Nodes=$b PriorityTier=10 OverSubscribe=NO PreemptMode=OFF State=UP MaxTime=60
END
jobcomp_rig --nodes=$a,$b --contain
ceemsd_start --ring.slots=1024
ok "ceemsd starts" wait_for 20 ceemsd_up
truth_start
burn=$JOBS/burn all=$(nproc)
batch() { sbatch --parsable -o /dev/null -e /dev/null --mem=20 "$@"; }
unit_count() { record_steps | awk '{ print $1, $2 }' | sort -u | wc -l; }
in_state() { [ "$(squeue -h -t all -j "$1" -o %T)" = "$2" ]; }

has_cron() { command -v scrontab >/dev/null; }
! has_cron || echo "* * * * * $burn 20" | scrontab -
cron=$(squeue -h -o %A)
printf '0 %s 60\n1 %s 90\n' "$burn" "$burn" >"$JOBS/programs"
cat >"$JOBS/steps" <<END
#!/bin/bash
srun -n1 --overlap "$burn" 50 &
srun -n1 --overlap "$burn" 70 &
wait
sbcast "$burn" "$JOBS/copy.\$SLURM_JOB_ID" && srun -n1 "$JOBS/copy.\$SLURM_JOB_ID" 30
END
cat >"$JOBS/signal" <<END
#!/bin/bash
trap 'kill %1; exit 3' USR1
sleep 100 &
"$burn" 40
touch "$JOBS/burnt"
wait
END
chmod 755 "$JOBS/steps" "$JOBS/signal"
srun -J programs -n2 --mem=20 --multi-prog "$JOBS/programs" >/dev/null 2>&1
batch -J steps "$JOBS/steps" >/dev/null
batch -J other --uid=daemon --wrap "$burn 40" >/dev/null
(
	for ((i = 0; i < 200; i++)); do export "BIG_$i=$(printf %01000d 7)"; done
	srun -J big --mem=20 "$burn" 40 >/dev/null 2>&1
)
signal=$(batch -J signal "$JOBS/signal")
ok "a script waits for its signal" wait_for 20 test -e "$JOBS/burnt"
scancel --batch --signal=USR1 "$signal"
low=$(batch -J low -p low -n"$all" --wrap "$burn 4000") # for longer than a busy controller needs to suspend it
wait_for 20 in_state "$low" RUNNING
batch -J high -p high -n"$all" --wrap "$burn 4000" >/dev/null
ok "a job of a higher tier suspends another" wait_for 20 in_state "$low" SUSPENDED
again=$(batch -J again -p again -n"$all" --requeue --wrap "$burn 200; touch $JOBS/\$SLURM_JOB_ID.\${SLURM_RESTART_COUNT:-0}; [ \"\${SLURM_RESTART_COUNT:-0}\" != 0 ] || sleep 100")
wait_for 20 test -e "$JOBS/$again.0"
urgent=$(batch -J urgent -p urgent -n"$all" --wrap "$burn 100")
ok "another is requeued for it" wait_for 60 in_state "$urgent" COMPLETED
wait_for 20 in_state "$again" PENDING
scontrol update JobId="$again" StartTime=now
ok "and runs again" wait_for 60 test -e "$JOBS/$again.1"
if has_cron; then
	# twice: each minute
	ok "a cron job runs" wait_for 150 has_events "$cron" "ended ended"
	scrontab -r
	ok "until it is removed" wait_for 20 has_events "$cron" "ended ended cancelled_pending"
	is "each minute is a run" "$(record "select(.job_id == $cron) | \"\(.restarts) \(.state)\"" | paste -sd,)" "0 COMPLETED,1 COMPLETED,2 CANCELLED"
else
	skip "a cron job runs" "no scrontab here"
fi
ok "all jobs end" settled 100

is "each step has one start and one last end" "$(record_steps | awk '$6 != 1 || $8 != 1')" ""
# a group may count a little more between its record and its removal, never less
is "each unit's CPU time is that of its steps' records, or a twentieth more at most" \
	"$(paste -d' ' <(scraped_cpu) <(record_cpu) | awk '$2 != $5 || $3 < $6 || $3 > $6 * 1.05'; scraped_cpu | wc -l)" "$(unit_count)"
ok "two programs in one step count" [ "$(unit programs ".[0] | $cpu_ms")" -ge 150 ]
is "steps that overlap are steps of their own" "$(unit steps '.[0].steps | map(.step) | sort | join(" ")')" "0 1 2 batch extern"
ok "with their CPU time, and that of a broadcast program" [ "$(unit steps ".[0] | $cpu_ms")" -ge 150 ]
is "a job that root submits for another user is the other one's" "$(unit other '.[0].uid') $(record 'select(.name == "other").user')" "$(id -u daemon) daemon"
ok "an environment of 200 KB hides no job" [ "$(unit big ".[0] | $cpu_ms")" -ge 40 ]
is "a signal ends a script as it says" "$(unit signal '.[0].end') $(record 'select(.name == "signal") | "\(.state) \(.exit_code)"')" "failed FAILED 768"
ok "the suspended job has all that it used" [ "$(unit low ".[0] | $cpu_ms")" -ge 400 ]
ok "and its record for how long it was suspended" [ "$(record 'select(.name == "low").suspended_s')" -ge 1 ]
is "the requeued job has two runs, of which one was preempted" "$(record "select(.job_id == $again) | \"\\(.state) \\(.restarts)\"" | paste -sd,)" "PREEMPTED 0,COMPLETED 1"
is "each is a unit" "$(unit again 'map("\(.restarts) \('"$cpu_ms"' >= 200)") | sort | join(",")')" "0 true,1 true"
is "nothing was dropped" "$("$BUILD/ceems-ringdump" -s "$RING" | jq -r '"\(.dropped) \(.torn)"')" "0 0"
tap_done
