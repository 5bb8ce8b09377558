#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Software events of a step's processes, as the kernel adds them up when they exit, against inherited
# perf events around the same command (what perf stat does): --collector.perf.software-events.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl python3; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.perf 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"
"$BUILD/perf_around" -- true >/dev/null || skip_all "no perf events here"

. "$(dirname "$0")/../step_group.sh"
port=$(free_port) || exit 1
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
value() { sed -n "s|^ceems_perf_$1_total{manager=\"slurm\",hostname=\"[^\"]*\",uuid=\"$job\"} ||p" "$SCRATCH/metrics"; }
all_values() { for v in page_faults context_switches cpu_migrations minor_faults major_faults; do value $v; done | xargs; }
# runs the command, with a small environment (the kernel's own copy of a large one counts, and is not in
# perf's page faults), in step 0 and says where what was added is further from perf's count than 0.1 % and
# two for each process and ten
compare() { # processes command...
	local processes=$1 c groups=()
	shift
	for c in $controllers; do groups+=("$(step_folder $c 0)/task_0"); done
	scrape
	local before=$(all_values)
	"$BUILD/perf_around" "${groups[@]}" -- env -i PATH="$PATH" "$@" >"$SCRATCH/counted" 2>"$SCRATCH/err" || { cat "$SCRATCH/err"; return; }
	scrape
	echo "# perf: $(cat "$SCRATCH/counted"); before: $before; after: $(all_values)" >&2
	python3 - "$processes" "$before" "$(all_values)" "$(cat "$SCRATCH/counted")" <<'P'
import sys
n = int(sys.argv[1])
before, after, perf = ([int(v) for v in a.split()] for a in sys.argv[2:])
for name, b, a, p in zip(("page faults", "context switches", "migrations", "minor faults", "major faults"), before, after, perf):
    if abs(a - b - p) > max(p / 1000, 2 * n + 10):
        print(name, "counted", a - b, "perf", p)
P
}

"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm \
	--collector.perf.software-events --unit.linger=10m --unit.min-export=0 </dev/null >"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
like "the kernel counts" "$(cat "$SCRATCH/ceemsd.log")" "counts software events of units"
step_make 0
known() { scrape && [ -n "$(value page_faults)" ]; }
ok "the step is found" wait_for 60 known

echo 'for ((i = 0; i < 1000; i++)); do /bin/true; done' >"$SCRATCH/short.sh"
is "a thousand short processes" "$(compare 1002 bash "$SCRATCH/short.sh")" ""
cat >"$SCRATCH/threads.py" <<'P'
import threading
for n in range(50):
    threads = [threading.Thread(target=lambda: bytearray(200000)) for i in range(20)]
    for t in threads: t.start()
    for t in threads: t.join()
P
is "a thousand threads" "$(compare 1002 python3 -S -B "$SCRATCH/threads.py")" ""
cat >"$SCRATCH/memory.py" <<'P'
import mmap
for n in range(200): # 200 000 faults
    m = mmap.mmap(-1, 1000 * 4096)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    for i in range(1000): m[i * 4096] = 1
    m.close()
P
is "one process with many page faults" "$(compare 2 python3 -S -B "$SCRATCH/memory.py")" ""

# A file that its user may not read, as starters of containers and licensed codes are: inherited events are dropped when
# it is executed, and what it and its children did is in none.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -m 711 "$SCRATCH/codes" && cp /bin/bash "$SCRATCH/codes/unreadable" && chmod 711 "$SCRATCH" "$SCRATCH/codes/unreadable"
	groups=() && for c in $controllers; do groups+=("$(step_folder $c 0)/task_0"); done
	scrape
	faults=$(value page_faults)
	inherited=$("$BUILD/perf_around" "${groups[@]}" -- setpriv --reuid=65534 --regid=65534 --clear-groups \
		bash -c 'exec "$0" -c "printf -v x %40000000s y && :"' "$SCRATCH/codes/unreadable" | cut -d' ' -f1) # setpriv itself has capabilities yet
	scrape
	echo "# a file of mode 0711: inherited events have $inherited page faults, ceemsd has $(($(value page_faults) - faults))"
	ok "a program whose file its user may not read is counted all the same" test $(($(value page_faults) - faults)) -ge 9000
else
	skip "a program whose file its user may not read is counted all the same" "takes root and setpriv"
fi

# one that lives is seen while it runs
scrape
faults=$(value page_faults)
groups=() && for c in $controllers; do groups+=("$(step_folder $c 0)/task_0"); done
"$BUILD/perf_around" "${groups[@]}" -- python3 -S -B -c "
import mmap
m = mmap.mmap(-1, 5000 * 4096)
m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(5000): m[i * 4096] = 1
while True: pass" >/dev/null 2>&1 &
around=$!
started $around
seen() { scrape && [ "$(value page_faults)" -ge $((faults + 5000)) ]; }
ok "a process that goes on is seen to count" wait_for 60 seen
kill $(pgrep -P $around)
wait $around

# the sum stays when the step has gone, and a second step adds to it
ended=$(all_values)
step_remove 0
ok "the step has ended" wait_for 60 grep -q "unit $job step 0: ended without a stop record" "$SCRATCH/ceemsd.log"
at_least() { python3 -c "import sys; a, b = ([int(v) for v in s.split()] for s in sys.argv[1:]); sys.exit(len(a) != 5 or any(x < y for x, y in zip(a, b)))" "$1" "$2"; }
ok "its counts stay" at_least "$(all_values)" "$ended"
ended=$(all_values)
step_make 1
more() { scrape && [ "$(value page_faults)" -gt "${ended%% *}" ]; }
"$BUILD/perf_around" "$(step_folder cpuacct 1)/task_0" -- true >/dev/null
ok "a second step adds to them" wait_for 60 more
ok "and no count falls" at_least "$(all_values)" "$ended"
step_remove 1
kill "$daemon"
wait "$daemon"
is "ceemsd ends well" $? 0
tap_done
