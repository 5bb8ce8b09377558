#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --ceems-report in a real Slurm, 22.05 and 24.11 (there with contain_spank too): what the
# user sees on stderr, from srun, --pty, labelled, a batch script and a step of two nodes. The
# energy comes from test/fake/energy_page_put, and at the end from ceemsd's model of the
# machine.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm

err=$SCRATCH/stderr
put() { "$BUILD/energy_page_put" "$RUNDIR/energy" "$@"; }
reports() { grep -c 'ceems: job' "$1"; }
# A step that waits for its row; its slurmstepd is the parent of its task.
step_with_row() { # microjoules mg/kWh option
	local uj=$1 mg=$2 pid
	shift 2
	rm -f "$JOBS"/{parent,go}
	srun "$@" sh -c "echo \$SLURM_JOB_ID \$PPID >$JOBS/parent.new; mv $JOBS/parent.new $JOBS/parent; while [ ! -e $JOBS/go ]; do sleep 0.05; done" \
		2>"$err" </dev/null &
	pid=$!
	wait_for 20 test -e "$JOBS/parent" || return 1
	local job stepd
	read -r job stepd <"$JOBS/parent"
	put "$job" 0 "$stepd" "$uj" 0 "$mg"
	touch "$JOBS/go"
	wait $pid
}

one() { # version [slurm.conf line]
	local v=$1 job out
	echo "${2:-}" >"$SCRATCH/conf"
	rig_start --slurm="$v" --nodes="rep$$a,rep$$b" --conf="$SCRATCH/conf"
	v="$v${2:+ contain_spank}"
	bare_options

	srun sh -c 'echo mine >&2' 2>"$err"
	is "$v: without the option the user's stderr is the user's" "$(cat "$err")" mine
	srun $bare_report "$JOBS/burn" 300 2>"$err"
	like "$v: a report without ceemsd" "$(tr '\n' '|' <"$err")" \
		'^ceems: job [0-9]+, step 0\|  time       [0-9.]+ s\|  CPU        0\.[3-9][0-9]* s on [0-9]+ CPUs?, [0-9.]+ % busy\|  memory     [0-9.]+ [KM]iB at most, of [0-9.]+ [MG]iB asked for \([0-9.]+ %\)\|  energy     not known: ceemsd does not measure any on this node\|$'
	srun --ceems-report=json true 2>"$err"
	is "$v: one line of JSON" "$(jq -c '[.ceems_report, .step, .node, .nodes, (.wall_seconds > 0), (.cpu_seconds > 0), .energy]' "$err") $(wc -l <"$err")" \
		'[1,"0",1,1,true,true,null] 1'
	as daemon srun $bare_report -l -n2 -N1 sh -c 'echo mine >&2' 2>"$err"
	is "$v: an ordinary user, two tasks, labelled" "$(grep -c '^[01]: mine' "$err") $(reports "$err") $(grep -c '^0:   energy' "$err")" "2 1 1"
	srun $bare_report -N2 true 2>"$err"
	is "$v: a step of two nodes reports once" "$(reports "$err")" 1
	like "$v: and says so" "$(tr '\n' '|' <"$err")" 'ceems: job ([0-9]+), step 0, node 1 of 2\|.*\|  all nodes  cacct --job [0-9]+\|$'
	out=$(script -qec "srun $bare_report --pty true" /dev/null </dev/null | tr -d '\r')
	like "$v: --pty" "$out" 'ceems: job [0-9]+, step 0'$'\n''  time '
	sbatch -W $bare_report -o "$JOBS/batch.out" --wrap 'echo first; srun true; echo last' >/dev/null
	like "$v: a batch script and its step" "$(grep -v '^  \|^srun: warning: ' "$JOBS/batch.out" | tr '\n' '|')" \
		'^first\|ceems: job [0-9]+, step 0\|last\|ceems: job [0-9]+, step batch\|$'
	srun $bare_report -e "$JOBS/err.txt" true 2>"$err"
	is "$v: srun -e" "$(reports "$JOBS/err.txt") $(wc -c <"$err")" "1 0"
	# (of a task that a signal ended srun often drops what is on its way, the task's own
	# last words too)
	srun $bare_report false 2>"$err"
	is "$v: a step that fails" "$(reports "$err")" 1

	ok "$v: a page with the step's row" step_with_row 1800000000 60000 $bare_report
	like "$v: energy with its source, grams with their provider" "$(tr '\n' '|' <"$err")" \
		'\|  energy     0.5 Wh, provisional: package 0.5 \(fake\)\|  emissions  0.03 g CO2e at 60 g/kWh \(fake-grid\)\|'
	ok "$v: the same in JSON" step_with_row 7200000000 0 --ceems-report=json
	is "$v: energy without a factor" "$(jq -c '[.energy.wh, .energy.provisional, .energy.domains[0].source, .emissions]' "$err")" '[2,true,"fake",null]'
	put 1 0 1 0 3600000000 60000
	srun --ceems-report=json "$JOBS/burn" 200 2>"$err"
	is "$v: a step younger than the tick has what its CPU time costs" \
		"$(jq -c '(.energy.joules / .cpu_seconds | round)' "$err")" 3600
	echo garbage >"$RUNDIR/energy"
	srun $bare_report true 2>"$err"
	like "$v: a page that is none" "$(cat "$err")" "energy     not known: ceemsd's energy page cannot be read"
	rm -f "$RUNDIR/energy"

	# a whole machine of 40 to 100 W
	rm -f "$SCRATCH/ceemsd.log"
	ceemsd_start --energy.interval=200ms --energy.model=host --energy.model.idle-watts=40 --energy.model.max-watts=100 \
		--energy.idle-watts=other:40 --collector.emissions --collector.emissions.provider=owid --emissions.zone=FR
	ok "$v: ceemsd writes a page" wait_for 20 test -e "$RUNDIR/energy"
	srun --ceems-report=json sh -c "sleep 2; $JOBS/burn 500" 2>"$err"
	is "$v: ceemsd's own figures" \
		"$(jq -c '[.energy.modelled, .energy.provisional, (.energy.domains | map(select(.in_total) | [.domain, .source])), .emissions.provider]' "$err")" \
		'[true,true,[["host","model"]],"owid"]'
	# 40 W of a machine whose CPUs are not all the step's, and at most 100
	is "$v: as much as the machine can have used" \
		"$(jq '(.energy.joules / .wall_seconds) as $w | $w > 1 and $w <= 100.5' "$err")" true
	is "$v: grams are Wh times the factor" \
		"$(jq '(.emissions.co2e_grams * 1000 / .emissions.grams_per_kwh / .energy.wh * 100 | round) == 100' "$err")" true
	kill "$ceemsd_pid" && wait "$ceemsd_pid"
	srun $bare_report true 2>"$err"
	ok "$v: a report while ceemsd is away" grep -q '^  energy ' "$err"
	rm -f "$RUNDIR/energy"

	sed -i 's/ring=/report=deny &/' "$SLURM/plugstack.conf"
	srun $bare_report true 2>"$err"
	is "$v: report=deny" "$(grep -o 'not allowed here' "$err") $(reports "$err")" "not allowed here 0"

	of_batch() { # sbatch's options: what the script's output has of reports
		sbatch -W -o "$JOBS/batch.out" "$@" --wrap 'srun true; echo last' >/dev/null
		grep -o '^last\|job [0-9]*, step.*\|all steps.*' "$JOBS/batch.out" | sed 's/[0-9][0-9]* *//' | paste -sd'|'
	}
	sed -i 's/report=deny/report=batch/' "$SLURM/plugstack.conf"
	is "$v: report=batch, unasked: the job's own output ends with one" "$(of_batch)" "last|job , step batch|all steps  cacct --job "
	srun true 2>"$err"
	is "$v: and srun prints none" "$(wc -c <"$err")" 0
	is "$v: a user can do without" "$(of_batch --ceems-report=none)" last
	sed -i 's/report=batch/report=always/' "$SLURM/plugstack.conf"
	srun true 2>"$err"
	is "$v: report=always: each step has one" "$(reports "$err")" 1
	srun --ceems-report=none true 2>"$err"
	is "$v: but a user's that does without" "$(wc -c <"$err")" 0
	$rig stop "$SLURM"
}

one "$(rig_version)"
if why=$($rig possible --slurm=24.11) && [ -e "$BUILD/slurm/24.11/spank_ceems.so" ]; then
	[ "$(rig_version)" = 24.11 ] || one 24.11
	one 24.11 SlurmdParameters=contain_spank
else
	skip "24.11" "${why:-the plugins were not built here}"
fi
tap_done
