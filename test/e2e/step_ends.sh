#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without kernel programs: the counters of a step whose slurmstepd was killed are read when its control group of v2
# becomes empty (cgroup.events), and marked. Processes named slurmstepd stand for Slurm's.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ "$(id -u)" = 0 ] || skip_all "needs root for control groups"
root=/sys/fs/cgroup
[ "$(stat -fc %T $root)" = cgroup2fs ] || root=$root/unified
[ "$(stat -fc %T $root 2>/dev/null)" = cgroup2fs ] || skip_all "no cgroup v2 here, not even beside v1"
node=ends$$ top=$root/ends$$_slurmstepd.scope steps=20
mkdir "$top" || skip_all "no control groups can be made here"
step_pids=
test_cleanup() {
	[ -z "$step_pids" ] || kill -9 $step_pids 2>/dev/null
	wait_for 20 eval 'find "$top" -depth -type d -exec rmdir {} + 2>/dev/null; [ ! -d "$top" ]'
}
port=$(free_port) || exit 1
up() { curl -sf -o "$SCRATCH/units" "http://127.0.0.1:$port/units"; }
# a task below a slurmstepd of its own, each in its group: on "go" it computes, and ends
cp /bin/bash "$SCRATCH/slurmstepd"
cat >"$SCRATCH/task" <<'E2'
read -r n <"$1"
for ((i = 0; i < n; i++)); do :; done
E2
declare -A stepd task
step_of() { echo "$top/job_$1/step_0"; }
make_step() { # JOB
	local pids
	mkdir -p "$(step_of "$1")/slurm" "$(step_of "$1")/user/task_0" && mkfifo "$SCRATCH/go.$1"
	"$SCRATCH/slurmstepd" -c "bash '$SCRATCH/task' '$SCRATCH/go.$1' & echo \$\$ \$! >'$SCRATCH/pids.$1'; wait" </dev/null >/dev/null 2>&1 &
	disown $!
	wait_for 20 test -s "$SCRATCH/pids.$1"
	read -r -a pids <"$SCRATCH/pids.$1"
	stepd[$1]=${pids[0]} task[$1]=${pids[1]} step_pids+=" ${pids[*]}"
	echo "${pids[0]}" >"$(step_of "$1")/slurm/cgroup.procs"
	echo "${pids[1]}" >"$(step_of "$1")/user/task_0/cgroup.procs"
}
for ((j = 1; j <= steps; j++)); do make_step $j; done
# they are there before it starts: it looks for others once a minute only
"$BUILD/ceemsd" --path.cgroupfs=$root --path.rundir="$SCRATCH/run" --web.listen-address="127.0.0.1:$port" --collector.slurm \
	--collector.slurm.nodes=$node --no-collector.rapl --unit.linger=10m --unit.min-export=0 \
	--reports.enabled --reports.interval=1h --reports.spool="$SCRATCH/spool" --cluster=ends >"$SCRATCH/ceemsd.log" 2>&1 &
started $!
ok "ceemsd starts" wait_for 60 up

step_json() { jq -c --arg id "$1" '.units[] | select(.id == $id) | .steps[0]' "$SCRATCH/units"; }
all_known() { up && [ "$(jq '[.units[] | select(.node == "'$node'")] | length' "$SCRATCH/units")" = $steps ]; }
ok "$steps steps are found by their control groups" wait_for 60 all_known
is "none has ended" "$(jq '[.units[].steps[] | select(.polled)] | length' "$SCRATCH/units")" 0
for ((j = 1; j <= steps; j++)); do kill -9 "${stepd[$j]}"; done

# --- one whose group stays for a while
used_us() { awk '/^usage_usec/ { print $2 }' "$(step_of "$1")/user/cpu.stat"; }
is_empty() { grep -q '^populated 0' "$(step_of "$1")/user/cgroup.events"; }
remove_step() { rmdir "$(step_of "$1")"/{user/task_0,user,slurm} "$(step_of "$1")"; }
ns_of() { step_json "$1" | jq '(.cpu_user_seconds + .cpu_system_seconds) * 1e9 | round'; }
echo 200000 >"$SCRATCH/go.1"
ok "its task computes and ends" wait_for 60 is_empty 1
polled() { up && [ "$(step_json 1 | jq .polled)" = true ]; }
ok "its counters are read then" wait_for 60 polled
truth=$(($(used_us 1) * 1000))
ok "they are its control group's, to a millisecond" [ $((truth - $(ns_of 1))) -lt 1000000 -a "$(ns_of 1)" -gt 0 -a "$(ns_of 1)" -le $truth ]
remove_step 1

# --- those of which somebody removes the group as soon as it is empty
exact=0 last=0 more=0
for ((j = 2; j <= steps; j++)); do
	echo 50000 >"$SCRATCH/go.$j"
	until is_empty $j; do :; done
	used[j]=$(($(used_us $j) * 1000))
	remove_step $j
done
ended() { up && [ "$(jq '[.units[].steps[] | select(.lost)] | length' "$SCRATCH/units")" = $steps ]; }
ok "all end without a stop record" wait_for 60 ended
for ((j = 2; j <= steps; j++)); do
	ns=$(ns_of $j)
	[ "$ns" -le "${used[j]}" ] || more=$((more + 1))
	if [ "$(step_json $j | jq .polled)" = false ]; then
		last=$((last + 1))
	elif [ $((used[j] - ns)) -lt 1000000 ]; then
		exact=$((exact + 1))
	fi
done
echo "# of $((steps - 1)): $exact read when the group was empty, to a millisecond; $last had been removed before that"
is "none has more than it used" $more 0
is "each is right, or not marked as read at its end" $((exact + last)) $((steps - 1))
ok "most are read in time" [ $exact -gt $((steps / 2)) ]
finals() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" 2>/dev/null | grep '"kind":"final"' | grep '"unit":"1"' | grep -v '"provisional":true'; }
final() { [ -n "$(finals)" ]; }
ok "the final report comes" wait_for 60 final
like "it says how the step's counters were read" "$(finals)" '"lost":true,"polled":true'
tap_done
