#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs of every kind in a real Slurm, and what its slurmctld's jobcomp plugin makes of them:
# one record each, in agreement with sacct, and the same jobs in the plugin that is chained.
#   slurm_jobcomp.sh [24.11]
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
need_jobcomp "$@"
dbd=()
if command -v mariadbd >/dev/null && command -v slurmdbd >/dev/null; then
	dbd=(--dbd)
	echo "AccountingStorageTRES=gres/gpu" >"$SCRATCH/jobcomp.conf"
fi
a=jca$$ b=jcb$$
jobcomp_rig --gpus=2 --nodes=$a,$b "${dbd[@]}"
batch() { sbatch -o /dev/null -e /dev/null --mem=20 "$@" | sed -n 's/^Submitted batch job //p'; }
state() { scontrol -o show job "$1" | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p'; }
in_state() { [ "$(state "$1")" = "$2" ]; }

# ---- submitted together, to run while the others are looked at --------------------------
timeout=$(batch --wrap 'sleep 120' -J slow)
wait_for 10 in_state "$timeout" RUNNING
scontrol update JobId="$timeout" TimeLimit=0 # looked at twice a minute

srun --mem=20 --gres=gpu:1 --comment='hello "w\ö' -J 'first job' true
as daemon srun --mem=20 bash -c 'exit 3' 2>/dev/null
srun --mem=20 tail /dev/zero >/dev/null 2>&1
srun --mem=20 -n1 : --mem=20 -n1 sleep 0.3 2>/dev/null
but_slow() { record 'select(.name != "slow") | .event' | sort | uniq -c | tr -s ' '; }
five() { [ "$(but_slow)" = " 5 ended" ]; }
wait_for 10 five
is "four jobs and the components of one have a record each" "$(but_slow)" " 5 ended"
first=$(record 'select(.name == "first job")')
is "a completed job" "$(jq -r '[.state, .exit_code, .nodes, .user, .group, .cluster] | map(tostring) | join(" ")' <<<"$first")" \
	"COMPLETED 0 $a root root ceemsrig"
is "its comment, quotes and all" "$(jq -r .comment <<<"$first")" 'hello "w\ö'
is "its GPU, with its index" "$(jq -r .gres <<<"$first")" "gpu:1(IDX:0)"
is "no amount that is not known, and no energy" "$(record '.tres_allocated, .tres_requested' | grep -c '1844674407\|energy')" 0
is "an ordinary user's failed job" "$(record 'select(.user == "daemon") | [.state, .exit_code, .reason_name, .uid, .group] | map(tostring) | join(" ")')" \
	"FAILED 768 NonZeroExitCode $(id -u daemon) $(id -gn daemon)"
is "one that was killed for want of memory" "$(record 'select(.name == "tail") | .state')" OUT_OF_MEMORY
is "all five were made by srun" "$(record 'select(.name != "slow") | .by_srun' | sort | uniq -c | tr -s ' ')" " 5 true"
is "each component of a heterogeneous job" "$(record 'select(.het_job) | [.het_offset, .job_id - .het_job] | map(tostring) | join(" ")' | paste -sd,)" "0 0,1 1"

# ---- arrays ------------------------------------------------------------------------------
array=$(batch --array=0-9%1 --wrap '[ $SLURM_ARRAY_TASK_ID = 0 ] || sleep 300')
a_task_ended() { [ -n "$(record "select(.array_job == $array)")" ]; }
wait_for 20 a_task_ended
scancel "$array"
no_job_but_slow() { [ -z "$(squeue -h -t PD,R,CG -o %j | grep -v slow)" ]; }
ok "an array ends" wait_for 120 no_job_but_slow
all_ten() { # what ran and what never did
	local left
	left=$(record "select(.array_job == $array and .event == \"array_remainder\") | .array_task_count") &&
		[ $(($(record "select(.array_job == $array and .event == \"ended\") | .array_task" | wc -l) + left)) = 10 ]
}
wait_for 10 all_ten
is "what of it never ran is one record" "$(record "select(.array_job == $array and .event == \"array_remainder\") | .state")" CANCELLED
ran=$(record "select(.array_job == $array and .event == \"ended\") | .array_task" | sort -n | paste -sd,)
left=$(record "select(.array_job == $array and .event == \"array_remainder\") | .array_task_count")
is "each task of it is in one record: $ran and $left more" $(($(tr ',' '\n' <<<"$ran" | wc -l) + left)) 10
is "sbatch is not srun" "$(record "select(.array_job == $array) | .by_srun" | sort -u)" null
like "which are named" "$(record "select(.array_job == $array and .event == \"array_remainder\") | .array_tasks")" '^[1-9](-9)?$'
is "a task has an id of its own" "$(record "select(.array_job == $array and .event == \"ended\") | .job_id" | sort -u | wc -l)" \
	"$(tr ',' '\n' <<<"$ran" | wc -l)"

# ---- not to the end, or not at all -------------------------------------------------------
requeued=$(batch --requeue --wrap 'sleep 60')
wait_for 10 in_state "$requeued" RUNNING
sleep 1
scontrol requeue "$requeued"
ok "a requeue is a record of the run that is over" wait_for 10 has_events "$requeued" requeued
wait_for 10 in_state "$requeued" PENDING
scancel "$requeued"
ok "and the job that is cancelled while it waits again another one" wait_for 10 has_events "$requeued" "requeued cancelled_pending"
is "with the next restart count" "$(record "select(.job_id == $requeued) | \"\(.restarts) \(.state)\"" | paste -sd,)" "0 REQUEUED,1 CANCELLED"
held=$(batch -H --wrap true)
as daemon scancel "$held" 2>/dev/null
scancel "$held"
ok "a job that is cancelled while pending" wait_for 10 has_events "$held" cancelled_pending
is "has neither start nor nodes, and who cancelled it" "$(record "select(.job_id == $held) | [.start_s, .nodes, .tres_allocated, .cancelled_by] | map(tostring) | join(\" \")")" "null null null 0"
resized=$(cd "$SCRATCH" && salloc -N2 --mem=20 bash -c 'sleep 1.2; scontrol update JobId=$SLURM_JOB_ID NumNodes=1; sleep 1.2; echo $SLURM_JOB_ID' 2>/dev/null | tail -1)
ok "a resized job has a record of each part" wait_for 10 has_events "$resized" "resized ended"
is "with the nodes of that part" "$(record "select(.job_id == $resized) | .node_count" | paste -sd' ')" "2 1"
is "whose ends are the resize and the end" "$(record "select(.job_id == $resized) | [.end_s - .part_s > 0, .resize_s == .part_s] | map(tostring) | join(\" \")" | paste -sd,)" "false true,true true"
ok "a job beyond its time limit" wait_for 60 has_events "$timeout" ended
is "is TIMEOUT" "$(record "select(.job_id == $timeout) | .state")" TIMEOUT
like "it was eligible, began and ended in this order" "$(record "select(.job_id == $timeout) | .submit_s <= .eligible_s and .eligible_s <= .start_s and .start_s < .end_s")" true
is "records are told apart by cluster, job, run, submission, part and state" \
	"$(record '[.cluster, .job_id, .restarts, .submit_s, .part_s, .state_number] | map(tostring) | join(" ")' | sort | uniq -d)" ""

# ---- beside sacct -------------------------------------------------------------------------
if [ ${#dbd[@]} -gt 0 ]; then
	ours() { # the start of a later part is the job's in one release, the part's in another
		record 'select(.start_s) | [.job_id, .state, .exit_code,
			.start_s, .end_s, .tres_allocated // ""] | map(tostring) | join("|")' |
			awk -F'|' -v OFS='|' -v resized="$resized" '$1 == resized { $4 = "-" } { n = split($6, t, ","); for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (t[j] < t[i]) { x = t[i]; t[i] = t[j]; t[j] = x }
				s = ""; for (i = 1; i <= n; i++) s = s (i > 1 ? "," : "") t[i]; $6 = s; $3 = int($3 / 256) ":" $3 % 128; print }' | sort
	}
	theirs() {
		SLURM_TIME_FORMAT=%s sacct -n -P -X -D -S now-1hour -o JobIDRaw,State,ExitCode,Start,End,AllocTRES |
			awk -F'|' -v OFS='|' -v resized="$resized" '{ sub(/ by .*/, "", $2); if ($4 !~ /^[0-9]+$/) $4 = 0; gsub(/(^|,)energy=[0-9]+/, "", $6); sub(/^,/, "", $6); if ($1 == resized) $4 = "-"; if ($4) print }' | sort
	}
	agree() { [ "$(ours)" = "$(theirs)" ]; }
	wait_for 15 agree
	is "state, exit code, times and TRES of all that ran agree with sacct" "$(ours)" "$(theirs)"
	if [ "$SLURM_RIG_VERSION" != 22.05 ]; then
		# sacct's is of its row: since 25.11 that of a resized job's later parts is not the job's
		spelt() { # of a 64-bit number, as Slurm does
			local digits=0123456789ABCDEFGHJKMNPQRSTVWXYZ i s=
			for ((i = 60; i >= 0; i -= 5)); do s+=${digits:$((($1 >> i) & (i == 60 ? 15 : 31))):1}; done
			echo "s$s"
		}
		sluids() { record 'select(.start_s) | "\(.job_id) \(.db_index)"' | while read -r job row; do echo "$job|$(spelt "$row")"; done | sort; }
		is "a job's SLUID is its first row's" "$(record "select(.job_id != $resized and .start_s) | .sluid" | sort)" "$(sluids | grep -v "^$resized|" | cut -d'|' -f2 | sort)"
		is "and so do the SLUIDs" "$(sluids)" "$(sacct -n -P -X -D -S now-1hour -o JobIDRaw,SLUID,Start | awk -F'|' '$3 ~ /^2/ { print $1 "|" $2 }' | sort)"
	fi
	is "GPUs by the site's own TRES" "$(jq -r .tres_allocated <<<"$first" | grep -o 'gres/gpu=1')" "gres/gpu=1"
	is "and the QOS" "$(jq -r .qos <<<"$first")" normal
else
	skip "state, exit code, times and TRES of all that ran agree with sacct" "no slurmdbd or MariaDB"
fi

# ---- the chained plugin -------------------------------------------------------------------
same_lines() { [ "$(sed 's/^JobId=\([0-9]*\) .*/\1/' "$TXT")" = "$(record .job_id)" ]; }
wait_for 10 same_lines
is "jobcomp/filetxt has a line for each record, in the same order" \
	"$(sed 's/^JobId=\([0-9]*\) .*/\1/' "$TXT")" "$(record .job_id)"
mv "$TXT" "$TXT.1"
kill -USR2 "$(ctld_pid)"
ok "the rotation of logs reaches it" wait_for 10 test -e "$TXT"
srun --mem=20 true
ok "it writes into the new file" wait_for 10 test -s "$TXT"
export CEEMS_JOBCOMP_CONF=$SLURM/inert.yaml
printf 'spool: %s\nchain: jobcomp/filetxt\n' "$SLURM/inert" >"$CEEMS_JOBCOMP_CONF"
out=$(sacct -c -n -P -o JobID,State 2>/dev/null)
is "sacct -c asks it, too" "$out" "$(sed -n 's/^JobId=\([0-9]*\) .* JobState=\([A-Z]*\) .*/\1|\2/p' "$TXT")"
chmod 600 "$CEEMS_JOBCOMP_CONF"
ok "as daemon sacct -c without the right to read the options works" as daemon sacct -c -n
ok "and makes no spool" test ! -e "$SLURM/inert"
if command -v strace >/dev/null && [ -z "$SLURM_RIG_ROOT" ]; then
	strace -f -qq -e trace=clone,clone3 -o "$SCRATCH/strace" sacct -c -n >/dev/null 2>&1
	is "nor a thread" "$(grep -c CLONE_THREAD "$SCRATCH/strace")" 0
else
	skip "nor a thread" "no strace, or another root"
fi
unset CEEMS_JOBCOMP_CONF
is "slurmctld has one thread of ours" "$(cat /proc/"$(ctld_pid)"/task/*/comm | grep -c ceems_jobcomp)" 1
is "no line of ours in its log is an error" "$(grep -c 'error: ceems' "$SLURM/log/slurmctld.log")" 0
tap_done
