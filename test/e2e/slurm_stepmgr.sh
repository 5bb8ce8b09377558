#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm with SlurmctldParameters=enable_stepmgr (24.11, or a later one in PATH): steps are made by the job's extern slurmstepd and slurmctld knows nothing of
# them. Each has its start and its end with its last counters all the same, the unit has their sum, and slurmctld's record of
# the job comes as ever. Beside a job without it, of the same shape.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
. "$(dirname "$0")/../jobcomp_slurm.sh"
case $(rig_version) in
2[0-3].* | 24.05 | '') need_jobcomp 24.11 ;;
*) need_jobcomp ;;
esac
echo SlurmctldParameters=enable_stepmgr >"$SCRATCH/jobcomp.conf"
jobcomp_rig --contain
ceemsd_start --ring.slots=1024
ok "ceemsd starts" wait_for 20 ceemsd_up
truth_start
cat >"$JOBS/mix" <<END
#!/bin/bash
srun "$JOBS/burn" 60
srun -n1 --overlap "$JOBS/burn" 100 &
srun -n1 --overlap "$JOBS/burn" 40 &
wait
for i in 1 2 3 4 5; do srun true; done
"$JOBS/burn" 30
END
chmod 755 "$JOBS/mix"
with=$(sbatch --parsable -o /dev/null -e /dev/null --stepmgr "$JOBS/mix")
wait_for 100 no_job
without=$(sbatch --parsable -o /dev/null -e /dev/null "$JOBS/mix")
ok "both jobs end" settled 100
ok "the first one's steps are managed by its extern step" grep -q "$with.extern stepmgr" "$SLURM"/log/slurmd-*.log
steps() { record_steps | awk -v id="$1" '$2 == id { print $4, $6, $8 }' | sort -n | paste -sd,; } # step, its starts, its last words
is "each step has its start and its end, as without" "$(steps "$with")" "$(steps "$without")"
is "there are all of them" "$(steps "$with" | tr , '\n' | wc -l)" 10
# a group may count a little more between its record and its removal, never less
ok "the CPU time of each unit is that of its steps, or a twentieth more at most" \
	[ "$(paste -d' ' <(scraped_cpu) <(record_cpu) | awk '$2 == $5 && $3 >= $6 && $3 <= $6 * 1.05' | wc -l)" = 2 ]
is "slurmctld's record of each has come" "$(events "$with") $(events "$without")" "ended ended"
is "how they ended" "$(ended_states | cut -d' ' -f1)" 2
is "nothing was dropped" "$("$BUILD/ceems-ringdump" -s "$RING" | jq -r '"\(.dropped) \(.torn)"')" "0 0"
tap_done
