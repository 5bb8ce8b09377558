#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_cgroup2.sh and vm_slice.sh: real Slurm on cgroup v2, the plugin, ceemsd.
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
start_daemon() {
	"$BUILD/ceemsd" --path.rundir="$RUNDIR" --web.listen-address=127.0.0.1:$port --unit.min-export=0 \
		--collector.slurm --collector.slurm.steps --unit.linger=10m \
		--energy.model=host --energy.host-source=model --energy.model.idle-watts=10 --energy.model.max-watts=2010 --energy.idle-watts=other:10 >>"$SCRATCH/ceemsd.log" 2>&1 &
	daemon=$!
	started $daemon
}
start_daemon
wait_for 20 get /health || sed 's/^/# /' "$SCRATCH/ceemsd.log"
# the records stay in the ring to be looked at until the daemon goes on
kill -STOP $daemon

mkdir -p "$dir/jobs"
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
wait_for 60 bash -c '[ -z "$(squeue -h -t all -o %t | grep -v -e CD -e F)" ]'

if [ -x "$BUILD/ceems-ringdump" ]; then
	"$BUILD/ceems-ringdump" "$RING" >"$SCRATCH/records" 2>"$SCRATCH/dump.err" || sed 's/^/# /' "$SCRATCH/dump.err"
	# one line per record; looks for all of the given pieces of JSON
	records() { local p out; out=$(cat "$SCRATCH/records"); for p; do out=$(grep -F -- "$p" <<<"$out"); done; grep -c . <<<"$out"; }
	for job in 1 2 3 4; do
		ok "job $job has a STEP_START" [ "$(records step_start "\"$job\"")" -gt 0 ]
		ok "job $job has a STEP_STOP with counters of cgroup v2" [ "$(records step_stop "\"$job\"" cgroup_v2)" -gt 0 ]
	done
else
	skip "records in the ring" "ceems-ringdump was not built here"
fi

kill -CONT $daemon
ended() { get /metrics >"$SCRATCH/metrics" && [ "$(grep -c '^ceems_compute_unit_cpu_user_seconds_total' "$SCRATCH/metrics")" -ge 4 ] &&
	[ "$(ring pending)" = 0 ]; }
ok "the daemon takes all records" wait_for 60 ended
get /units >"$SCRATCH/units"
for job in 1 2 3 4; do
	user=$(metric ceems_compute_unit_cpu_user_seconds_total $job)
	system=$(metric ceems_compute_unit_cpu_system_seconds_total $job)
	echo "# job $job: $user s user, $system s system"
	ok "/metrics has CPU time of job $job" positive "$(awk -v a="${user:-0}" -v b="${system:-0}" 'BEGIN { print a + b }')"
done
is "all steps have ended, none was lost" "$(grep -oE '\{"step":[^}]*("lost":true|"state":"running")[^}]*' "$SCRATCH/units")" ""
like "a step's group is the user's part, not slurmstepd's" "$(grep -oE '"cgroup":"[^"]*/(job_1|s[0-9A-Z]{13})/step_0[^"]*"' "$SCRATCH/units")" 'step_0'
like "the extern step is there" "$(cat "$SCRATCH/units")" '"step":"extern"'
is "no record was dropped, torn or bad" "$(ring dropped_total) $(ring torn_total) $(ring bad_records_total)" "0 0 0"

# the energy plugin, with a daemon that goes on (the jobs before had one that stood still)
# TRES= in 22.05, AllocTRES= in later ones
energy() { scontrol -o show job "$1" | sed -n 's/.* \(Alloc\)\?TRES=[^ ]*energy=\([0-9]*\).*/\2/p'; }
unit_joules() { sed -n "/domain=\"host\"/s/^ceems_compute_unit_energy_joules_total{[^}]*uuid=\"$1\"[^}]*} \([0-9]*\).*/\1/p" "$SCRATCH/metrics"; }
if [ -n "$energy" ]; then
	ok "a job that needs energy ends well" as daemon srun --mem=20 "$dir/jobs/work" 60000 # job 5
	wait_for 60 bash -c '[ -z "$(squeue -h -t all -o %t | grep -v -e CD -e F)" ]'
	sleep 6 # some ticks of the daemon
	get /metrics >"$SCRATCH/metrics"
	slurm=$(energy 5) ours=$(unit_joules 5)
	echo "# job 5: $slurm J in Slurm, $ours J in ceemsd"
	ok "its energy in Slurm is what ceemsd says within 20 % (slurmstepd is counted on v2)" \
		[ $((slurm * 10)) -ge $((ours * 8)) -a $((slurm * 10)) -le $((ours * 12)) -a "${ours:-0}" -gt 10 ]
else
	skip "energy in Slurm" "the plugin was not built here"
fi
like "--ceems-report reads cgroup v2" "$(as daemon srun -Q --ceems-report "$dir/jobs/work" 2>&1 | tr '\n' '|')" \
	'ceems: job [0-9]+, step 0\|  time  [^|]*\|  CPU        [0-9. mins]+ on 1 CPU, [^|]*\|  memory     [0-9.]+ [KM]iB at most'
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
