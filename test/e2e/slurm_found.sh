#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs of a real Slurm that ceemsd finds already running: it is started for the first time, and it is
# killed and its unit table removed or damaged while they run. Its reports add up to what
# the kernel counted for the job, to the nanosecond, with the steps that had ended by then.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm

node=found$$
rig_start --nodes=$node
folder=$SCRATCH/spool/$(hostname)
found_start() { ceemsd_start --reports.enabled --reports.interval=1s --reports.spool="$SCRATCH/spool/%n" --cluster=rig; }
reports() { "$BUILD/ceems_tool" spool "$folder" >"$SCRATCH/reports" && test -s "$SCRATCH/reports"; }

# a batch script that uses nothing while it waits for a word
mkfifo "$JOBS/go"
sbatch -J mid -o /dev/null --wrap "srun $JOBS/burn 300; srun $JOBS/burn 200; touch $JOBS/here.1; read x <$JOBS/go
	srun $JOBS/burn 250; touch $JOBS/here.2; read x <$JOBS/go; srun $JOBS/burn 150; touch $JOBS/here.3; read x <$JOBS/go; srun $JOBS/burn 100" >/dev/null
rests() { # which: the job waits there, and its steps have gone
	[ -e "$JOBS/here.$1" ] && ! compgen -G "$group/step_[0-9]*" >/dev/null
}
cpuacct=/sys/fs/cgroup/cpuacct/slurm_$node
ok "a job runs" wait_for 60 compgen -G "$cpuacct/uid_*/job_*"
group=$(compgen -G "$cpuacct/uid_*/job_*")
ok "two of its steps have ended" wait_for 60 rests 1
kernel() { cat "$group/cpuacct.usage"; }
# before + windows of the newest instance
absolute='map(select(.unit == $u)) | (last | .instance) as $i | map(select(.instance == $i)) |
	(.[0].before_cpu_user_ns + .[0].before_cpu_system_ns) + (map(select(.kind == "interval") | .cpu_user_ns + .cpu_system_ns) | add // 0)'
job=${group##*_}
told() { reports && jq -s --arg u "$job" "$absolute" "$SCRATCH/reports"; }
tells_all() { [ "$(told)" = "$(kernel)" ]; }
of_last() { reports && jq -rs --arg u "$job" "map(select(.unit == \$u)) | last | $1" "$SCRATCH/reports"; }
is_found() { [ "$(of_last '"\(.found) \(.kind)"')" = "true $1" ]; }

used=$(kernel)
found_start
ok "ceemsd starts, for the first time" wait_for 20 ceemsd_up
ok "it tells of the job as found" wait_for 20 is_found start
is "with all that it had used, as the kernel has it" "$(of_last '.before_cpu_user_ns + .before_cpu_system_ns')" "$used"
is "of which its steps that ended are the most" "$((used > 400000000))" 1
scrape
is "/metrics is absolute" "$(scraped_cpu | cut -d' ' -f3)" "$used"
echo >"$JOBS/go"
ok "it goes on" wait_for 60 rests 2
ok "before and windows are the kernel's count" wait_for 30 tells_all
first=$(of_last .instance)

# the table goes while nobody looks, steps with it
kill -9 "$ceemsd_pid"; wait "$ceemsd_pid" 2>/dev/null
rm "$RUNDIR/units"
echo >"$JOBS/go"
ok "it goes on without ceemsd" wait_for 60 rests 3
found_start
ok "ceemsd starts with a new table" wait_for 20 ceemsd_up
another() { [ "$(of_last .instance)" != "$first" ]; }
ok "it tells of another instance" wait_for 20 another
is "found" "$(of_last .found)" true
# of the step between, both records had waited in the ring
ok "before and windows are again the kernel's count" wait_for 30 tells_all
second=$(of_last .instance)
kill -9 "$ceemsd_pid"; wait "$ceemsd_pid" 2>/dev/null
found_start
ok "a table that is kept" wait_for 20 ceemsd_up
srun -J short "$JOBS/burn" 50 >/dev/null 2>&1
ok "makes no further instance" test "$(of_last .instance)" = "$second"

# a damaged one
kill -9 "$ceemsd_pid"; wait "$ceemsd_pid" 2>/dev/null
printf 'XXXXXXXXXXXXXXXX' | dd of="$RUNDIR/units" conv=notrunc status=none
found_start
ok "a damaged one" wait_for 20 ceemsd_up
anew() { [ "$(of_last .instance)" != "$second" ]; }
ok "does" wait_for 20 anew
is "again with the kernel's count" "$(of_last '.before_cpu_user_ns + .before_cpu_system_ns')" "$(kernel)"

# a job that begins after all this is none that was found
srun -J fresh "$JOBS/burn" 300 >/dev/null 2>&1
fresh() { reports && jq -es 'map(select(.hints.name == "fresh" and .kind == "final")) | length > 0' "$SCRATCH/reports" >/dev/null; }
ok "a new job is told of" wait_for 30 fresh
is "as one that was there from its start" "$(jq -rs 'map(select(.hints.name == "fresh") | .found, .before_cpu_user_ns) | unique | tostring' "$SCRATCH/reports")" '[null]'
echo >"$JOBS/go"
ok "everything ends" wait_for 180 no_job
tap_done
