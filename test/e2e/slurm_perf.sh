#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who is counted with --collector.perf in a real Slurm: jobs that ask with --ceems-perf, or by a variable
# that plugstack.conf lets the plugin copy; what a job did is there after its end, however short it was.
# Hardware events (the kernel's clocks: test/fake/clock_events.c) are armed while a job asks for them.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm
[ -x "$BUILD/clock_opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/clock_opener" --collector.perf --collector.perf.events=127 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"

node=perf$$
rig_start --nodes=$node
line=$(cat "$SLURM/plugstack.conf")
echo "${line% } env=ENABLE_PERF" >"$SLURM/plugstack.conf"
ceemsd_start --collector.perf --collector.perf.env-var=ENABLE_PERF --opener.path="$BUILD/clock_opener"
ok "ceemsd starts" wait_for 20 ceemsd_up

armed() { curl -sf "$CEEMSD_URL/metrics" | grep -q "^ceems_perf_events_armed{.*} $1\$"; }
ok "no event is armed before a job asks" armed 0
# computes once the events are armed
cat >"$SCRATCH/computes" <<END
#!/bin/bash
until curl -sf "$CEEMSD_URL/metrics" | grep -q '^ceems_perf_events_armed{.*} 1\$'; do sleep 0.1; done
for ((i = 0; i < 100000; i++)); do :; done
END
chmod 755 "$SCRATCH/computes"
faults='
import mmap
m = mmap.mmap(-1, 3000 * 4096)
m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(3000): m[i * 4096] = 1'
# The first that asks begins when its events are armed, or after 100 ms and says so.
srun -J first --slurmd-debug=verbose --ceems-perf=hardware python3 -S -B -c 'for i in range(300000): pass' 2>"$SCRATCH/first"
is "no other step waits" "$(srun --slurmd-debug=verbose --ceems-perf=software true 2>&1 | grep -c 'has not armed')" 0
kill -STOP "$ceemsd_pid"
like "without an answer a step begins all the same" "$(srun -J stopped --slurmd-debug=verbose --ceems-perf=cache true 2>&1; echo "ended $?")" \
	$'has not armed the CPUs\' events in 100 ms: .*\n(.*\n)*ended 0$'
kill -CONT "$ceemsd_pid"
{
	srun -J asks --ceems-perf=software python3 -S -B -c "$faults"
	srun -J other --ceems-perf=hardware "$SCRATCH/computes"
	srun -J silent true
	ENABLE_PERF= srun -J variable true
} 2>/dev/null
ok "the jobs end" wait_for 60 no_job
ended() { scrape && [ "$(jq '[.units[] | select(.state == "ended")] | length' "$SCRATCH/units")" = 7 ]; }
ok "all have ended" wait_for 60 ended
id() { unit "$1" '.[0].id'; }
faults_of() { sed -n "s|^ceems_perf_page_faults_total{.*uuid=\"$(id "$1")\"} ||p" "$SCRATCH/metrics"; }
enough=$(faults_of asks)
ok "one that asks has its page faults" [ "${enough:-0}" -ge 3000 ]
is "one that asks for hardware events alone has none" "$(faults_of other)" ""
is "one that does not ask has none" "$(faults_of silent)" ""
cycles_of() { sed -n "s|^ceems_perf_cpucycles_total{.*uuid=\"$(id "$1")\"} ||p" "$SCRATCH/metrics"; }
like "one that asks for hardware events has them" "$(cycles_of other)" '^[1-9][0-9]*$'
is "one that asks for software events alone has no others" "$(cycles_of asks)$(cycles_of silent)" ""
# a step that asks for a report has what ceemsd wrote down last: it ends when that was after it had computed
mkfifo "$JOBS/go" && chmod 666 "$JOBS/go"
echo "read x <$JOBS/go" >>"$SCRATCH/computes"
srun -J reports --ceems-perf=hardware --ceems-report "$SCRATCH/computes" 2>"$SCRATCH/report" &
reports=$!
started $reports
counted() { scrape && [ "$(cycles_of reports)" -gt 0 ] 2>/dev/null; }
ok "a step that asks for a report is counted" wait_for 60 counted
written_anew() { local was=$(stat -c %y "$RUNDIR/counts"); wait_for 10 eval '[ "$(stat -c %y "$RUNDIR/counts")" != "$was" ]'; }
ok "that is written down" eval 'written_anew && written_anew'
echo >"$JOBS/go"
wait $reports
like "its report has instructions per cycle" "$(cat "$SCRATCH/report")" $'  cycles     about [0-9.]+ instructions per cycle at [0-9.]+ GHz'
ok "ten seconds after the last they are disarmed" wait_for 60 armed 0
of_first() { sed -n "s|^$1{.*uuid=\"$(id first)\"$2.*} ||p" "$SCRATCH/metrics"; }
covered=$(of_first ceems_perf_event_enabled_seconds_total ',event="CpuCycles"')
used=$(of_first ceems_compute_unit_cpu_user_seconds_total '' ; of_first ceems_compute_unit_cpu_system_seconds_total '')
echo "# armed for ${covered:-0} s of" $used "s; $(grep -c 'has not armed' "$SCRATCH/first") waited in vain"
begins_armed() { grep -q 'has not armed' "$SCRATCH/first" || awk -v c="${covered:-0}" '{ used += $1 } END { exit !(c >= 0.9 * used) }' <<<"$used"; }
ok "the first that asks is counted from its begin" begins_armed
is "of one that began without them nothing is told" "$(sed -n "s|^ceems_perf_.*uuid=\"$(id stopped)\".*} ||p" "$SCRATCH/metrics")" ""
like "one with the variable, although it is empty, has" "$(faults_of variable)" '^[1-9][0-9]*$'
tap_done
