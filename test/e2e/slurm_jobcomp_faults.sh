#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What happens to completion records when something dies or is full: slurmctld killed and
# reconfigured under a stream of jobs, the spool's folder with the wrong mode, missing, full.
# jobcomp/filetxt, chained, writes each record in the call itself and so knows the truth.
#   slurm_jobcomp_faults.sh [24.11]
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
need_jobcomp "$@"
full=$SCRATCH/full
faults_cleanup() { umount "$full" 2>/dev/null; }
eval "$(declare -f test_cleanup | sed 's/^test_cleanup/rig_cleanup/')"
test_cleanup() { rig_cleanup; faults_cleanup; }

mkdir "$full"
mounted=0
# before the rig: another root sees only what was there when it began
mount -t tmpfs -o size=192k,mode=700 tmpfs "$full" 2>/dev/null && mounted=1
jobcomp_rig --no-plugin
start_ctld() { SLURM_RIG_DIR=$SLURM CEEMS_JOBCOMP_CONF=$SLURM/jobcomp.yaml as root slurmctld </dev/null >/dev/null 2>&1; }
up() { scontrol ping 2>/dev/null | grep -q 'is UP'; }
stop_ctld() { # waits until it is gone
	local old
	old=$(ctld_pid)
	kill "${1:--TERM}" "$old"
	wait_for 20 eval "! kill -0 $old"
}
# "id start end" of each line and each record. A job that slurmctld ends a second time after it
# was killed, because its state file did not know yet, comes twice in both.
truth() { sed -n 's/^JobId=\([0-9]*\) .* StartTime=\([^ ]*\) EndTime=\([^ ]*\) .*/@\1\n\2\n\3/p' "$TXT" | date -f - +%s | paste -d' ' - - - | sort; }
told() { record '"\(.job_id) \(.start_s // .end_s) \(.end_s)"' | sort; }
said() { [ "$(complaints "$1")" -ge 1 ]; }
# said_seldom TEXT SECOND: once, and since then again after 1, 2, 4 ... minutes: a busy machine takes some
said_seldom() {
	local most=1 at=60 gap=60
	while [ $((SECONDS - $2)) -ge $at ]; do most=$((most + 1)) gap=$((gap * 2)) at=$((at + gap)); done
	[ "$(complaints "$1")" -ge 1 ] && [ "$(complaints "$1")" -le $most ]
}
# what kill -9 took out of the queue: a record is on the disk a second after its call, not before
: >"$SCRATCH/young"
same() { [ $(($(wc -l <"$TXT") - $(wc -l <"$SCRATCH/young"))) = "$(records | wc -l)" ]; }
# slurmctld answers and has heard of its node again: until then the node may be down for it
node_up() { sinfo -h -o %t 2>/dev/null | grep -qxE 'idle|mix|alloc|comp'; }
back() { wait_for 30 up && { wait_for 15 node_up || { scontrol update nodename="$SLURM_RIG_NODES" state=resume && wait_for 30 node_up; }; }; }
stream() { # SECONDS: short jobs one after the other, whatever slurmctld does meanwhile
	local end=$((SECONDS + $1))
	while [ $SECONDS -lt $end ]; do sbatch -o /dev/null -e /dev/null --mem=20 --wrap true >/dev/null 2>&1 || sleep 0.1; done
}

# ---- reconfigure --------------------------------------------------------------------------
stream 6 & one=$!
stream 6 & two=$!
sleep 2
scontrol reconfigure
sleep 1
scontrol reconfigure
wait $one $two
ok "a stream of jobs ends" wait_for 180 no_job
ok "slurmctld is up" wait_for 10 up
wait_for 10 same
is "two reconfigurations lost no record and doubled none: $(records | wc -l)" "$(told)" "$(truth)"
is "and none has the key of another" "$(record '[.cluster, .job_id, .restarts, .submit_s, .part_s, .state_number] | map(tostring) | join(" ")' | sort | uniq -d)" ""
is "nobody complains of a lock" "$(complaints 'another')" 0

# ---- kill -9 ------------------------------------------------------------------------------
stream 7 & one=$!
sleep 3
# older than a second is what jobcomp/filetxt was told a second before, not what ended then
truth | uniq >"$SCRATCH/old"
sleep 1.2
# between two calls: in the middle of one ours has the record already, and jobcomp/filetxt not yet
between_calls() { kill -STOP "$(ctld_pid)" && { [ -z "$(comm -13 <(truth) <(told))" ] || { kill -CONT "$(ctld_pid)"; false; }; }; }
wait_for 20 between_calls
stop_ctld -KILL
sleep 0.2
start_ctld
wait $one
ok "slurmctld comes back after kill -9" back
# what its state file says to run still, although it has ended, Slurm itself finds out late
scancel -u root
ok "all jobs are over" wait_for 180 no_job
lost() { comm -23 "$SCRATCH/old" <(told | uniq) | wc -l; }
none_lost() { [ "$(lost)" = 0 ]; }
sleep 1
wait_for 10 none_lost
is "no record that was older than a second is lost" "$(lost)" 0
comm -23 <(truth | uniq) <(told | uniq) >"$SCRATCH/young"
echo "# $(wc -l <"$SCRATCH/young") younger ones"
is "none is there more often than slurmctld told it" "$(comm -13 <(truth) <(told))" ""

# ---- the folder -----------------------------------------------------------------------------
chmod 750 "$SPOOL"
stop_ctld
begun=$SECONDS
start_ctld
ok "slurmctld starts with a spool of the wrong mode" back
ok "it says so, with what to do" wait_for 10 said 'chmod 0700'
ok "jobs run" srun --mem=20 true
for i in 1 2 3; do srun --mem=20 true; done
like "scontrol answers" "$(scontrol -o show partition)" PartitionName=main
sleep 1
ok "it is said once" said_seldom 'chmod 0700' $begun
chmod 700 "$SPOOL"
ok "once it is put right the records are written" wait_for 10 same
ok "and it says that, too" wait_for 5 said 'are written again'
is "none is lost" "$(told)" "$(truth | grep -vxFf "$SCRATCH/young")"

rm -rf "$SPOOL"
srun --mem=20 true
ok "a folder that was removed under it is made again" wait_for 10 test -d "$SPOOL"
ok "with the record" wait_for 10 count_records 1

# ---- a chain that fails ------------------------------------------------------------------
# jobcomp/script refuses a JobCompLoc that is no program: alone that would be slurmctld's end
chained() { # PLUGIN: slurmctld begins anew with it
	stop_ctld
	sed -i "s|^chain:.*|chain: $1|" "$SLURM/jobcomp.yaml"
	start_ctld
}
for chain in jobcomp/nosuch jobcomp/script; do
	chained $chain
	ok "slurmctld starts with a chained plugin that fails: $chain" back
	case $chain in */nosuch) why='jobcomp/nosuch cannot be loaded' ;; *) why='jobcomp/script rejects JobCompLoc' ;; esac
	ok "which is said" wait_for 5 said "$why"
	n=$(records | wc -l)
	ok "jobs run" srun --mem=20 true
	ok "and have their record here" wait_for 10 count_records $((n + 1))
done
chained jobcomp/filetxt
ok "slurmctld starts with the one that works" back
srun --mem=20 true
like "which gets its records again" "$(wait_for 10 test -s "$TXT" && tail -n 1 "$TXT")" "^JobId=$(record .job_id | sort -n | tail -n 1) "

# ---- full -----------------------------------------------------------------------------------
if [ $mounted = 1 ]; then
	stop_ctld
	sed -i "s|^spool:.*|spool: $full/spool|" "$SLURM/jobcomp.yaml"
	SPOOL=$full/spool
	: >"$TXT"
	: >"$SCRATCH/young"
	head -c 171072 /dev/zero >"$full/other" # the rest holds some; all, with starts (25.05), fit without it
	begun=$SECONDS
	start_ctld
	back
	sbatch -o /dev/null -e /dev/null --mem=20 --comment="$(head -c 1000 /dev/zero | tr '\0' y)" --array=0-29 --wrap true >/dev/null
	ok "jobs run while the spool's disk is full" wait_for 180 no_job
	sinfo -h -R | sed 's/^/# /' # why a node takes no job, if one does not
	ok "it is said" wait_for 10 said 'No space left'
	ok "jobs run on" timeout 180 srun --mem=20 true
	rm "$full/other"
	ok "with room again every record is written" wait_for 10 same
	is "none is lost" "$(told)" "$(truth)"
	ok "it was said once" said_seldom 'No space left' $begun
else
	skip "jobs run while the spool's disk is full" "no tmpfs can be mounted here"
fi
node_idle() { [ "$(sinfo -h -N -o %T | sort -u)" = idle ]; }
ok "the node is not drained" wait_for 60 node_idle
tap_done
