#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_hardware.sh: a processor that counts, programs of which is known how many
# instructions they execute, and what ceemsd says of them.
. "$(dirname "$0")/../tap.sh"
port=9010
scope=/sys/fs/cgroup/system.slice/vm_slurmstepd.scope
down() { echo "+cpu +memory +pids" >"$1/cgroup.subtree_control"; }
down /sys/fs/cgroup
mkdir -p "$scope" && down /sys/fs/cgroup/system.slice && down "$scope"
tasks=$scope/job_1/step_0/user/task_0
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
value() { sed -n "s|^ceems_perf_$1{.*uuid=\"1\"${2:+,event=\"$2\"}} ||p" "$SCRATCH/metrics"; }
node_value() { sed -n "s|^ceems_perf_$1{hostname=\"[^\"]*\"${2:+,event=\"$2\"}} ||p" "$SCRATCH/metrics"; }
cp "$BUILD/known_loop" "$SCRATCH/unreadable"
cp "$BUILD/known_loop" "$SCRATCH/setuid"
chmod 711 "$SCRATCH/unreadable" "$SCRATCH"
chmod 4711 "$SCRATCH/setuid"
loop=$BUILD/known_loop

"$BUILD/ceems-opener" --collector.perf --collector.perf.events=524287 2>&1 | sed 's/^/# /'
echo 4 >/proc/sys/kernel/perf_event_paranoid
is "events can be opened with kernel.perf_event_paranoid at 4" "$(cat /proc/sys/kernel/perf_event_paranoid; "$BUILD/ceems-opener" --collector.perf --collector.perf.events=127 2>&1 | grep -c 'hardware events can be counted')" $'4\n1'
"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm --collector.perf.hardware-events --collector.perf.hardware-cache-events \
	--reports.enabled --reports.spool="$SCRATCH/spool" --unit.linger=10m --unit.min-export=0 >"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 60 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
like "what this processor does not count is said in one line" "$(cat "$SCRATCH/ceemsd.log")" "hardware events of units: CpuCycles, CpuInstr; not RefCpuCycles, CacheRef, .* \(these CPUs have none"
mkdir "$scope/job_1" && down "$scope/job_1" && mkdir "$scope/job_1/step_0" && down "$scope/job_1/step_0" &&
	mkdir "$scope/job_1/step_0/slurm" "$scope/job_1/step_0/user" && down "$scope/job_1/step_0/user" && mkdir "$tasks"
cp /bin/bash "$SCRATCH/slurmstepd"
(echo "$BASHPID" >"$scope/job_1/step_0/slurm/cgroup.procs" && exec "$SCRATCH/slurmstepd" -c "sleep 1000 & echo \$! >$tasks/cgroup.procs; wait") &
stepd=$!
inside() { (echo "$BASHPID" >"$tasks/cgroup.procs" && exec "$@"); }
# what sleeps when it comes into the step executes nothing there
known() { inside "$loop" 1; scrape && [ -n "$(value instructions_total)" ]; }
ok "the step is found, and counted" wait_for 120 known

# The sum stays the same from one look to the next: what ran has left its processor.
settled() { scrape && local now=$(value instructions_total) && [ "$now" = "$last" ] || { last=$now; return 1; }; }
counted() { # command...: leaves what it was counted with in count
	local before
	last='' && wait_for 60 settled
	before=$(value instructions_total)
	inside "$@"
	last='' && wait_for 60 settled
	count=$(($(value instructions_total) - before))
}
# the command's loops, without what it takes to begin and end: that is of the same command with one turn
exact() { # text turns loops command... with TURNS for the turns of one loop
	local text=$1 turns=$2 loops=$3 many
	shift 3
	[ -n "${few:-}" ] || { counted "${@/TURNS/1}"; few=$count; }
	counted "${@/TURNS/$((turns / loops))}"
	many=$((count - few))
	echo "# $text: $many instructions, $((6 * turns)) expected; $few besides"
	# 0.5 %: the kernel's own for interrupts is in it, and of the commands' beginnings no two are the same
	few=
	ok "$text" [ $((many - 6 * turns < 0 ? 6 * turns - many : many - 6 * turns)) -le $((6 * turns / 200)) ]
}
counted "$loop" 1
begins=$count
exact "a loop alone" 20000000 1 "$loop" TURNS
exact "a loop in four threads" 20000000 4 "$loop" threads 4 TURNS
exact "a loop in ten children, one after the other" 40000000 10 "$loop" children 10 TURNS
exact "a loop in a file that its user may not read" 20000000 1 "$loop" as 65534 "$SCRATCH/unreadable" TURNS
exact "a loop in a program that becomes another user (setuid)" 20000000 1 "$loop" as 65534 "$SCRATCH/setuid" TURNS
scrape
is "all of it was measured" "$(value event_running_ratio CpuInstr)" 1
permille=$((1000 * $(value cpucycles_total) / $(value instructions_total)))
echo "# 1000 instructions take $permille cycles, on this processor as many"
ok "cycles and instructions are of the same time" [ $permille -ge 990 -a $permille -le 1010 ]
"$loop" crowd 14 >"$SCRATCH/crowd" &
crowd=$!
started $crowd
ok "fourteen events of others come" wait_for 20 grep -q kept "$SCRATCH/crowd"
few=$begins # it may end before it has had its turn
exact "a loop that is measured in turns with them" 100000000 1 "$loop" TURNS
scrape
share=$(value event_running_ratio CpuInstr)
echo "# measured for $share of the time"
ok "and is scaled" [ "${share%%.*}" = 0 ]
kill $crowd
is "events that this processor does not have are absent" "$(value branch_instructions_total)$(value cache_ll_read_hits_total) $(node_value event_available BranchInstr)" " 0"

# the step ends; its final report goes to the host, which can read it
kill -9 $(cat "$tasks/cgroup.procs") $stepd
wait $stepd 2>/dev/null
ended() { rmdir "$tasks" "$scope/job_1/step_0/user" "$scope/job_1/step_0/slurm" "$scope/job_1/step_0" "$scope/job_1" 2>/dev/null; [ ! -e "$scope/job_1" ]; }
ok "the step's control groups are removed" wait_for 60 ended
reported() { scrape && grep -q '^ceems_reports_written_total{.*kind="final"} [1-9]' "$SCRATCH/metrics"; }
ok "its end is reported" wait_for 120 reported
scrape
echo "# counted $(value instructions_total)"
kill "$daemon"
wait "$daemon"
is "ceemsd ends well" $? 0
(cd "$SCRATCH" && tar c spool) | /bin/busybox gzip | base64 -w 900 | sed 's/^/# spool /'
tap_done
