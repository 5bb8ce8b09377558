#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Stripped programs of a real Slurm's steps get their names from a real debuginfod, fetched by ceems-courier: of their
# functions and of those that were inlined. Pyroscope is a stand-in.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
. "$(dirname "$0")/../port.sh"
need_slurm
[ -x "$BUILD/ceems-profiler" ] || skip_all "the profiler was not built here (libdw-dev)"
command -v debuginfod >/dev/null || skip_all "no debuginfod (package debuginfod)"
mkdir "/sys/fs/cgroup/cpuacct/ceems_test_$$" 2>/dev/null || mkdir "/sys/fs/cgroup/ceems_test_$$" 2>/dev/null || skip_all "no control group can be made here"
group=$(compgen -G "/sys/fs/cgroup/*ceems_test_$$" || compgen -G "/sys/fs/cgroup/*/ceems_test_$$")
why=$("$BUILD/ceems-profiler" --cgroup="$group" --duration=1ms --log.level=error 2>&1 >/dev/null)
rmdir "$group"
[ -z "$why" ] || skip_all "this kernel does not let it: ${why#*msg=}"

rig_start --nodes=debug$$
cat >"$SCRATCH/a.c" <<'C'
#include <math.h>
#include <stdlib.h>
#include <time.h>
volatile double sink;
static inline __attribute__((always_inline)) double swallowed(double x, int n) { double s = 0; for (int i = 0; i < n; i++) s += sqrt(x + i); return s; }
static __attribute__((noinline)) double hidden(double x, int n) { sink = swallowed(x, n); return sink + 1; }
int main(int argc, char **argv) { (void)argc; clock_t end = (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC); while (clock() < end) sink = hidden(sink, 100000); }
C
mkdir "$SCRATCH/served"
# NAME: a program, whose debug file only the server has
build_stripped() {
	gcc -g -O2 -fomit-frame-pointer -Wl,--build-id -o "$JOBS/$1" "$SCRATCH/a.c" -lm "${@:2}" &&
		objcopy --only-keep-debug "$JOBS/$1" "$SCRATCH/served/$1.debug" && strip "$JOBS/$1"
}
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
build_stripped known && build_stripped long -Wl,--build-id=0x1122334455667788 && gcc -O2 -o "$JOBS/whole" "$SCRATCH/a.c" -lm || { ok "programs are built" false; tap_done; }
gcc -O2 -o "$JOBS/absent" "$SCRATCH/a.c" -lm -Wl,--build-id=0xaabbccddeeff0011 && strip "$JOBS/absent"

server=$(free_port)
debuginfod -p "$server" -d "$SCRATCH/index" -F "$SCRATCH/served" >>"$SCRATCH/debuginfod" 2>&1 &
server_pid=$!
started $server_pid
DEBUGINFOD=http://127.0.0.1:$server
ok "a debuginfod has the debug file" wait_for 60 curl -sfo /dev/null "$DEBUGINFOD/buildid/$(id_of "$JOBS/known")/debuginfo"
asked() { grep -aoE "GET /buildid/[0-9a-f]+" "$SCRATCH/debuginfod" | sed 's/.*\///' | sort -u; }

port=$(free_port)
echo 200 >"$SCRATCH/control"
: >"$SCRATCH/pushed"
python3 test/fake/push_host.py "$port" "$SCRATCH/control" "$SCRATCH/pushed" >"$SCRATCH/host" 2>&1 &
started $!
wait_for 30 grep -q ready "$SCRATCH/host"
: >"$SCRATCH/debuginfod"
folder=$SCRATCH/cache/debug
start_daemon() { ceemsd_start --profiling.policy=allow --profiling.interval=3s --profiles.spool="$SCRATCH/spool" --profiles.url="http://127.0.0.1:$port" --debuginfod.folder="$folder" "$@"; }
job_id() { unit "$1" '.[0].id'; }
stacks() { jq -r --arg u "$(job_id "$1")" 'select(.labels.uuid == $u) | .stacks[] | .frames | join(";")' "$SCRATCH/pushed"; }
has() { scrape && [ -n "$(stacks "$1")" ]; }
# on a busy machine a step of a second may be over before a ceemsd that has just started samples
warm=0
samples() { srun -J warm$((++warm)) --ceems-profile=97 "$JOBS/whole" 1 >/dev/null 2>&1; within 10 has warm$warm; }

# what users have for their debuggers is no wish of the site's
DEBUGINFOD_URLS=$DEBUGINFOD start_daemon
ok "ceemsd starts" wait_for 20 ceemsd_up
ok "it samples" wait_for 120 samples
srun -J off --ceems-profile=97 "$JOBS/known" 2 >/dev/null 2>&1
ok "without the option a stripped program has a profile" wait_for 20 has off
is "without its names" "$(stacks off | grep -c hidden)" 0
is "and no server is asked" "$(asked)" ""
ok "nor is anything kept for it" [ ! -e "$folder" ]
kill "$ceemsd_pid"
wait "$ceemsd_pid" 2>/dev/null

start_daemon --debuginfod.url="$DEBUGINFOD"
ok "ceemsd starts with it" wait_for 20 ceemsd_up
ok "it samples" wait_for 120 samples
srun -J first --ceems-profile=97 "$JOBS/known" 1 >/dev/null 2>&1
file=$folder/.build-id/$(id_of "$JOBS/known" | sed 's/../&\//').debug
ok "the debug file of a program that was in a profile comes" wait_for 30 test -s "$file"
ok "as it was" cmp "$file" "$SCRATCH/served/known.debug"
srun -J second --ceems-profile=97 "$JOBS/known" 1 >/dev/null 2>&1
ok "the next run has a profile" wait_for 20 has second
like "with the names of functions that nobody exports, and of inlined ones" "$(stacks second)" '_start;.*main;hidden[^;]*;swallowed'
srun -J long --ceems-profile=97 "$JOBS/long" 600 >/dev/null 2>&1 &
job=$!
named() { scrape; stacks long | grep -q 'main;hidden[^;]*;swallowed'; }
ok "a step that runs on gets its names when the file has come" wait_for 60 named
scancel --name=long
wait $job
srun -J absent --ceems-profile=97 "$JOBS/absent" 1 >/dev/null 2>&1
mark=$folder/.build-id/aa/bbccddeeff0011.debug
ok "what the server does not have is remembered" wait_for 30 test -e "$mark"
srun -J absent2 --ceems-profile=97 "$JOBS/absent" 1 >/dev/null 2>&1
srun -J whole --ceems-profile=97 "$JOBS/whole" 1 >/dev/null 2>&1
ok "a program with its symbols has its profile" wait_for 20 has whole
is "the server was not told of it" "$(asked | grep -c "$(id_of "$JOBS/whole")")" 0
is "what it does not have it was asked for once" "$(grep -ac 'GET /buildid/aabbccddeeff0011' "$SCRATCH/debuginfod")" 1
is "what came it was asked for once" "$(grep -ac "GET /buildid/$(id_of "$JOBS/known")" "$SCRATCH/debuginfod")" 1
scrape
ok "what was fetched is counted" [ "$(value ceems_courier_debug_files_total 'result="fetched"')" -ge 2 ]
ok "as is what no server has" [ "$(value ceems_courier_debug_files_total 'result="absent"')" -ge 1 ]
is "no request failed" "$(value ceems_courier_debug_file_failures_total)" 0
ok "what was asked for is, too" [ "$(value ceems_profiler_debug_files_total 'result="asked"')" -ge 3 ]
# the server goes: profiles do not
kill $server_pid
wait $server_pid
build_stripped later -Wl,--build-id=0x9988776655443322
srun -J later --ceems-profile=97 "$JOBS/later" 1 >/dev/null 2>&1
ok "a server that is gone costs no profile" wait_for 20 has later
has_failed() { scrape && [ "$(value ceems_courier_debug_file_failures_total)" -ge 1 ]; }
ok "and is counted" wait_for 30 has_failed
ok "and said" grep -q 'debuginfod: GET http://127.0.0.1:.*tried again in' "$SCRATCH/ceemsd.log"
tap_done
