#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# prep_ceems.so in a real slurmctld: each run of a job has a record of its start while it runs, by
# what slurmctld knows, whatever the job says of itself; the site's PrologSlurmctld still runs.
#   slurm_prep.sh [24.11]
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
need_jobcomp "$@"
cat >"$SCRATCH/prolog" <<'END'
#!/bin/sh
echo "$SLURM_JOB_ID" >>"${0%/*}/prolog.ran"
END
chmod 755 "$SCRATCH/prolog"
echo "PrologSlurmctld=$SCRATCH/prolog" >"$SCRATCH/jobcomp.conf"
a=pra$$ b=prb$$
jobcomp_rig --prep --gpus=1 --nodes=$a,$b
batch() { sbatch -o /dev/null -e /dev/null --mem=20 "$@" | sed -n 's/^Submitted batch job //p'; }
all_records() { "$BUILD/ceems_tool" spool "$SPOOL" 2>/dev/null; }
# starts JOB [FILTER]: a line for each
starts() { all_records | jq -r "select(.event == \"started\" and .job_id == $1) | ${2:-.restarts}"; }
has_starts() { [ "$(starts "$1" | paste -sd' ')" = "$2" ]; }
state() { scontrol -o show job "$1" | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p'; }
in_state() { [ "$(state "$1")" = "$2" ]; }

forger=$(as daemon env SLURM_JOB_NAME=other SLURM_JOB_ACCOUNT=other SLURM_JOB_PARTITION=other \
	sbatch -o /dev/null -e /dev/null --mem=20 --gres=gpu:1 -J 'my job' --wrap 'sleep 300' | sed -n 's/^Submitted batch job //p')
ok "a job's start is recorded" wait_for 10 has_starts "$forger" 0
is "while it runs" "$(state "$forger"), ends: $(events "$forger")" "RUNNING, ends: "
is "with its owner, name and partition as slurmctld has them, and where and when it began" \
	"$(starts "$forger" '[.user, .uid, .group, .name, .account // "", .partition, .nodes == "'$a'", .cpus, .state, .start_s == .part_s, .end_s] | map(tostring) | join("|")')" \
	"daemon|$(id -u daemon)|$(id -gn daemon)|my job||$(scontrol -o show job "$forger" | sed 's/.* Partition=\([^ ]*\).*/\1/')|true|1|RUNNING|true|null"
is "and with its GPU" "$(starts "$forger" .gres)" "gpu:1(IDX:0)"
scancel "$forger"
ok "its end is recorded as without the plugin" wait_for 10 has_events "$forger" ended
is "both are of one run" "$(all_records | jq -r "select(.job_id == $forger) | \"\(.restarts) \(.submit_s) \(.start_s) \(.sluid)\"" | sort -u | wc -l)" 1

held=$(batch -H --wrap true)
scancel "$held"
ok "a job that never ran has no start" wait_for 10 has_events "$held" cancelled_pending
is "it has none" "$(starts "$held")" ""
requeued=$(batch --requeue --wrap 'sleep 300')
ok "a run that is requeued has its start" wait_for 10 has_starts "$requeued" 0
wait_for 10 in_state "$requeued" RUNNING
scontrol requeue "$requeued"
wait_for 10 in_state "$requeued" PENDING
scontrol update JobId="$requeued" StartTime=now
ok "and so has the next run" wait_for 150 has_starts "$requeued" "0 1"
scancel "$requeued"
srun --mem=20 -n1 true : --mem=20 -n1 true
array=$(batch --array=0-1 --wrap true)
all_ended() { [ "$(record "select(.array_job == $array or .het_job) | .job_id" | wc -l)" = 4 ]; }
ok "an array and a heterogeneous job end" wait_for 30 all_ended
ids() { all_records | jq -r "select((.array_job == $array or .het_job) and .event == \"$1\") | .job_id" | sort; }
is "each task and each component has one start" "$(ids started)" "$(ids ended)"
is "the site's own script ran for each of them" "$(sort -u "$SCRATCH/prolog.ran" | grep -cxF "$(ids ended)")" 4
is "no line of ours in slurmctld's log is an error" "$(grep -c 'error: ceems' "$SLURM/log/slurmctld.log")" 0

$rig stop "$SLURM"
rig_start ${jobcomp_version:+--slurm=$jobcomp_version} --prep --nodes=$a
ok "without our jobcomp plugin jobs run" srun --mem=20 true
srun --mem=20 true
case $SLURM_RIG_VERSION in
22.* | 23.* | 24.*) said=1 ;;
*) said=0 ;; # jobcomp is told, and nobody asks this plugin
esac
is "and one line says what is missing" "$(grep -c 'prep/ceems needs JobCompType=jobcomp/ceems' "$SLURM/log/slurmctld.log")" $said
tap_done
