#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_cgroup2.sh, vm_slice.sh and vm_arm64.sh: real Slurm on cgroup v2, the plugin, ceemsd.
#   cgroup2_guest.sh VERSION [SLICE]
. "$(dirname "$0")/../tap.sh"
rig=test/rig/slurm
dir=$SCRATCH/rig
test_cleanup() { $rig stop "$dir"; }
get() { # path: the body of ceemsd's answer
	local line
	exec 5<>"/dev/tcp/127.0.0.1/$port" || return
	printf 'GET %s HTTP/1.0\r\nHost: vm\r\n\r\n' "$1" >&5
	while read -r line <&5 && [ "$line" != $'\r' ] && [ -n "$line" ]; do :; done
	cat <&5
	exec 5>&-
}
metric() { sed -n "s/^$1{[^}]*uuid=\"$2\"[^}]*} //p" "$SCRATCH/metrics"; }
ring() { sed -n "s/^ceems_ring_$1{[^}]*} //p" "$SCRATCH/metrics"; }
positive() { awk -v v="$1" 'BEGIN { exit !(v > 0) }'; }

is "cgroup v2 has every controller" "$(grep -owE 'cpuset|cpu|io|memory|pids' /sys/fs/cgroup/cgroup.controllers | paste -sd' ')" \
	"cpuset cpu io memory pids"
# everything is slow here: nothing may be killed for being slow
echo KillWait=30 >"$SCRATCH/conf"
energy=''
ls "$BUILD/slurm/$1."*/acct_gather_energy_ceems.so >/dev/null 2>&1 && energy=--energy
[ -z "${2:-}" ] || printf '%s\n' CgroupPlugin=cgroup/v2 IgnoreSystemd=yes ConstrainCores=yes ConstrainRAMSpace=yes "CgroupSlice=$2" >"$SCRATCH/cgroup.conf"
ok "Slurm $1 starts" $rig start "$dir" --slurm="$1" --contain --nodes=vmnode --conf="$SCRATCH/conf" $energy ${2:+--cgroup="$SCRATCH/cgroup.conf"}
. "$dir/env"
is "it runs on cgroup v2" "$SLURM_RIG_CGROUP" v2

port=9010
ebpf=''
! "$BUILD/ceems-opener" >"$SCRATCH/opener" 2>&1 || ebpf=--collector.ebpf
start_daemon() {
	"$BUILD/ceemsd" --path.rundir="$RUNDIR" --web.listen-address=127.0.0.1:$port --unit.min-export=0 \
		--collector.slurm --collector.slurm.steps $ebpf --unit.linger=10m \
		--energy.model=host --energy.host-source=model --energy.model.idle-watts=10 --energy.model.max-watts=2010 --energy.idle-watts=other:10 >>"$SCRATCH/ceemsd.log" 2>&1 &
	daemon=$!
	started $daemon
}
start_daemon
wait_for 20 get /health || sed 's/^/# /' "$SCRATCH/ceemsd.log"
# the records stay in the ring to be looked at until the daemon goes on
kill -STOP $daemon

install -m 755 test/rig/burn "$dir/jobs/"
cat >"$dir/jobs/work" <<'END'
#!/bin/bash
for ((i = 0; i < ${1:-2000}; i++)); do :; done
END
chmod 755 "$dir/jobs/work"
ok "srun of an ordinary user" as daemon srun "$dir/jobs/work"                        # job 1
ok "sbatch with a step inside" as games sbatch -W -o /dev/null --wrap "srun $dir/jobs/work" # job 2
as daemon srun bash -c "$dir/jobs/work; kill -9 \$\$" 2>/dev/null                   # job 3
is "a task that is killed" $? 137
ok "three short steps in one allocation" as games salloc -Q --no-bell -n 1 bash -c 'srun true; srun true; srun true' # job 4
ok "an array of jobs of 20 ms" as games sbatch -W -o /dev/null --array=1-3 --wrap "$dir/jobs/burn 20" # jobs 5 to 7
wait_for 60 bash -c '[ -z "$(squeue -h -t all -o %t | grep -v -e CD -e F)" ]'

if [ -x "$BUILD/ceems-ringdump" ]; then
	"$BUILD/ceems-ringdump" "$RING" >"$SCRATCH/records" 2>"$SCRATCH/dump.err" || sed 's/^/# /' "$SCRATCH/dump.err"
	# one line per record; looks for all of the given pieces of JSON
	records() { local p out; out=$(cat "$SCRATCH/records"); for p; do out=$(grep -F -- "$p" <<<"$out"); done; grep -c . <<<"$out"; }
	for job in 1 2 3 4 5 6 7; do
		ok "job $job has a STEP_START" [ "$(records step_start "\"$job\"")" -gt 0 ]
		ok "job $job has a STEP_STOP with counters of cgroup v2" [ "$(records step_stop "\"$job\"" cgroup_v2)" -gt 0 ]
	done
else
	skip "records in the ring" "ceems-ringdump was not built here"
fi

kill -CONT $daemon
ended() { get /metrics >"$SCRATCH/metrics" && [ "$(grep -c '^ceems_compute_unit_cpu_user_seconds_total' "$SCRATCH/metrics")" -ge 7 ] &&
	[ "$(ring pending)" = 0 ]; }
ok "the daemon takes all records" wait_for 60 ended
get /units >"$SCRATCH/units"
# what a job's steps said when they ended, in microseconds
recorded() { # job user|system
	sed -n "/\"type\":\"step_stop\",.*\"unit\":\"$1\",.*\"flags\":\[\"last\"/s/.*\"cpu_$2_ns\":\([0-9]*\),.*/\1/p" "$SCRATCH/records" | awk '{ ns += $1 } END { print ns / 1000 }'
}
for job in 1 2 3 4 5 6 7; do
	user=$(metric ceems_compute_unit_cpu_user_seconds_total $job)
	system=$(metric ceems_compute_unit_cpu_system_seconds_total $job)
	echo "# job $job: $user s user, $system s system"
	ok "/metrics has CPU time of job $job" positive "$(awk -v a="${user:-0}" -v b="${system:-0}" -v short=$job 'BEGIN { print a + b - (short >= 5 ? 0.02 : 0) }')"
	[ ! -s "$SCRATCH/records" ] || is "and it is to the microsecond what its steps counted" "$(awk -v a="$user" -v b="$system" 'BEGIN { printf "%.0f %.0f\n", a * 1e6, b * 1e6 }')" \
		"$(recorded $job user) $(recorded $job system)"
done
is "all steps have ended, none was lost" "$(grep -oE '\{"step":[^}]*("lost":true|"state":"running")[^}]*' "$SCRATCH/units")" ""
like "a step's group is the user's part, not slurmstepd's" "$(grep -oE '"cgroup":"[^"]*/(job_1|s[0-9A-Z]{13})/step_0[^"]*"' "$SCRATCH/units")" 'step_0'
like "the extern step is there" "$(cat "$SCRATCH/units")" '"step":"extern"'
is "no record was dropped, torn or bad" "$(ring dropped_total) $(ring torn_total) $(ring bad_records_total)" "0 0 0"

# the energy plugin, with a daemon that goes on (the jobs before had one that stood still)
# TRES= in 22.05, AllocTRES= in later ones
energy() { scontrol -o show job 8 | sed -n 's/.* \(Alloc\)\?TRES=[^ ]*energy=\([0-9]*\).*/\2/p'; }
unit_joules() { sed -n "/domain=\"host\"/s/^ceems_compute_unit_energy_joules_total{[^}]*uuid=\"8\"[^}]*} \([0-9]*\).*/\1/p" "$SCRATCH/metrics"; }
if [ -n "$energy" ]; then
	ok "a job that needs energy ends well" as daemon srun --mem=20 "$dir/jobs/burn" 5000 # job 8
	wait_for 60 bash -c '[ -z "$(squeue -h -t all -o %t | grep -v -e CD -e F)" ]'
	sleep 6 # some ticks of the daemon
	get /metrics >"$SCRATCH/metrics"
	slurm=$(energy) ours=$(unit_joules)
	echo "# job 8: $slurm J in Slurm, $ours J in ceemsd"
	ok "its energy in Slurm is what ceemsd says within 20 % (slurmstepd is counted on v2)" \
		[ $((slurm * 10)) -ge $((ours * 8)) -a $((slurm * 10)) -le $((ours * 12)) -a "${ours:-0}" -gt 10 ]
else
	skip "energy in Slurm" "the plugin was not built here"
fi
like "--ceems-report reads cgroup v2" "$(as daemon srun -Q --ceems-report "$dir/jobs/work" 2>&1 | tr '\n' '|')" \
	'ceems: job [0-9]+, step 0\|  time  [^|]*\|  CPU        [0-9. mins]+ on 1 CPU, [^|]*\|  memory     [0-9.]+ [KM]iB at most'

# nobody tells of the end of a step whose slurmstepd is killed: then it is the kernel's own count
usage() { sed -n 's/^usage_usec //p' "$group/user/cpu.stat"; }
step_us() { # job step: CPU time of one that has ended
	get /units | sed -n "/\"id\":\"$1\"/s/.*{\"step\":\"$2\",\"state\":\"ended\"[^}]*\"cpu_user_seconds\":\([0-9.]*\),\"cpu_system_seconds\":\([0-9.]*\),.*/\1 \2/p" |
		awk '{ printf "%d\n", ($1 + $2) * 1e6 + 0.0001 }'
}
has_ended() { [ -n "$(step_us "$killed" 0)" ]; }
if [ -n "$ebpf" ]; then
	like "the kernel follows the steps" "$(cat "$SCRATCH/ceemsd.log")" "the kernel follows the control groups of steps"
	as daemon srun -J killed bash -c "echo \$\$ >$dir/jobs/task; $dir/jobs/burn 100; touch $dir/jobs/burnt; sleep 600" 2>"$SCRATCH/srun" &
	srun_pid=$!
	ok "a job runs whose slurmstepd will be killed" wait_for 60 test -e "$dir/jobs/burnt"
	killed=$(squeue -h -n killed -o %A)
	task=$(cat "$dir/jobs/task")
	group=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$task/cgroup")
	group=${group%/user/*}
	kill -9 "$(sed -n 's/^PPid:\t//p' "/proc/$task/status")"
	echo 1 >"$group/cgroup.kill"
	wait_for 20 grep -q 'populated 0' "$group/cgroup.events"
	find "$group/user" -mindepth 1 -depth -type d -exec rmdir {} +
	until [ "$(usage)" = "${used:-}" ]; do used=$(usage); sleep 0.5; done
	find "$group" -depth -type d -exec rmdir {} +
	ok "its step has ended" wait_for 60 has_ended
	is "with all that the kernel counted" "$(step_us "$killed" 0)" "$used"
	scancel "$killed"
	kill -9 $srun_pid 2>/dev/null
	wait $srun_pid 2>/dev/null
else
	skip "a step whose slurmstepd is killed" "kernel programs: $(tail -n 1 "$SCRATCH/opener")"
fi

# where the groups lie: by the records' paths, and by the tree alone
paths() { grep -oE '"cgroup":"[^"]*' "$SCRATCH/units" | sed 's/.*":"//'; }
has_found() { get /units >"$SCRATCH/units" && grep -q "\"id\":\"$found\"" "$SCRATCH/units"; }
is_running() { found=$(squeue -h -t R -n found -o %A) && [ -n "$found" ] && has_found; }
if [ -n "${2:-}" ]; then
	is "check slurm names the slice" "$("$BUILD/ceems_tool" check slurm | sed -n "s/^\(ok\): .*cgroup.conf:[0-9]*: CgroupSlice=/\1 /p")" "ok $2"
	is "all groups lie below $2" "$(paths | grep -c "^/$2/") $(paths | grep -vc "^/$2/")" "$(paths | grep -c .) 0"
	srun -J found sleep 600 &
	srun_pid=$!
	ok "one more job runs" wait_for 60 is_running
	disown $daemon
	kill -9 $daemon
	rm -r "$RUNDIR/units" "$RUNDIR"/ring*
	start_daemon
	ok "it is found without a record of it" wait_for 60 has_found
	is "below $2" "$(paths | sed "s,^/$2/.*/step_.*,step," | sort -u)" step
	scancel "$found"
	wait $srun_pid
fi
[ $tap_failed = 0 ] || sed 's/^/# /' "$dir"/log/slurmd-*.log "$SCRATCH"/{ceemsd.log,records,units}
tap_done
