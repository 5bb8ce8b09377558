#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every shape of job in a real Slurm (slurm_jobs.sh [VERSION]): each unit's CPU time in
# /metrics is that of its steps' records to the digit, the node's counters are their sum and
# the kernel's own count for the node, ends are counted by how, and nothing stays running.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"

# a name per job, so that /units tells which is which; all start at once and take what they take
submit() {
	local b=$JOBS/burn q="-o /dev/null -e /dev/null"
	# killed by Slurm at its limit: looked for every 30 s, hence first
	srun -J timeout --time=1 "$b" 100000000 >"$SCRATCH/timeout.out" 2>&1 &
	wait_for 20 running timeout && scontrol update JobId="$(id_of timeout)" EndTime=now+1seconds

	short=$(as games sbatch --parsable $q -J short --array=1-20 --wrap "$b 20")
	as daemon sbatch $q -J batch --wrap "srun $b 100; srun $b 60; $b 40" >/dev/null
	cat >"$JOBS/requeue" <<-END
		#!/bin/bash
		[ "\${SLURM_RESTART_COUNT:-0}" != 0 ] || { $b 300; touch $JOBS/first-run; exec sleep 100; }
		touch $JOBS/second-run
		$b 50
	END
	requeue=$(sbatch --parsable $q --requeue -J requeue -w "$n1" "$JOBS/requeue")
	salloc --no-shell -J alloc -n1 >/dev/null 2>&1
	alloc=$(id_of alloc)

	srun -J multi -n3 "$b" 100 >/dev/null 2>&1 &
	srun -J both -N2 -w "$n1,$n2" "$b" 60 >/dev/null 2>&1 &
	srun -J one -w "$n1" "$b" 60 >/dev/null 2>&1 &
	srun -J two -w "$n2" "$b" 60 >/dev/null 2>&1 &
	srun -J het -n1 "$b" 50 : -n1 "$b" 70 >/dev/null 2>&1 &
	srun -J nobinary /no/such/binary >/dev/null 2>&1 &
	srun -J nofolder -D /no/such/folder "$b" 20 >/dev/null 2>&1 &
	sbatch -J nooutput -o /no/such/folder/file --wrap "$b 20" >/dev/null
	srun -J killed bash -c "$b 50; kill -9 \$\$" >/dev/null 2>&1 &
	srun -J oom --mem=30 bash -c 'head -c 100m /dev/zero | tail >/dev/null' >/dev/null 2>&1 &
	srun -J suspended -w "$n1" "$b" 500 >/dev/null 2>&1 &
	# the child goes on when its task has ended
	srun -J child -w "$nc" bash -c "BURN_LEFT=$JOBS/child-burnt setsid $b 100 & \
		while [ ! -e $JOBS/child-burnt ]; do sleep 0.02; done; setsid $b 100000000 & sleep 0.1" >/dev/null 2>&1 &
	salloc -J interactive >/dev/null 2>&1 </dev/null &
	srun -J "$odd_name" "$b" 20 >/dev/null 2>&1 &
}
id_of() { squeue -h -n "$1" -o %A | head -1; }
running() { [ "$(squeue -h -n "$1" -t R -o %T)" = RUNNING ]; }
waits() { [ "$(squeue -h -t all -j "$1" -o '%T %r')" = "PENDING BeginTime" ]; }

# an allocation whose cgroups go away and come again between its steps: the unit's counter
# only grows
three_steps() {
	local i
	: >"$SCRATCH/alloc"
	for i in 1 2 3; do
		srun --jobid="$alloc" "$JOBS/burn" 100 >/dev/null 2>&1
		wait_for 5 ended_steps "$i"
		scraped_cpu | awk -v id="$alloc" '$2 == id { print $3 }' >>"$SCRATCH/alloc"
	done
	SLURM_JOB_NAME=$(printf '%4000d' 7) srun --jobid="$alloc" true >/dev/null 2>&1
	scancel "$alloc"
}
ended_steps() { # of the allocation
	scrape && [ "$(jq "[.units[] | select(.id == \"$alloc\") | .steps[] | select(.state == \"ended\")] | length" "$SCRATCH/units")" -ge "$1" ]
}
suspend_and_resume() {
	local id at
	wait_for 20 running suspended
	id=$(id_of suspended)
	: >"$SCRATCH/suspended"
	for at in 1 2 3 4 5 6; do
		case $at in
		2) scontrol suspend "$id" ;;
		5) scontrol resume "$id" ;;
		esac
		scrape
		scraped_cpu | awk -v id="$id" '$2 == id { print $3 }' >>"$SCRATCH/suspended"
		sleep 0.1
	done
}
again() { # the first run has burnt its share and is put back into the queue
	wait_for 30 test -e "$JOBS/first-run" && scontrol requeue "$requeue" && wait_for 20 waits "$requeue"
	# Slurm would wait until the first run's credentials expire; they are revoked by the second
	sleep 2
	scontrol update JobId="$requeue" StartTime=now
	wait_for 20 test -e "$JOBS/second-run"
}

one() { # version
	local v=$1 n1="jobs$$a" n2="jobs$$b" nc="jobs$$c" odd_name want
	odd_name=$'quotes " \' \\ line\nend \xc3\xa9\xe2\x82\xac '$(printf '%0900d' 7)
	cat >"$SCRATCH/conf" <<-END
		LaunchParameters=use_interactive_step
		InteractiveStepOptions="--interactive --preserve-env $SLURM/jobs/burn 50"
	END
	rig_start --slurm="$v" --nodes="$n1,$n2,$nc" --conf="$SCRATCH/conf"
	ceemsd_start --collector.slurm.steps
	ok "$v: ceemsd starts" wait_for 20 ceemsd_up
	truth_start
	submit
	suspend_and_resume
	again
	three_steps
	ok "$v: every job ends, and nothing is left running" settled 90

	# all of them, against the records and against the kernel
	is "$v: each unit's CPU time is that of its steps' records" "$(scraped_cpu)" "$(record_cpu)"
	is "$v: the node's counters are the sum of all records" "$(scraped_node_cpu)" "$(record_node_cpu)"
	is "$v: to the nanosecond what the kernel counted for the nodes" \
		"$(record_steps | awk -v a="$n1" -v b="$n2" '$1 == a || $1 == b { s += $5 } END { printf "%.0f\n", s }')" \
		"$(kernel_cpu "$n1" "$n2")"
	is "$v: each step has one start and one last stop" "$(record_steps | awk '$6 != 1 || $8 != 1 || $7 > 2')" ""
	is "$v: the step counters are those steps" "$(value ceems_steps_started_total) $(value ceems_steps_ended_total)" \
		"$(record_steps | wc -l) $(record_steps | wc -l)"
	is "$v: the unit counter is those units" "$(value ceems_units_started_total)" \
		"$(record_steps | awk '{ print $1, $2, $3 }' | sort -u | wc -l)"

	# one by one
	unit short '.[] | "\(.id) \(.array_job) \(.array_task)"' >"$SCRATCH/array"
	is "$v: twenty 20 ms jobs have Slurm's own ids and array ids" "$(sort -n "$SCRATCH/array")" \
		"$(squeue -h -t all -r -j "$short" -o '%A %F %K' | sort -n)"
	is "$v: and at least their 20 ms" "$(unit short "map(select($cpu_ms < 20)) | length")" 0
	is "$v: a batch job is its own step and the two in it" \
		"$(unit batch '.[0] | "\(.end) \(.uid) \([.steps[].step] | sort | join(","))"')" "completed $(id -u daemon) 0,1,batch"
	ok "$v: with the CPU time of all three" test "$(unit batch ".[0] | $cpu_ms")" -ge 200
	is "$v: three sruns of one allocation are one unit" "$(jq -r "[.units[] | select(.id == \"$alloc\") | .end] | join(\" \")" "$SCRATCH/units")" completed
	is "$v: whose counter goes on over cgroups that come and go" "$(sort -nu "$SCRATCH/alloc" | tr '\n' ' ')" "$(tr '\n' ' ' <"$SCRATCH/alloc")"
	ok "$v: from step to step by what the step used" awk 'NR > 1 && $1 - last < 100000000 { bad = 1 } { last = $1 } END { exit bad || NR != 3 }' "$SCRATCH/alloc"
	is "$v: a step of three tasks counts all of them" "$(unit multi '"\([.[].steps[].tasks] | add) \([.[].end] | unique | join(","))"')" "3 completed"
	ok "$v: and their CPU time" test "$(unit multi "map($cpu_ms) | add")" -ge 300
	is "$v: a job on two slurmd of this host is a unit of each" "$(unit both '[.[].node] | sort | join(" ")')" "$n1 $n2"
	is "$v: different jobs on each stay apart" "$(unit one '.[].node') $(unit two '.[].node')" "$n1 $n2"
	is "$v: a heterogeneous job is one unit per component" "$(unit het '"\(length) \([.[].end] | unique | join(","))"')" "2 completed"
	is "$v: each with its own CPU time" "$(unit het "\"\\(.[0] | $cpu_ms >= 50) \\(.[1] | $cpu_ms >= 70)\"")" "true true"
	is "$v: a requeued job is two runs" "$(unit requeue '[.[].restarts] | sort | join(" ")')" "0 1"
	ok "$v: the second does not inherit the first one's counters" \
		test "$(unit requeue "map(select(.restarts == 1))[0] | $cpu_ms")" -lt "$(unit requeue "map(select(.restarts == 0))[0] | $cpu_ms")"
	is "$v: and is the one in /metrics" "$(scraped_cpu | awk -v id="$requeue" '$2 == id { print $3 }')" \
		"$(record_steps | awk -v id="$requeue" '$2 == id && $3 == 1 { print $5 }')"
	is "$v: a program that does not exist is a failed unit" "$(unit nobinary '.[] | .end')" failed
	is "$v: a folder that does not exist is Slurm's affair" "$(unit nofolder '.[] | .end')" completed
	# 22.05 fails before it forks, 24.11 runs the script all the same
	want=
	[ "$(squeue -h -t all -n nooutput -o %T)" != COMPLETED ] || want=completed
	is "$v: a batch script that never ran, for want of its output file, is no unit" "$(unit nooutput '[.[].end] | join(" ")')" "$want"
	is "$v: SIGKILL is a failed unit with its CPU time" "$(unit killed ".[] | \"\\(.end) \\($cpu_ms >= 50)\"")" "failed true"
	is "$v: out of memory is seen as that, once" "$(unit oom '.[] | "\(.end) \(.oom_kills)"')" "oom 1"
	is "$v: and its counter" "$(value ceems_compute_unit_oom_kills_total "cgrouphostname=\"$(unit oom '.[].node')\",uuid=\"$(unit oom '.[].id')\"")" 1
	is "$v: Slurm ended the job at its time limit" "$(squeue -h -t all -n timeout -o %T)" TIMEOUT
	is "$v: which is a failed unit" "$(unit timeout '.[] | .end')" failed
	is "$v: an interactive step is recorded as one" "$(unit interactive ".[] | \"\\([.steps[].step] | join(\",\")) \\($cpu_ms >= 50)\"")" "interactive true"
	is "$v: a suspended job's counter never falls" "$(sort -n "$SCRATCH/suspended" | tr '\n' ' ')" "$(tr '\n' ' ' <"$SCRATCH/suspended")"
	is "$v: and ends with all that it used" "$(unit suspended ".[] | \"\\(.end) \\($cpu_ms >= 500)\"")" "completed true"
	# the child is killed by Slurm only after the task's end, where nobody may look any more
	ok "$v: a child that outlives its task counts until the task's end" test "$(unit child ".[0] | $cpu_ms")" -ge 100
	ok "$v: and never for more than the kernel counted" \
		test "$(record_steps | awk -v n="$nc" '$1 == n { s += $5 } END { printf "%.0f\n", s }')" -le "$(kernel_cpu "$nc")"
	is "$v: an odd job name is a hint that begins like it" \
		"$(jq -r --arg n "${odd_name:0:30}" '[.units[] | select(.hints.name | startswith($n))] | length' "$SCRATCH/units")" 1
	is "$v: one of 4 kB is cut, and said to be" \
		"$(jq -s "[.[] | select(.type == \"step_start\" and .unit == \"$alloc\" and .step == \"3\") | .flags | index(\"cut\") != null] | all" "$SCRATCH/records")" true

	# units without an extern step end for good 10 s after their last step
	want=$(jq -r '[.units[].end] as $e | ["completed", "failed", "oom", "lost"] | map(. as $s | [$e[] | select(. == $s)] | length | tostring) | join(" ")' "$SCRATCH/units")
	counted() { scrape && [ "$(ended_states)" = "$want" ]; }
	wait_for 20 counted
	is "$v: the ends are counted by how" "$(ended_states)" "$want"
	is "$v: failed, oom and lost are the ones that were meant to" "${want#* }" "4 1 0"
	like "$v: the daemon met nothing that it had to warn of" "$(grep -c 'level=\(warn\|error\)' "$SCRATCH/ceemsd.log")" '^0$'
	sed -n '/level=\(warn\|error\)/s/^/# /p' "$SCRATCH/ceemsd.log"
}

version=${1:-$(rig_version)}
need_slurm "$version"
one "$version"
tap_done
