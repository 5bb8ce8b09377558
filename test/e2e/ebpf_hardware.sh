#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hardware events of a step's processes, read when a CPU changes from one unit to another. This machine's CPUs need
# have no counters: the opener here takes the kernel's clocks for events (test/fake/clock_events.c), so that a unit's
# "cycles" are the nanoseconds that its control group has in cpuacct. vm_hardware.sh has a CPU that counts.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl jq python3; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/clock_opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/clock_opener" --collector.perf --collector.perf.events=524287 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"

. "$(dirname "$0")/../step_group.sh"
port=$(free_port) || exit 1
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
value() { sed -n "s|^ceems_perf_$1{manager=\"slurm\",hostname=\"[^\"]*\",uuid=\"$job\"${2:+,event=\"$2\"}} ||p" "$SCRATCH/metrics"; }
node_value() { sed -n "s|^ceems_perf_$1{hostname=\"[^\"]*\"${2:+,event=\"$2\"}} ||p" "$SCRATCH/metrics"; }
usage() { cat "$(step_folder cpuacct "$1")/cpuacct.usage"; }

# the kernel's clocks again, by number: three times the nanoseconds, and twice the switches
cat >"$SCRATCH/raw.yaml" <<'Y'
cpus:
  - {vendor: nobody, figures: [{name: other, events: [{config: 1}]}]}
  - name: this
    figures:
      - name: fp_operations
        events:
          - {pmu: software, config: 0}
          - {pmu: software, config: 0, weight: 2}
      - {name: switches, events: [{pmu: software, config: 0x3, weight: 2}]}
      - {name: missing, events: [{pmu: no_such_pmu, config: 1}]}
      - {name: refused, events: [{pmu: software, config: 999}]}
    node_figures: [{name: package, events: [{pmu: software, config: 0}]}]
Y
keeper=$SCRATCH/keeper # as systemd
mkdir -m 755 "$keeper"
python3 test/fake/fd_keeper.py "$keeper" "$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm \
	--collector.perf.hardware-events --collector.perf.hardware-cache-events --opener.path="$BUILD/clock_opener" \
	--reports.enabled --reports.spool="$SCRATCH/spool" --collector.perf.raw-events-file="$SCRATCH/raw.yaml" \
	--unit.linger=10m --unit.min-export=0 </dev/null >>"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
like "the events that there are have one line" "$(cat "$SCRATCH/ceemsd.log")" "counts hardware events of units: CpuCycles, CpuInstr, CacheMisses, BranchInstr, BranchMisses, L1DataReadHit, raw event 1, raw event 2, raw event 3; not RefCpuCycles, CacheRef, L1DataReadMiss, "
like "a figure whose PMU is not here has one, too" "$(cat "$SCRATCH/ceemsd.log")" "missing: this node has no PMU no_such_pmu: this figure is left out"
like "a figure of the node that no PMU of a package counts has one, too" "$(cat "$SCRATCH/ceemsd.log")" "package: PMU software does not count for a whole package .it has no cpumask.: it belongs to figures: this figure is left out"
armed() { scrape && [ "$(node_value events_armed)" = 1 ]; }
ok "they are armed from the start, since all units are asked for" wait_for 60 armed

step_make 0
# as long a time of the CPU as it takes to run this, alone, in threads and in many short processes
cat >"$SCRATCH/threads.py" <<'P'
import threading
def loop():
    n = 0
    for i in range(3000000): n += i
threads = [threading.Thread(target=loop) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
P
echo 'for ((i = 0; i < 300; i++)); do /bin/true; done' >"$SCRATCH/short.sh"
run_in 0 python3 -S -B -c 'for i in range(10000000): pass'
run_in 0 python3 -S -B "$SCRATCH/threads.py"
run_in 0 bash "$SCRATCH/short.sh"
used=$(usage 0)
# What the last of a task was is added when its CPU goes on to something else. One that is moved into the step while
# it runs elsewhere is counted from its next turn on: some milliseconds for each that run_in puts there.
complete() { scrape && [ "$(value cpucycles_total)" -ge $((used - used / 50 - 60000000)) ]; }
ok "the time of its processes is the unit's" wait_for 60 complete
used=$(usage 0)
cycles=$(value cpucycles_total)
echo "# cpuacct $used ns, counted $cycles"
ok "and no other's" [ "$cycles" -le $((used + used / 10 + 50000000)) ]
is "all of it was measured" "$(value event_running_ratio CpuCycles)" 1
like "for as long as its processes ran" "$(value event_enabled_seconds_total CpuCycles)" '^[1-9][0-9]*\.|^0\.[0-9]*[1-9]'
is "an event that the CPU does not have is absent" "$(value ref_cpucycles_total)$(value cache_refs_total)" ""
is "and one that never counts anything" "$(value cache_misses_total)" ""
is "both are said" "$(node_value event_available RefCpuCycles) $(node_value event_available CacheMisses) $(node_value event_available CpuInstr)" "0 0 1"

figure() { sed -n "s|^ceems_perf_figure_total{manager=\"slurm\",hostname=\"[^\"]*\",uuid=\"$job\",figure=\"$1\"} ||p" "$SCRATCH/metrics"; }
echo "# figures $(figure fp_operations) $(figure switches)"
# its group is enabled microseconds after that of the cycles, on each CPU
ok "a figure is the sum of its raw events" [ "$(figure fp_operations)" -ge $((3 * cycles - 3 * cycles / 50)) -a "$(figure fp_operations)" -le $((3 * cycles + 3 * cycles / 50)) ]
switches=$(value branch_instructions_total)
ok "each with its weight" [ "$(figure switches)" -ge $((2 * switches - switches / 25)) -a "$(figure switches)" -le $((2 * switches + switches / 25)) ]
is "one that the CPU refuses is absent" "$(figure refused)$(figure missing)$(figure other)" ""

# one that lives is seen while it runs
(for c in $controllers; do echo "$BASHPID" >"$(step_folder $c 0)/task_0/cgroup.procs"; done; exec python3 -S -B -c 'while True: pass') &
loop=$!
started $loop
scrape
cycles=$(value cpucycles_total)
seen() { scrape && [ "$(value cpucycles_total)" -ge $((cycles + 2000000000)) ]; }
ok "a process that goes on is seen to count" wait_for 60 seen

# systemd keeps the events over a restart, also after kill -9
pid=$(cat "$keeper/pid")
kill9 "$pid"
touch "$keeper/again"
ok "ceemsd comes again" wait_for 60 eval '[ "$(cat "$keeper/pid")" != $pid ] && curl -sf -o /dev/null "http://127.0.0.1:$port/health"'
like "with the programs of before" "$(cat "$SCRATCH/ceemsd.log")" "has followed the control groups of steps since before this start"
cycles=0
ok "the events go on" wait_for 60 seen
kill $loop
wait $loop 2>/dev/null
scrape
cycles=$(value cpucycles_total)
step_remove 0
ok "the step has ended" wait_for 60 grep -q "unit $job step 0: ended without a stop record" "$SCRATCH/ceemsd.log"
scrape
ok "its counts stay" [ "$(value cpucycles_total)" -ge "$cycles" ]
finals() { jq -sc "[.[] | select(.kind == \"final\" and .unit == \"$job\")] | $1" "$SCRATCH/records"; }
final() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" >"$SCRATCH/records" 2>/dev/null && [ "$(finals 'length > 0')" = true ]; }
ok "its final report comes" wait_for 120 final
scrape
is "with the same counts" "$(finals '.[-1].counts.cpu_cycles')" "$(value cpucycles_total)"
is "those that were never counted are absent" "$(finals '.[-1].counts | [has("cpu_cycles", "l1d_reads", "events_enabled_ns", "ref_cpu_cycles", "cache_references", "cache_misses")]')" "[true,true,true,false,false,false]"
is "the figure that records have is there" "$(finals '.[-1].counts.fp_operations')" "$(figure fp_operations)"
kill "$daemon"
wait "$daemon"
is "ceemsd ends well" $? 0

# what cannot be had costs one line, and software events are counted all the same
opener_says() { # command...
	"$@" --collector.perf --collector.perf.events=524287 2>&1 | sed -n 's/.*msg="\(.*\)"$/\1/p' | tail -n +2
}
like "without a counter, or with" "$(opener_says "$BUILD/ceems-opener")" \
	$'^software events can be counted\n(no hardware event can be opened: [^\n]*|hardware events can be counted)$'
for files in {20..80}; do
	said=$(opener_says prlimit --nofile=$files:$files "$BUILD/clock_opener")
	[[ $said != "software events can be counted"* ]] || break
done
like "with too few open files" "$said" $'^software events can be counted\nopen .*: more open files than the limit'
tap_done
