#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The whole way of real jobs: Slurm, its plugins, ceemsd, courier, aggregator, Postgres, cacct; and
# beside it sacct with slurmdbd, on the same jobs. Fields that both have must agree.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/slurm.sh"
. "$TOP/test/pg.sh"
need_slurm "${1:-}"
have_root || skip_all "needs root"
for p in cacct ceems_aggregator ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
need_pg

echo "submit_line: yes" >"$SCRATCH/jobcomp.yaml"
printf '%s\n' Licenses=matlab:4 AccountingStoreFlags=job_comment,job_extra >"$SCRATCH/slurm.conf.more"
rig_start ${1:+--slurm=$1} --dbd --jobcomp="$SCRATCH/jobcomp.yaml" --conf="$SCRATCH/slurm.conf.more" --contain --gpus=2
pg_start >"$SCRATCH/pg.log" 2>&1 || { sed 's/^/# /' "$SCRATCH/pg.log"; ok "Postgres starts" false; tap_done; }
export TZ=UTC HOME=$SCRATCH SLURM_TIME_FORMAT=standard
unset CEEMS_TOKEN_FILE XDG_CONFIG_HOME NO_COLOR
MUNGE=$(sed -n 's/^AuthInfo=socket=//p' "$SLURM_CONF")
port=$(free_port)
"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$port" --db.url="$PGURL" --identity.munge-socket="$MUNGE" --ingest.munge-socket="$MUNGE" \
	--ingest.user='root=*' --ingest.jobs-from=munge:root --admin.users=root --rollup.delay=0s --security.run-as-user="" >"$SCRATCH/agg.log" 2>&1 &
started $!
export CEEMS_API_URL=http://127.0.0.1:$port CEEMS_MUNGE_SOCKET=$MUNGE
ceemsd_start --reports.enabled --reports.interval=2s --reports.spool="$SCRATCH/spool" --cluster="$(sed -n 's/^ClusterName=//p' "$SLURM_CONF")"
wait_for 30 curl -sf -o /dev/null "$CEEMS_API_URL/health" || sed 's/^/# /' "$SCRATCH/agg.log"
ok "everything runs" wait_for 20 ceemsd_up

# --- jobs: of one node, of steps, failing, killed by its limit, an array, cancelled while it waited
since=$(date +%FT%T)
as daemon sbatch -J steps -c 2 -o /dev/null --wrap "srun $JOBS/burn 300; srun $JOBS/burn 500" >/dev/null
as daemon sbatch -J fails -o /dev/null --wrap "exit 3" >/dev/null
as daemon sbatch -J array -a 1-3 -o /dev/null --wrap "$JOBS/burn 50" >/dev/null
as daemon sbatch -J gpu --gres=gpu:1 --mem=64M -L matlab:2 --comment='it'\''s ä' -o /dev/null --wrap "sleep 1" >/dev/null
as bin sbatch -J other -o /dev/null --wrap "$JOBS/burn 50" >/dev/null
gone=$(as daemon sbatch --parsable -J gone -H -o /dev/null --wrap true)
long=$(as daemon sbatch --parsable -J long -o /dev/null --wrap "while :; do $JOBS/burn 50; sleep 0.1; done")
runs() { [ "$(squeue -h -j "$long" -o %T)" = RUNNING ]; }
ok "the long job runs" wait_for 30 runs
cacct() { setpriv --reuid="$1" --regid="$1" --clear-groups env CEEMS_API_URL="$CEEMS_API_URL" CEEMS_MUNGE_SOCKET="$MUNGE" TZ=UTC HOME="$SCRATCH" "$BUILD/cacct" "${@:2}" 2>>"$SCRATCH/cacct.err"; }
send() {
	timeout 200 "$BUILD/ceems-courier" --once --aggregator.url="$CEEMS_API_URL" --aggregator.munge-socket="$MUNGE" \
		--ship.spool="$SCRATCH/spool" --ship.spool="$SLURM/jobcomp" >>"$SCRATCH/courier.log" 2>&1
}
seen() { send; [ "$(cacct daemon -n -P -o state -j "$long")" = RUNNING ]; }
ok "a running job is in cacct of its user" wait_for 20 seen
scontrol update JobId="$long" AdminComment='{"seen": "by root"}'
is "with its elapsed time and without an end" "$(cacct daemon -n -P -o end -j "$long")" Unknown
runs_on() { [ "$(($(date +%s) - $(date -d "$(squeue -h -j "$long" -o %S)" +%s)))" -ge 6 ]; }
ok "it runs for some seconds, so that windows can cut it" wait_for 60 runs_on
susp=$(as daemon sbatch --parsable -J susp -o /dev/null --wrap "while :; do sleep 0.1; done")
is_so() { [ "$(squeue -h -j "$susp" -o %T)" = "$1" ]; }
wait_for 60 is_so RUNNING && scontrol suspend "$susp" && wait_for 30 is_so SUSPENDED && sleep 2 && scontrol resume "$susp"
ok "one is suspended for seconds, and goes on" wait_for 30 is_so RUNNING
as daemon scancel "$gone" "$long" "$susp"
ended() { no_job; }
ok "all jobs end" wait_for 90 ended
records() { # the one that was held need not be there
	local ends
	ends=$(sacct -a -X -n -P -S "$since" -o jobname,end | grep -v '^gone|')
	[ "$(wc -l <<<"$ends")" -ge 9 ] && ! grep -q Unknown <<<"$ends"
}
ok "Slurm's database has them" wait_for 30 records
all_here() { send; [ "$(cacct root -a -n -P -S "$since" -o state | grep -vcE 'RUNNING|PENDING')" = 10 ]; }
ok "so has the aggregator" wait_for 40 all_here || { cacct root -a -S "$since" | sed 's/^/# /'; tail -n 5 "$SCRATCH/agg.log" "$SCRATCH/courier.log" | sed 's/^/# /'; }

# --- what both know agrees. AllocTRES in any order; sacct says "CANCELLED by UID".
both=jobid,jobidraw,jobname,user,account,partition,state,exitcode,submit,start,end,elapsed,elapsedraw,alloccpus,nnodes,nodelist,cputimeraw
tidy() { sed 's/CANCELLED by [0-9]*/CANCELLED/; s/|None assigned|/||/' | LC_ALL=C sort; }
compare() {
	theirs=$(sacct -a -X -n -P -S "$since" -o $both | tidy)
	# (Slurm's database need not have a job that was held and never eligible)
	ours=$(cacct root -a -n -P -S "$since" -o $both | tidy | { [[ $theirs == *"|gone|"* ]] && cat || grep -vF "|gone|"; })
	[ "$theirs" = "$ours" ]
}
wait_for 20 compare
is "sacct and cacct agree on $(wc -l <<<"$theirs") jobs: ids, names, people, state, times, CPUs, nodes" "$(diff <(echo "$theirs") <(echo "$ours"))" ""
# columns that both have: titles, widths, sides; and the order of the rows
shared=Account,AllocCPUS,AllocNodes,AllocTRES,Cluster,Comment,ConsumedEnergy,ConsumedEnergyRaw,CPUTime,CPUTimeRAW,DerivedExitCode,Elapsed,ElapsedRaw,Eligible,End,ExitCode,GID,Group
# (Reserved and ResvCPU in 22.05)
if grep -qw Planned <<<"$(sacct --helpformat)"; then wait=planned,plannedcpuraw shared+=,Planned,PlannedCPU,PlannedCPURAW; else wait=reserved,resvcpuraw; fi
shared+=,AveCPU,AveRSS,MaxRSSNode,NTasks,ReqCPUS,ReqMem,ReqNodes,Suspended
# what this release's sacct has of what only slurmctld knows
slurm=$(for f in AdminComment Constraints Container Extra FailedNode Flags Licenses QOSREQ SubmitLine SystemComment; do grep -qw $f <<<"$(sacct --helpformat)" && echo $f; done | paste -sd,)
shared+=,$slurm,Priority,JobID,JobIDRaw,JobName,MaxRSS,NCPUS,NNodes,NodeList,Partition,QOS,Reason,ReqTRES,Reservation,Start,State,Submit,SystemCPU,Timelimit,TimelimitRaw,TotalCPU,UID,User,UserCPU,WCKey,WorkDir
heads() { "$@" -o "$shared" | head -n 2 | sed 's/ *$//'; }
is "columns that both have look the same" "$(heads cacct root -a -S "$since")" "$(heads sacct -a -X -S "$since")"
is "rows stand in the same order" "$(cacct root -a -n -P -S "$since" -o jobid | grep -vxF "$gone")" "$(sacct -a -X -n -P -S "$since" -o jobid | grep -vxF "$gone")"
tres() { # id|a,b: the parts sorted
	local id all
	while IFS='|' read -r id all; do [ "$id" = "$gone" ] || echo "$id $(tr ',' '\n' <<<"$all" | LC_ALL=C sort | paste -sd,)"; done | LC_ALL=C sort
}
is "and on what was allocated" "$(diff <(sacct -a -X -n -P -S "$since" -o jobid,alloctres | tres) <(cacct root -a -n -P -S "$since" -o jobid,alloctres | tres))" ""
asked=jobid,suspended,$wait,reqcpus,reqnodes,reqmem
wants() { "$@" -n -P -S "$since" -o $asked | grep -v "^$gone|" | LC_ALL=C sort; }
is "and on what was asked for, how long it waited and was suspended" "$(diff <(wants sacct -a -X) <(wants cacct root))" ""
# (StartReceived is slurmdbd's receipt, not slurmctld's; 22.05 spells it otherwise. A job that was cancelled while it waited has less in one of them)
told() { "$@" -n -P -S "$since" -o jobid,$slurm | sed 's/,StartRec[ei]*ved//' | grep -v "^$gone|" | LC_ALL=C sort; }
is "and on what only slurmctld knows: $slurm" "$(diff <(told sacct -a -X) <(told cacct root))" ""
like "among it who asked for what, and how" "$(cacct daemon -n -P --name gpu -S "$since" -o flags,licenses,submitline)" '^Sched[A-Z][a-z]+(,StartReceived)?\|matlab:2\|[^ ]*sbatch -J gpu .*--wrap sleep 1$'
is "what an administrator wrote" "$(cacct daemon -n -P -j "$long" -o admincomment)" '{"seen": "by root"}'
like "one was" "$(wants cacct root)" "(^|"$'\n'")$susp\|00:00:0[1-9]\|"
# they come with the node's final report, some seconds after the job's record
steps() { diff <(sacct -n -P -j "$(cacct daemon -n -P --name steps -S "$since" -o jobidraw)" -o jobid | LC_ALL=C sort) \
	<(cacct daemon -n -P --steps --name steps -S "$since" -o jobid | LC_ALL=C sort); }
same_steps() { send; steps >/dev/null; }
wait_for 20 same_steps
is "steps: the same ones" "$(steps)" ""
raw=$(cacct daemon -n -P --name steps -S "$since" -o jobidraw)
is "as many tasks, and none of a job" "$(cacct daemon -n -P --steps -j "$raw" -o jobid,ntasks)" "$(sacct -n -P -j "$raw" -o jobid,ntasks)"
nodes_of() { "$@" -n -P -j "$raw" -o jobid,maxrssnode | grep '\.[0-9b].*|.' | LC_ALL=C sort; }
like "the node of a step's highest memory is known" "$(nodes_of cacct daemon --steps)" '\.0\|'
is "and sacct's, where its poll saw the step" "$(LC_ALL=C comm -13 <(nodes_of cacct daemon --steps) <(nodes_of sacct))" ""
is "in the same order, with the same raw ids" "$(cacct daemon -n -P --steps -j "$raw" -o jobidraw)" "$(sacct -n -P -j "$raw" -o jobidraw)"
# CPU time: sacct polls, we count; a burn of 300 + 500 ms
burnt() { # milliseconds, once the sums have followed
	send
	ms=$(cacct daemon -n -P --name steps -S "$since" -o totalcpu | awk -F'[:.]' '{ print $1 * 60000 + $2 * 1000 + $3 }')
	[ "$ms" -ge 800 ] && [ "$ms" -lt 5000 ]
}
ok "CPU time of the job is what it burnt" wait_for 20 burnt
echo "# $ms ms"

# --- -T: times cut to the window as sacct cuts them, sums to what happened in it
moment() { sacct -X -n -P -j "$long" -o "$1" | xargs -I{} date -d {} +%s; }
at() { date -d "@$1" +%FT%T; }
began=$(moment start) over=$(moment end) middle=$((began + 3))
cut_rows() { "$@" -X -n -P -T -S "$(at $((began + 2)))" -E "$(at $((over - 1)))" -j "$long" -o jobid,state,start,end,elapsed,elapsedraw,cputime,cputimeraw,submit | tidy; }
is "times that a window cuts are sacct's" "$(cut_rows cacct root)" "$(cut_rows sacct -a)"
like "they are cut" "$(cut_rows sacct -a | grep "^$long|")" "\|$(at $((began + 2)))\|$(at $((over - 1)))\|"
is "without -T they are whole" "$(cacct root -n -P -S "$(at $middle)" -j "$long" -o start,end)" "$(sacct -X -n -P -j "$long" -o start,end)"
edge() { "$@" -X -n -P -S "$(at $over)" -E "$(at $((over + 1)))" -o jobid | grep -x "$long"; }
is "a job that ended when the window begins is of it for both" "$(edge cacct root -a)" "$(edge sacct -a)"
is "and it is there" "$(edge sacct -a)" "$long"
used() { # of the long job in a window: ms of CPU, bytes, and joules as far as they are shown
	cacct root -n -P -T --noconvert -S "$(at "$1")" -E "$(at "$2")" -j "$long" -o totalcpu,iowrite,consumedenergyraw | awk -F'[|:.]' '{ print $1 * 60000 + $2 * 1000 + $3, $4 + 0, $5 + 0 }'
}
parts() { # that they are known; two parts and the whole
	send
	echo "$(used $((began - 9)) $middle) $(used $middle $((over + 9))) $(used $((began - 9)) $((over + 9)))"
}
add_up() { parts | awk '{ d = $1 + $4 - $7; e = $3 + $6 - $9 } !($7 > 0 && d >= -2 && d <= 2 && e >= -2 && e <= 2) { exit 1 }'; }
ok "what two windows have is what both together have" wait_for 60 add_up
echo "# $(parts)"
cacct root -T --json -j "$long" >"$SCRATCH/out"; rc=$?
is "-T is of tables: whole jobs as JSON are not called parts" "$rc $(wc -c <"$SCRATCH/out")" "1 0"

# --- usage: the sums of the same jobs
sums() { # jobs, CPU seconds, joules, wasted ones: of all rows, and of usage
	cacct root -S "$since" --json | jq -r '[(.jobs | length), ([.jobs[].cpu_seconds // 0] | add), ([.jobs[].energy_joules.total // 0] | add),
		([.jobs[] | (.energy_joules.total // 0) * ([1 - (.avg_cpu_usage.global // 100) / 100, 0] | max)] | add)] | map(. * 1000 | round / 1000) | join(" ")'
	cacct root usage -S "$since" --json | jq -r '.total | [.jobs, .cpu_seconds // 0, .energy_joules // 0, .wasted_joules // 0] | map(. * 1000 | round / 1000) | join(" ")'
}
# (usage takes a job day by day)
same_sums() { send; sums | awk -v midnight="$([ "${since%T*}" = "$(date +%F)" ] && echo 0 || echo 1)" '{ if (NR == 1) { c = $2; e = $3; w = $4 } else d = ($2 - c) * ($2 - c) + ($3 - e) * ($3 - e) + (midnight ? 0 : ($4 - w) * ($4 - w)) } END { exit !(c > 0 && d < 0.0001) }'; }
ok "usage has the sums of the jobs" wait_for 60 same_sums || sums | sed 's/^/# /'
is "of a user her own" "$(cacct bin usage -n -P -S "$since" -o user,jobs) $(cacct daemon usage -n -P -S "$since" --by=user -o user)" "bin|1 daemon"
is "of all for an admin, or of whom she names" "$(cacct root usage -n -P -S "$since" --by=user -o user | paste -sd' ') $(cacct root usage -n -P -S "$since" -u bin -o user)" "bin daemon bin"
cacct bin usage -u daemon -S "$since" >"$SCRATCH/out"; rc=$?
is "others are refused to a user" "$rc $(wc -c <"$SCRATCH/out")" "1 0"

# --- who sees what
is "a user sees only her own" "$(cacct bin -n -P -S "$since" -o jobname)" other
is "an admin sees all without asking for it, as root does with sacct" "$(cacct root -n -P -S "$since" -o jobid,user)" "$(cacct root -a -n -P -S "$since" -o jobid,user)"
is "or those of whom she names" "$(cacct root -n -P -S "$since" -u bin -o jobname)" other
cacct bin -a -S "$since" >"$SCRATCH/out"; rc=$?
is "others are refused to her" "$rc $(wc -c <"$SCRATCH/out")" "1 0"
cacct bin -u daemon -S "$since" >"$SCRATCH/out"; rc=$?
is "also by name" "$rc $(wc -c <"$SCRATCH/out")" "1 0"
is "and by number" "$(cacct bin -n -j "$long" -o jobid)" ""
is "an admin sees a job that is named" "$(cacct root -n -P -j "$long" -o user)" daemon
is "the array is found by its number, and a task by both" "$(cacct daemon -n -P -j "$(cacct daemon -n -P --name array -S "$since" -o arrayjobid | head -n 1)" -o jobname | uniq -c | tr -s ' ')" " 3 array"
is "the window is kept" "$(cacct daemon -n -S 2020-01-01 -E 2020-01-02 | wc -l)" 0
is "states are chosen" "$(cacct daemon -n -P -S "$since" -s F,CA -o jobname | sort | paste -sd' ')" "fails gone long susp"
like "the summary is of the rows" "$(cacct daemon -S "$since" --name array | tail -n 1)" '^Summary: 3 jobs;'
cacct daemon report "$long" >"$SCRATCH/out"
like "a report of it" "$(cat "$SCRATCH/out")" "Job $long  long  CANCELLED"
cacct daemon report "$long" --html "$JOBS/r.html" >/dev/null
like "and its page" "$(cat "$JOBS/r.html")" '</html>'
cacct daemon -j "$long" --ts --ts.out-dir "$JOBS/ts" >/dev/null
ok "its series has its intervals" [ "$(cat "$JOBS"/ts/*-"$long".csv | wc -l)" -ge 2 ]
"$BUILD/ceems_tool" check api >"$SCRATCH/out"; rc=$?
is "ceems_tool check api is content with it" "$rc $(tail -n 1 "$SCRATCH/out")" "0 4 ok, 0 to look at, 0 wrong" || sed 's/^/# /' "$SCRATCH/out"
# --- names of steps: sacct's, as far as slurmstepd can know them, with 63 bytes; also such as nobody should give
many=$(printf 'm%.0s' {1..200})
odd=$(printf 'it'\''s "q" \\ \xc3\xa9\n2')
bad=$(printf 'b\xffd')
for n in "two words" "$odd" "$bad" "$many"; do cp /bin/true "$JOBS/$n"; done
cat >"$JOBS/names.sh" <<-END
	#!/bin/bash
	srun true
	srun /bin/true
	srun -J other /bin/true
	srun -J 'with  blanks' true
	srun "$JOBS/two words"
	srun '$JOBS/${odd//\'/\'\\\'\'}'
	srun "$JOBS/$bad"
	srun "$JOBS/$many"
	srun -J '${many:0:40}$many' true
	srun sleep 0
END
told=$(as daemon sbatch --parsable -J named -o "$JOBS/names.out" "$JOBS/names.sh")
told+=" $(as daemon srun -Q bash -c 'echo $SLURM_JOB_ID; exec true')"
told+=" $(as daemon srun -Q -J alone bash -c 'echo $SLURM_JOB_ID; exec true')"
told+=" $(as daemon salloc -Q bash -c 'srun -J first true; srun true; srun -J another true; echo $SLURM_JOB_ID')"
# what nobody but slurmctld can know: -J with the job's own name, and an environment that lies
unknown=$(as daemon salloc -Q -J mine bash -c 'srun -J mine true; SLURM_JOB_NAME=forged srun true; echo $SLURM_JOB_ID')
is "jobs with steps of all kinds of names run" "$(wc -w <<<"$told $unknown") $(grep -v '^srun: \(Job [0-9]* step creation\|Step created\)' "$JOBS/names.out")" "5 "
ok "they end" wait_for 180 no_job
their_names() { # job: "step name" in JSON
	sacct -a -S "$since" --json 2>/dev/null | jq -c --argjson j "$1" '[.jobs[] | select(.job_id == $j) | .steps[].step |
		[(.id | tostring | split(".") | last), .name]] | sort[]'
}
our_names() { cacct daemon -S "$since" --steps --json -j "$1" | jq -c '[.jobs[].steps[] | [.step, .name // .step]] | sort[]'; }
short() { jq -c '[.[0], .[1][0:63]]'; }
differ() { diff <(their_names "$1" | short) <(our_names "$1" | short); }
for j in $told; do
	same_names() { send; [ "$(their_names "$j" | wc -l)" -gt 1 ] && differ "$j" >/dev/null; }
	wait_for 30 same_names
	is "sacct and cacct call the $(their_names "$j" | wc -l) steps of job $j the same" "$(differ "$j")" "" || their_names "$j" | sed 's/^/# /'
done
all_unknown() { send; [ "$(our_names "$unknown" | wc -l)" = 3 ]; }
wait_for 30 all_unknown
is "two ways to mislead a node are known" "$(differ "$unknown" | grep '^[<>]' | tr -d '\n')" '< ["0","mine"]< ["1","true"]> ["0","true"]> ["1","forged"]'
lines=$(as daemon sbatch --parsable -J $'two\nlines, a | and a\x1f' -o /dev/null --wrap true)
# (the end of a short job may be there seconds before its start, which has the name)
has_ended() { [[ $(sacct -n -X -P -j "$lines" -o jobname,state) == two*COMPLETED ]]; }
ok "Slurm's database has a name of two lines" wait_for 60 has_ended
like "an import of sacct's rows" "$(sacct -a -D -S "$since" --json 2>/dev/null |
	"$BUILD/ceems_aggregator" --db.url="$PGURL" --security.drop-privileges=false --import=sacct=- 2>&1)" ' jobs read, [1-9][0-9]* of them new'
# what slurmctld said of each job, and what sacct has of it; StartReceived is slurmdbd's own
both() { # SOURCE KEY: of each job that both have a record of
	psql_do -c "SELECT j.uuid, replace(j.record->>'$2', ',StartReceived', '') FROM job_record j WHERE j.source = '$1' AND j.record->>'event' = 'ended'
		AND EXISTS (SELECT FROM job_record o WHERE o.source <> '$1' AND (o.uuid, o.restarts) = (j.uuid, j.restarts))
		ORDER BY 1, 2"
}
same_fields() { # HOW it was imported
	for key in slurm_flags admin_comment; do
		is "$1 has slurmctld's $key" "$(both import $key)" "$(both jobcomp $key)"
	done
	like "$1 has the comment of an administrator" "$(both import admin_comment)" "$long\|.*seen"
	is "$1 has no command line" "$(both import submit_line | grep -vc '|$')" 0
}
same_fields "JSON"
psql_do -c "UPDATE job_record SET record = record - 'slurm_flags' - 'admin_comment' - 'name' WHERE source = 'import'"
like "the aggregator calls sacct itself" "$("$BUILD/ceems_aggregator" --db.url="$PGURL" --security.drop-privileges=false --import=sacct \
	--import.start="$since" --slurm.bindir="$(dirname "$(command -v sacct)")" 2>&1)" ' jobs read, [1-9][0-9]* of them new or changed'
same_fields "its own call"
is "has the name of two lines" "$(psql_do -c "SELECT record->>'name' FROM job_record WHERE source = 'import' AND uuid = '$lines'")" $'two\nlines, a | and a\x1f'
for j in $told $unknown; do
	whole() { [ "$(their_names "$j")" = "$(our_names "$j")" ]; }
	wait_for 20 whole
	is "knows them all, whole: job $j" "$(diff <(their_names "$j") <(our_names "$j"))" ""
done
like "a report has them" "$(cacct daemon report "${told%% *}")" $'\n  4 two words  .*\n  5 it.s "q" '

[ -s "$SCRATCH/cacct.err" ] && sort "$SCRATCH/cacct.err" | uniq -c | sed 's/^/# /'
tap_done
