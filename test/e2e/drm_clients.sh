#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What steps use of a GPU by DRM: real control groups, ceemsd and ceems-opener, on a /proc and a /sys in which
# the step's processes have clients of i915, laid out as the kernel documents fdinfo (no such device is here).
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
have_root || skip_all "needs root"
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
. "$(dirname "$0")/../step_group.sh"
chmod 755 "$SCRATCH"

pci=0000:00:02.0
mkdir -p "$SCRATCH/sys/bus/pci/drivers" "$SCRATCH/proc"
ln -s /proc/[a-z]* "$SCRATCH/proc"
# process PID: the real one's, but for its descriptors
process() {
	mkdir -p "$SCRATCH/proc/$1/fd" "$SCRATCH/proc/$1/fdinfo"
	ln -s "/proc/$1"/{cgroup,comm,stat,status} "$SCRATCH/proc/$1"
	ln -s /etc/passwd "$SCRATCH/proc/$1/fd/0"
	printf 'pos:\t0\n' >"$SCRATCH/proc/$1/fdinfo/0"
	chmod 500 "$SCRATCH/proc/$1/fd" "$SCRATCH/proc/$1/fdinfo"
}
# client PID FD NUMBER RENDER-NS KIB: i915's text
client() {
	local at=$SCRATCH/proc/$1
	printf '%s:\t%s\n' pos 0 flags 02100002 mnt_id 26 drm-driver i915 drm-client-id "$3" drm-pdev $pci \
		drm-total-system0 "$(($5 + 100)) KiB" drm-resident-system0 "$5 KiB" drm-engine-render "$4 ns" \
		drm-engine-video "1500000000 ns" drm-engine-capacity-video 2 >"$at/text" && chmod 400 "$at/text"
	ln -sfn /dev/dri/renderD128 "$at/fd/$2"
	mv "$at/text" "$at/fdinfo/$2"
}

port=$(free_port) || exit 1
log=$SCRATCH/ceemsd.log
proc=$SCRATCH/proc
start() {
	"$BUILD/ceemsd" --path.procfs="$proc" --path.sysfs="$SCRATCH/sys" --path.rundir="$SCRATCH/run" --unit.linger=10m \
		--web.listen-address="127.0.0.1:$port" --collector.slurm --collector.drm --unit.min-export=0 </dev/null >>"$log" 2>&1 &
	daemon=$!
	started $daemon
	ok "ceemsd starts $*" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
}
end() { kill $daemon && wait $daemon; }
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
value() { scrape && sed -n "s|^$1{.*uuid=\"$job\".*gpuuuid=\"$pci\"${2:+.*engine=\"$2\"}.*} ||p" "$SCRATCH/metrics"; }
busy() { value ceems_compute_unit_gpu_engine_seconds_total "$1"; }
shows() { [ "$("${@:2}")" = "$1" ]; }
left_out() { scrape && sed -n "s|^ceems_gpu_clients_left_out_total{.*what=\"$1\"} ||p" "$SCRATCH/metrics"; }
grep_left_out() { [ -n "$(left_out "$1")" ]; }
openers() { pgrep -P $daemon -x ceems-opener; }
drm_works() { scrape && grep -q 'ceems_scrape_collector_success{.*collector="drm".*} 1' "$SCRATCH/metrics"; }

start "on a node without such a GPU"
ok "nothing is started for it" [ -z "$(openers)" ]
end

step_make 0
process "$sleeper"
mkdir -p "$SCRATCH/sys/bus/pci/drivers/i915/$pci"
client "$sleeper" 3 7 60000000000 1000
start "on one with one"
ok "a step that was there before has what its client does from now on" wait_for 60 shows 0 busy render
opener=$(openers)
caps=$(sed -n 's/^CapPrm:\t//p' "/proc/$opener/status")
is "the opener has two capabilities" "$((16#$caps))" $((1 << 19 | 1 << 2)) # CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH
is "it may not make every system call" "$(sed -n 's/^Seccomp:\t//p' "/proc/$opener/status")" 2
client "$sleeper" 3 7 61250000000 1024
client "$sleeper" 4 7 61250000000 1024
ok "a client is told once, whatever the descriptors" wait_for 60 shows 1.25 busy render
is "the memory of a client is told" "$(value ceems_compute_unit_gpu_memory_used_bytes)" 1048576
client "$sleeper" 5 8 500000000 2048
ok "a second client is added from its beginning" wait_for 60 shows 1.75 busy render
is "the second client's other engines, too" "$(busy video)" 1.5
is "the memory of both" "$(value ceems_compute_unit_gpu_memory_used_bytes)" 3145728

# two that share a client, and one outside of any step
process $$
client $$ 3 9 99000000000 1024
first_sleeper=$sleeper
step_make 1
process "$sleeper"
client "$sleeper" 3 8 500000000 2048
client "$sleeper" 4 10 2000000000 1024
ok "of a step that begins its clients count from 0" wait_for 120 shows 3.75 busy render # the tree is walked once a minute
is "what a process outside has is nobody's" "$(grep -c engine=\"render\" "$SCRATCH/metrics")" 1

# the process that answers dies, and another takes its place
server=$(pgrep -P "$opener")
kill -9 "$server"
client "$sleeper" 4 10 2250000000 1024
ok "the opener's own child is replaced" wait_for 60 shows 4 busy render
rm "$SCRATCH/proc/$sleeper/fd/4" "$SCRATCH/proc/$sleeper/fdinfo/4"
ok "a client that is closed has no memory" wait_for 60 shows 3145728 value ceems_compute_unit_gpu_memory_used_bytes
is "the time of a closed client stays" "$(busy render)" 4
is "nothing was left out" "$(left_out clients)" 0

# a driver that hangs
rm "$SCRATCH/proc/$sleeper/fdinfo/3"
mkfifo "$SCRATCH/proc/$sleeper/fdinfo/3"
refused() { [ "$(left_out refused)" -gt 0 ]; }
ok "a driver that does not answer is told of" wait_for 60 refused
ok "in the log, too" wait_for 20 grep -q "drm: process $sleeper: .*timed out" "$log"
ok "scrapes go on" drm_works
is "all is still there" "$(busy render)" 4
end

# the kernel's own /proc: another user's process may not be looked into without the two capabilities
mkdir -p "$SCRATCH/dri" && : >"$SCRATCH/dri/renderD128"
setpriv --reuid=65534 --regid=65534 --clear-groups sleep 1000 3<"$SCRATCH/dri/renderD128" &
other=$!
started $other
for c in $controllers; do echo $other >"$(step_folder $c 1)/task_0/cgroup.procs"; done
proc=/proc
start "on the kernel's own /proc"
ok "it looks at all processes" wait_for 60 grep_left_out processes
is "none is refused, whoever's it is" "$(left_out refused)" 0
end
kill $other "$first_sleeper" # test_cleanup ends the second
is "no opener is left" "$(kill -0 "$opener" 2>&1 | grep -c 'No such process')" 1
tap_done
