#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The plugin's options and plugstack arguments in a real Slurm: what users ask for and what
# the site lets them; and a ring in any state, which a job must not notice.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm

node=opts$$
printf '%s\n' SlurmdDebug=verbose LogTimeFormat=rfc5424_ms >"$SCRATCH/conf"
rig_start --nodes=$node --conf="$SCRATCH/conf"
line=$(cat "$SLURM/plugstack.conf")
plugin() { echo "${line% } $*" >"$SLURM/plugstack.conf"; } # arguments: for the jobs from now on
no_plugin() { : >"$SLURM/plugstack.conf"; }
b="-o /dev/null -e /dev/null"
daemon_on() { # [flags]
	ceemsd_start "$@"
	wait_for 20 ceemsd_up
}
daemon_off() { kill "$ceemsd_pid" && wait "$ceemsd_pid"; }
ok "ceemsd starts" daemon_on
truth_start

# asked NAME [STEP]: what the record of a job's step says was asked for
asked() {
	jq -rs --arg n "$1" --arg s "${2:-}" '[.[] | select(.type == "step_start" and .hints.name == $n and ($s == "" or .step == $s))][0] |
		if . == null then "no record" else
		[(.flags // [])[] | select(startswith("perf_") or startswith("report_"))] + [.profile_hz // empty | tostring] | join(" ") end' "$SCRATCH/records"
}
all="perf_hardware perf_software perf_cache"

bare_options
plugin env=CEEMS_HINT,OTHER_HINT bogus=1
{
	srun -J plain true
	srun -J perf $bare_perf true
	srun -J three --ceems-perf=software $bare_profile --ceems-report=json true
	salloc -J alloc -n1 $bare_report --ceems-profile=50 srun true
	CEEMS_ENABLE_PERF=1 srun -J trigger true
	CEEMS_ENABLE_PERF=0 srun -J no-trigger true
	CEEMS_HINT=$'a "hint"' THIRD_HINT=x srun -J hint true
} 2>/dev/null
cat >"$JOBS/script" <<-END
	#!/bin/sh
	#SBATCH --ceems-profile=250
	srun true
	srun --ceems-perf=cache --ceems-profile=20 true
END
sbatch $b -J batch --ceems-perf=hardware "$JOBS/script" >/dev/null
ok "the jobs end" settled 30
is "nothing is asked for by default" "$(asked plain)" ""
is "srun --ceems-perf" "$(asked perf)" "$all"
is "srun with three options" "$(asked three)" "perf_software report_json 19"
is "salloc's options reach its steps" "$(asked alloc)" "report_text 50"
is "sbatch and #SBATCH" "$(asked batch batch)" "perf_hardware 250"
batch=$(jq -rs '[.[] | select(.hints.name == "batch")][0].unit' "$SCRATCH/records")
of_batch() { jq -rs --arg u "$batch" --arg s "$1" '[.[] | select(.unit == $u and .step == $s)][0] | [(.flags // [])[] | select(startswith("perf_"))] + [.profile_hz | tostring] | join(" ")' "$SCRATCH/records"; }
is "a step inside inherits them" "$(of_batch 0)" "perf_hardware 250"
is "and its own win" "$(of_batch 1)" "perf_cache 20"
is "CEEMS_ENABLE_PERF=1 is the old way" "$(asked trigger)" "$all"
is "another value is not" "$(asked no-trigger)" ""
is "variables of env= are hints, others are not taken" \
	"$(jq -cs '[.[] | select(.hints.name == "hint")][0].hints.env' "$SCRATCH/records")" '{"CEEMS_HINT":"a \"hint\""}'
ok "an unknown argument is logged" grep -q 'ceems: plugstack.conf: unknown argument "bogus=1", ignored' "$SLURM/log/slurmd-$node.log"

for c in srun salloc sbatch; do
	ok "$c --help shows the options" test "$($c --help | grep -c -- '--ceems-\(perf\|profile\|report\)=\[')" = 3
done
jobs=$(squeue -h -t all -o %A | wc -l)
printf '#!/bin/sh\n#SBATCH --ceems-profile=1001\ntrue\n' >"$JOBS/bad"
printf '#!/bin/sh\ntrue\n' >"$JOBS/good"
refused() { # what wanted-text command...
	local what=$1 text=$2 out rc
	shift 2
	out=$("$@" 2>&1 </dev/null)
	rc=$?
	like "$what is refused with its reason" "$rc $out" "^[1-9][0-9]* .*ceems: $text"
}
refused "srun --ceems-perf=bogus" '--ceems-perf: "bogus" is not hardware, software, cache or nogpu' srun --ceems-perf=bogus true
refused "srun --ceems-perf=software," '--ceems-perf: "" is not hardware' srun --ceems-perf=software, true
refused "salloc --ceems-profile=0" '--ceems-profile: "0" is not a rate in Hz .1-1000.' salloc --ceems-profile=0 true
refused "sbatch --ceems-report=xml" '--ceems-report: "xml" is not text, json or none' sbatch --ceems-report=xml "$JOBS/good"
refused "#SBATCH --ceems-profile=1001" '--ceems-profile: "1001" is not a rate' sbatch "$JOBS/bad"
is "none of them became a job" "$(squeue -h -t all -o %A | wc -l)" "$jobs"

# policy, and a user who goes around srun's copy of the plugin
sed "s,^PlugStackConfig=.*,PlugStackConfig=/dev/null," "$SLURM_CONF" >"$SCRATCH/user.conf"
srun=$(command -v srun)
real_srun=$(sed -n 's/^exec \(.*srun\) .*/\1/p' "$srun")
forged() { # NAME PERF PROFILE
	SLURM_CONF=$SCRATCH/user.conf _SLURM_SPANK_OPTION_ceems_ceems_perf=$2 \
		_SLURM_SPANK_OPTION_ceems_ceems_profile=$3 "$real_srun" -J "$1" true 2>/dev/null
}
forged forged-good cache 70
forged forged-bad bogus 70000
plugin perf=deny profile=max:100 report=deny
srun -J denied $bare_perf --ceems-profile=500 $bare_report echo output >"$SCRATCH/out" 2>"$SCRATCH/err"
is "what the site denies costs no job" "$? $(cat "$SCRATCH/out")" "0 output"
like "but is said" "$(cat "$SCRATCH/err")" '--ceems-perf[^ ]* is not allowed here, ignored.*--ceems-profile=500: at most 100 Hz here, lowered.*--ceems-report[^ ]* is not allowed here, ignored'
forged forged-denied hardware 500
# the variable that carries sbatch's options to the sruns inside
SLURM_SPANK__SLURM_SPANK_OPTION_ceems_ceems_perf=cache srun -J carried true 2>/dev/null
CEEMS_ENABLE_PERF=1 srun -J trigger-denied true
plugin perf=always
srun -J always true
srun -J narrowed --ceems-perf=cache true
ok "the jobs end" settled 30
is "a denied option is not in the record, a lowered rate is" "$(asked denied)" 100
is "a forged variable reaches slurmstepd" "$(asked forged-good)" "perf_cache 70"
is "which drops what makes no sense" "$(asked forged-bad)" ""
is "and applies the policy again" "$(asked forged-denied)" 100
is "whichever the variable" "$(asked carried)" ""
is "also to the old trigger" "$(asked trigger-denied)" ""
is "perf=always needs no option" "$(asked always)" "$all"
is "which narrows it" "$(asked narrowed)" perf_cache

# a job must not notice what state the ring is in
plugin
kill "$truth_pid"
# tasks that end at different moments have a line each, those that end together one
job() { srun "$@" 2>&1 | sed '/^srun: job [0-9]* \(queued\|has been\)/d; /^srun: \(Job step creation temporarily\|Step created for\|error: IO: Hey, you told me\)/d
	s/^\[[0-9T:.+-]*\] //; s/StepId=[0-9]*/StepId=N/; s/: tasks\{0,1\} [0-9,-]*: /: task N: /' | sort -u; echo "${PIPESTATUS[0]}"; }
work() { # status and output of jobs that end in different ways
	job sh -c 'echo out; echo err >&2'
	job -n2 sh -c 'exit 7'
	job sh -c 'kill -9 $$'
	job /no/such/binary
	sbatch --parsable --wait -o "$JOBS/batch-out" --wrap 'srun echo step; echo batch; exit 3' >/dev/null
	echo "$? $(cat "$JOBS/batch-out")"
} </dev/null
no_plugin
without=$(work)
plugin
like "what the jobs do without the plugin" "$without" $'err\nout\n0\n.*exit code 7\n7\n.*\n137\n.*\n2\n3 step\nbatch'
is "with the plugin" "$(work)" "$without"
daemon_off
rm -f "$RING" "$RING.spare"
is "no ring" "$(work)" "$without"
ok "which is a line in the log" grep -q 'not recorded: .*No such file or directory' "$SLURM/log/slurmd-$node.log"
# 25.05 and later: the time as in the log, before: the program
like "and in what srun shows of slurmstepd's messages, behind the time or the program's name" \
	"$(srun --slurmd-debug=verbose true 2>&1 | grep 'step_start not recorded')" \
	"^(slurmstepd(-$node)?:|\[[0-9]{4}-[0-9-]+T[0-9:.]+[+-][0-9:]+\]) ceems: job [0-9]+: step_start not recorded: [^"$'\n]*No such file or directory$'
like "its log has time, step and message in the format that the site chose" "$(grep -h 'step_start not recorded' "$SLURM/log/slurmd-$node.log" | tail -n 1)" \
	'^\[[0-9]{4}-[0-9-]+T[0-9:.]+[+-][0-9:]+\] \[[0-9]+\.0\] ceems: job [0-9]+: step_start not recorded'
head -c 5000000 /dev/urandom >"$RING"
chmod 600 "$RING"
is "garbage for a ring" "$(work)" "$without"
rm -f "$RING" && mkdir "$RING"
is "a folder for a ring" "$(work)" "$without"
rmdir "$RING"

daemon_on --ring.slots=16
kill -STOP "$ceemsd_pid"
is "a full ring" "$(work)" "$without"
kill -CONT "$ceemsd_pid"
dropped() { scrape && [ "$(sed -n 's/^ceems_ring_dropped_total{.*} //p' "$SCRATCH/metrics")" -gt 0 ]; }
ok "which counts what it refused" wait_for 20 dropped
ok "and whose daemon finds out that all has ended" wait_for 30 nothing_running

# the ring goes away and comes again while a step runs
srun -J long bash -c "$JOBS/burn 100; touch $JOBS/burnt; while [ ! -e $JOBS/go-on ]; do sleep 0.05; done; $JOBS/burn 50" &
long=$!
wait_for 20 test -e "$JOBS/burnt"
inode=$(stat -c %i "$RING")
daemon_off
daemon_on --ring.slots=64
ok "another number of slots makes a new ring" test "$(stat -c %i "$RING")" != "$inode"
truth_start
sleep 0.3
touch "$JOBS/go-on"
wait $long
is "the step does not notice" $? 0
ended() { scrape && [ "$(unit long '.[] | .state')" = ended ]; }
ok "its end is recorded in the new ring" wait_for 20 ended
wait_for 20 all_records
is "with the CPU time of all of it" "$(scraped_cpu | awk -v id="$(unit long '.[].id')" '$2 == id { print ($3 >= 150000000), $3 }')" \
	"1 $(jq -rs '[.[] | select(.type == "step_stop") | .counters.cpu_user_ns + .counters.cpu_system_ns] | max' "$SCRATCH/records")"
tap_done
