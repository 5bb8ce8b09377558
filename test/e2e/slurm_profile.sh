#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Steps of a real Slurm that ask for a profile, and such that do not: who is sampled, by which labels, and
# that nothing looks at the CPUs or at processes while nobody asks. Pyroscope is a stand-in.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
. "$(dirname "$0")/../port.sh"
need_slurm
[ -x "$BUILD/ceems-profiler" ] || skip_all "the profiler was not built here (libdw-dev)"
mkdir "/sys/fs/cgroup/cpuacct/ceems_test_$$" 2>/dev/null || mkdir "/sys/fs/cgroup/ceems_test_$$" 2>/dev/null || skip_all "no control group can be made here"
group=$(compgen -G "/sys/fs/cgroup/*ceems_test_$$" || compgen -G "/sys/fs/cgroup/*/ceems_test_$$")
why=$("$BUILD/ceems-profiler" --cgroup="$group" --duration=1ms --log.level=error 2>&1 >/dev/null)
rmdir "$group"
[ -z "$why" ] || skip_all "this kernel does not let it: ${why#*msg=}"

node=prof$$
rig_start --nodes=$node
cat >"$SCRATCH/a.c" <<'C'
#include <math.h>
#include <stdlib.h>
#include <time.h>
#define OWN __attribute__((noinline))
volatile double sink;
OWN double NAME(leaf)(double x, int n) { double s = 0; for (int i = 0; i < n; i++) s += sqrt(x + i); return s; }
OWN double NAME(mid)(double x, int n) { sink = NAME(leaf)(x, n); return sink + 1; }
int main(int argc, char **argv) { (void)argc; clock_t end = (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC); while (clock() < end) sink = NAME(mid)(sink, 100000); }
C
build_one() { gcc -O3 -fomit-frame-pointer -fno-inline -fno-ipa-cp "-DNAME(x)=$1_##x" -o "$JOBS/$1" "$SCRATCH/a.c" -lm; }
build_one asks && build_one silent && build_one brief || { ok "programs are built" false; tap_done; }
cat >"$SCRATCH/w.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
volatile int sink;
__attribute__((noinline)) void NAME(waits)(char *s) { for (int i = 0; i < 10 * atoi(s); i++) usleep(100000); sink = 1; }
int main(int argc, char **argv) { (void)argc; NAME(waits)(argv[1]); }
C
build_waits() { gcc -O3 -fomit-frame-pointer "-DNAME(x)=$1_##x" -o "$JOBS/$1" "$SCRATCH/w.c"; }
build_waits sleeper && build_waits idler || { ok "programs are built" false; tap_done; }
port=$(free_port)
echo 200 >"$SCRATCH/control"
: >"$SCRATCH/pushed"
python3 test/fake/push_host.py "$port" "$SCRATCH/control" "$SCRATCH/pushed" >"$SCRATCH/host" 2>&1 &
started $!
wait_for 30 grep -q ready "$SCRATCH/host"

# what calls our kernel program: hooks (links) and clocks (perf events) of the profiler or its opener; loaded it is
# from the beginning
holders() { # processes of this ceemsd that hold a perf event or a hook
	local p n=0
	for p in $(pgrep -P "$ceemsd_pid"); do n=$((n + $(find "/proc/$p/fd" -lname 'anon_inode:*perf_event*' -o -lname 'anon_inode:bpf_link' 2>/dev/null | wc -l))); done
	echo $n
}
ceemsd_start --profiling.policy=allow --profiling.off-cpu=allow --profiling.interval=3s --profiles.spool="$SCRATCH/spool" --profiles.url="http://127.0.0.1:$port" --profiling.max-hz=97 --cluster=lab
ok "ceemsd starts" wait_for 20 ceemsd_up
up() { curl -sf "$CEEMSD_URL/metrics" | grep -q '^ceems_profiler_rate_hertz{.*} '"$1"'$'; }
ok "with a profiler that looks at no CPU" wait_for 20 up 0
srun -J before true
is "nothing calls it and no clock runs while nobody asked" "$(holders)" 0

as_user() { local u=$1; shift; $rig enter "$SLURM" "$u" "$@"; }
user() { getent passwd | awk -F: -v not="${1:-}" '$3 >= 1 && $3 < 65534 && $1 != not { print $1; exit }'; }
one=$(user) two=$(user "$one")
srun -J first --ceems-profile=97 --ceems-report "$JOBS/asks" 2 >"$SCRATCH/first" 2>&1
cp "$JOBS/asks" "$JOBS/stripped" && strip "$JOBS/stripped"
srun -J stripped --ceems-profile=97 --ceems-report=json "$JOBS/stripped" 1 >"$SCRATCH/stripped" 2>&1
as_user "$two" srun -J silent --overlap "$JOBS/silent" 4 >/dev/null 2>&1 &
silent=$!
as_user "$one" srun -J asks --ceems-profile=500 "$JOBS/asks" 8 >"$SCRATCH/asks" 2>&1 &
asks=$!
ok "when one asks the CPUs are looked at, as often as the site allows" wait_for 30 up 97
ok "by a program in the kernel" [ "$(holders)" -gt 0 ]
wait $asks $silent
srun -J brief --ceems-profile=97 "$JOBS/brief" 1 >/dev/null 2>&1
srun -J kernel --ceems-profile=97 timeout 1 dd if=/dev/zero of=/dev/null bs=1M >/dev/null 2>&1
hooks() { find "/proc/$(pgrep -P "$ceemsd_pid" -x ceems-profiler)/fd" -lname 'anon_inode:bpf_link' | wc -l; }
hooks_of_processes=$(hooks)
as_user "$two" srun -J idler --ceems-profile=97 --overlap "$JOBS/idler" 5 >/dev/null 2>&1 &
idler=$!
as_user "$one" srun -J sleeper --ceems-profile=97,off-cpu --overlap "$JOBS/sleeper" 5 >/dev/null 2>&1 &
sleeper=$!
hooked() { [ "$(hooks)" -eq $((hooks_of_processes + 1)) ]; }
ok "the kernel program is called for threads that block when one asks for them" wait_for 30 hooked
wait $idler $sleeper
unhooked() { [ "$(hooks)" -le "$hooks_of_processes" ]; }
ok "but not afterwards" wait_for 20 unhooked
ok "the jobs end" wait_for 60 no_job
ok "no clock runs any more" wait_for 20 up 0
scrape
id() { unit "$1" '.[0].id'; }
has() { [ "$(jq -s --arg u "$1" '[.[] | select(.labels.uuid == $u)] | length' "$SCRATCH/pushed")" -ge 1 ]; }
have_all() { local j; for j in first stripped brief kernel; do has "$(id $j)" || return 1; done; }
ok "the one that asked has a profile" wait_for 20 has "$(id asks)"
ok "so has each other that asked, if only for a second" wait_for 20 have_all
is "nobody else has" "$(jq -r .labels.uuid "$SCRATCH/pushed" | grep -vxE "$(id first)|$(id stripped)|$(id asks)|$(id brief)|$(id kernel)|$(id sleeper)|$(id idler)")" ""
is "it says whose it is" "$(jq -cs --arg u "$(id asks)" '[.[] | select(.labels.uuid == $u) | .labels | [.__name__, .service_name, .cluster, .hostname, .manager, .step]] | unique' "$SCRATCH/pushed")" \
	"[[\"process_cpu\",\"$(id asks)\",\"lab\",\"$(hostname)\",\"slurm\",\"0\"]]"
stacks() { jq -r --arg u "$(id "$1")" 'select(.labels.uuid == $u) | .stacks[] | (.value | tostring) + " " + (.frames | join(";"))' "$SCRATCH/pushed"; }
like "its report has the hottest functions" "$(cat "$SCRATCH/first")" 'functions  +[0-9.]+ %  asks_leaf'
like "what has no name is a file and an address" "$(grep ceems_report "$SCRATCH/stripped" | jq -r '.functions[0].name')" '^\[stripped\+0x[0-9a-f]+\]$'
like "its calls are there, to the program's start" "$(stacks asks)" '_start;.*;main;asks_mid;asks_leaf'
is "no frame of the other's is" "$(jq -r '.stacks[].frames[]' "$SCRATCH/pushed" | grep -c silent_)" 0
like "functions of the kernel have names" "$(stacks kernel)" 'do_syscall_64 \[kernel\];.*vfs_read \[kernel\]'
share() { stacks "$1" | awk -v p="$2" '{ all += $1 } index($2, p) { in_it += $1 } END { printf "%d", 100 * in_it / all }'; }
ok "nearly all of its time is in its own function ($(share asks asks_leaf) %)" [ "$(share asks asks_leaf)" -ge 90 ]
seconds() { stacks "$1" | awk '{ all += $1 } END { printf "%d", all / 1e7 }'; }
# A clock meets a program that has a part of a processor by chance, on a machine that is busy: cs of four standard deviations
chance() { unit "$1" '.[0] | (.cpu_user_seconds + .cpu_system_seconds) as $cpu | [1 - $cpu / .elapsed_seconds, 0] | max * $cpu / 97 | sqrt * 400 | ceil'; }
between() { local n c; n=$(seconds "$1") c=$(chance "$1"); [ "$n" -ge $(($2 - c)) ] && [ "$n" -le $(($3 + c)) ]; }
ok "the time is what it used ($(seconds asks) of 800 cs)" between asks 600 880
ok "also that of a second ($(seconds brief) of 100 cs)" between brief 50 120
ok "also that of the node's first, of which nothing is missing ($(seconds first) of 200 cs)" between first 170 230
blocked() { jq -r --arg u "$(id "$1")" 'select(.labels.uuid == $u and .labels.__name__ == "off_cpu") | .stacks[] | (.value | tostring) + " " + (.frames | join(";"))' "$SCRATCH/pushed"; }
blocked_cs() { blocked "$1" | awk -v p=";$2;" 'index($2, p) { ns += $1 } END { printf "%d", ns / 1e7 }'; }
has_waits() { [ "$(blocked_cs sleeper sleeper_waits)" -ge 450 ]; } # its last profile may still be on its way
ok "a step that asked for blocked time has it" wait_for 20 has_waits
ok "and not more ($(blocked_cs sleeper sleeper_waits) of 500 cs)" [ "$(blocked_cs sleeper sleeper_waits)" -le 700 ]
is "as Pyroscope calls it" "$(jq -cs --arg u "$(id sleeper)" '[.[] | select(.labels.uuid == $u and .labels.__name__ == "off_cpu") | [.sample_type, .period]] | unique' "$SCRATCH/pushed")" '[[["off_cpu","nanoseconds"],0]]'
ok "in a profile for each interval ($(jq -r --arg u "$(id sleeper)" 'select(.labels.uuid == $u and .labels.__name__ == "off_cpu") | 1' "$SCRATCH/pushed" | wc -l))" [ "$(jq -r --arg u "$(id sleeper)" 'select(.labels.uuid == $u and .labels.__name__ == "off_cpu") | 1' "$SCRATCH/pushed" | wc -l)" -ge 2 ]
is "one beside it that did not has none" "$(blocked idler)" ""
late=$(value ceems_profiler_late_seconds_total)
# of the time in which there were steps: a machine that is slow is slow in both
ok "how long steps ran before they were sampled is told (${late:-not} of $SECONDS s), and is little" awk -v n="${late:-999}" -v of=$SECONDS 'BEGIN { exit !(n < of / 50) }'

# a program of a user's that root may not open
if [ -c /dev/fuse ]; then
	mkdir "$SCRATCH/closed"
	gcc -O3 -fomit-frame-pointer -fno-inline -fno-ipa-cp -rdynamic '-DNAME(x)=closed_##x' -o "$JOBS/closed" "$SCRATCH/a.c" -lm
	"$BUILD/hung_fuse" "$JOBS/closed" "$SCRATCH/closed" "$SCRATCH/none" "$(command id -u "$one")" "$(command id -g "$one")" >"$SCRATCH/fuse" 2>&1 </dev/null &
	started $!
	wait_for 20 grep -q . "$SCRATCH/fuse"
	as_user "$one" srun -J closed --ceems-profile=97 "$SCRATCH/closed/program" 2 >"$SCRATCH/closed.log" 2>&1
	umount -l "$SCRATCH/closed" 2>/dev/null
	scrape
fi
if grep -qs ready "$SCRATCH/fuse"; then
	wait_for 20 has "$(id closed)"
	like "the program that root may not open has its names" "$(stacks closed)" '_start;.*;main;closed_mid;closed_leaf'
else
	skip "the program that root may not open has its names" "no FUSE here: $(tail -n 1 "$SCRATCH/fuse" 2>/dev/null)"
fi
is "no sample was lost" "$(value ceems_profiler_lost_samples_total)" 0

# its profiler is killed as a job runs
srun -J killed --ceems-profile=97 "$JOBS/asks" 600 >/dev/null 2>&1 &
job=$!
ok "a job is sampled" wait_for 30 up 97
whole() { scrape; sed -n 's/^ceems_profiler_samples_total{.*stack="whole".*} //p' "$SCRATCH/metrics"; }
before=$(whole)
old=$(pgrep -P "$ceemsd_pid" -x ceems-profiler)
kill -9 "$old"
# a machine that is busy starts a profiler late: the job ends when it has computed so long since
ticks() { awk '{ print $14 }' "/proc/$(pgrep -n -x "${1:-asks}")/stat"; }
has_computed() { [ "$(ticks "${2:-asks}")" -ge $((since + $1)) ]; }
again() { local n; n=$(whole); [ "$(pgrep -P "$ceemsd_pid" -x ceems-profiler)" != "$old" ] && [ "${n:-0}" -gt 0 ] && [ "$n" -lt "$before" ]; }
ok "a profiler that is killed is started again, and goes on with the job" wait_for 60 again
since=$(ticks)
ok "which computes" wait_for 200 has_computed 300
scancel --name=killed
wait $job
scrape
at_least() { [ "$(seconds "$1")" -ge "$2" ]; } # its last profile may still be on its way
ok "whose profile has what came since" wait_for 20 has "$(id killed)"
ok "most of it" wait_for 20 at_least killed 200 || echo "# $(seconds killed) of 300 cs"
ok "no clock is left" wait_for 20 up 0
# the process that opens for it is killed: another rate takes a program that this one had loaded
keeper=$(pgrep -P "$ceemsd_pid" -x ceems-opener)
old=$(pgrep -P "$keeper")
srun -J outlives --ceems-profile=61 "$JOBS/asks" 600 >/dev/null 2>&1 &
job=$!
ok "a job is sampled" wait_for 30 up 61
computed=$(ticks)
kill -9 "$old"
srun -J reopened --ceems-profile=97 "$JOBS/brief" 600 >/dev/null 2>&1 &
next=$!
ok "the next one is as well" wait_for 60 up 97
since=$(ticks brief) computed=$((computed - $(ticks))) # a machine that is busy starts an opener late
ok "and computes" wait_for 200 has_computed 200 brief
ok "an opener that dies is started again" [ "$(pgrep -P "$keeper")" != "$old" ]
half=$(((computed + $(ticks)) / 2))
scancel --name=outlives
scancel --name=reopened
wait $job $next
scrape
ok "the job that was sampled meanwhile has its profile" wait_for 20 has "$(id outlives)"
ok "most of its time, but for that without an opener" wait_for 20 at_least outlives $half || echo "# $(seconds outlives) of $half cs"
is "no other program's names are in it" "$(stacks outlives | grep -c brief_)" 0
ok "but its own ($(share outlives asks_leaf) %)" [ "$(share outlives asks_leaf)" -ge 80 ]
ok "the next step has its profile" wait_for 20 has "$(id reopened)"
named() { grep -q "$2" <<<"$(stacks "$1")"; } # nothing knows the program when its first profile is made
ok "with its names" wait_for 20 named reopened 'main;brief_mid;brief_leaf' || stacks reopened | sed 's/^/# /'
is "and that is counted" "$(value ceems_profiler_opener_restarts_total)" 1
# nor does anything stay when ceemsd ends
children=$(pgrep -P "$ceemsd_pid")
kill "$ceemsd_pid"
wait "$ceemsd_pid" 2>/dev/null
none_left() { local p; for p in $children; do [ ! -e "/proc/$p" ] || return 1; done; }
ok "when ceemsd ends none of its processes is left, nor what they hold" wait_for 20 none_left

# blocked time is denied where the site has not said otherwise
ceemsd_start --profiling.policy=allow --profiling.interval=3s --profiles.spool="$SCRATCH/spool" --profiles.url="http://127.0.0.1:$port" --cluster=lab
ok "ceemsd starts again" wait_for 20 ceemsd_up
ok "with its profiler" wait_for 60 up 0
as_user "$one" srun -J denied --ceems-profile=19,off-cpu sh -c '"$1/asks" 1; "$1/sleeper" 3' sh "$JOBS" >/dev/null 2>&1
srun -J after --ceems-profile=19 "$JOBS/brief" 1 >/dev/null 2>&1
scrape
ok "who asks a site that has not allowed blocked time has CPU time" wait_for 20 has "$(id denied)"
ok "as has the next" wait_for 20 has "$(id after)"
is "but no blocked time" "$(blocked denied)" ""
tap_done
