#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real ceemsd with ceems-gpu, whose library is made up (test/fake/nvml.c: no GPU is here):
# readings, a device that hangs, one that is lost, a child that is killed, a library that does
# not fit its driver. No scrape waits, no joule of the counter is lost.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../gpu.sh"

gpu_machine 'device 0 300 busy=40 used=1000' 'device 1 100 module=400'
mkdir "$SCRATCH/cgroup"
port=$(free_port) || exit 1
url=http://127.0.0.1:$port
start() {
	"$BUILD/ceemsd" "${GPU_AS[@]}" --path.rundir="$SCRATCH/run" --path.cgroupfs="$SCRATCH/cgroup" \
		--web.listen-address="127.0.0.1:$port" "${GPU_ARGS[@]}" --energy.interval=500ms >>"$SCRATCH/log" 2>&1 </dev/null &
	pid=$!
	started $pid
}
scrape() { curl -sf -m 60 -o "$SCRATCH/body" "$url/metrics"; }
value() { scrape && sed -n "s|^$1{.*$2.*} ||p" "$SCRATCH/body"; }
watts_are() { [ "$(value ceems_gpu_power_watts "index=\"$1\"")" = "$2" ]; }
joules() { value ceems_gpu_energy_joules_total 'index="0"'; }
more() { awk -v a="$(joules)" -v b="$1" -v by="$2" 'BEGIN { exit !(a >= b + by) }'; }
child() { pgrep -P "$pid" -x ceems-gpu; }
other_child() { local now; now=$(child) && [ -n "$now" ] && [ "$now" != "$1" ]; }
said() { grep -q -- "$1" "$SCRATCH/log"; }

start
ok "ceemsd starts" wait_for 20 scrape
ok "a device's power" wait_for 20 watts_are 0 300
is "how busy it is" "$(value ceems_gpu_busy_ratio 'index="0"')" 0.4
is "its memory" "$(value ceems_gpu_memory_used_bytes 'index="0"')" 1048576000
like "which device it is" "$(value ceems_gpu_info 'index="1".*gpuuuid="GPU-00000000-0000-0000-0000-000000000001"')" '^1$'
if [ "${GPU_AS[0]}" = --no-security.drop-privileges ]; then
	skip "the child has no privileges" "not root, or the build folder is closed to others"
else
	is "the child has no privileges" "$(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p; s/^Cap\(Prm\|Bnd\):\t//p; s/^NoNewPrivs:\t//p' "/proc/$(child)/status" | paste -sd' ')" \
		"65534 0000000000000000 0000000000000000 1"
fi
is "ceemsd itself opens no such library" "$(grep -c nvml_fake "/proc/$pid/maps")" 0
sums() { # the domain adds up, to the microjoule
	scrape && awk '/domain="gpu"/ { split($NF, a, "."); v = a[1] * 1000000 + substr(a[2] "000000", 1, 6)
		if (/^ceems_node_energy_joules_total/) all += v
		if (/^ceems_node_(un)?attributed_energy_joules_total/) parts += v }
		END { exit !(all > 0 && all == parts) }' "$SCRATCH/body"
}
ok "the node's energy has a domain gpu, and it adds up" wait_for 20 sums

ok "of one on a module with a processor it is said what its counter counts" wait_for 60 said "000000000001: is on a module with a processor: its energy counter is the GPU.s alone (GPU 101 W, module 400 W)"
is "of no other" "$(grep -c "on a module" "$SCRATCH/log")" 1

# killed
was=$(joules)
first=$(child)
kill -9 "$first"
ok "a child that is killed is started again" wait_for 20 other_child "$first"
ok "which is counted" wait_for 20 eval '[ "$(value ceems_gpu_restarts_total)" = 1 ]'
ok "the counter goes on, with the time between" wait_for 60 more "$was" 300

# a child that does not even die when it is killed, as one in the hands of a driver: frozen
frozen=/sys/fs/cgroup/freezer/ceems-gpu.$$
if have_root && grep -q ' /sys/fs/cgroup/freezer cgroup ' /proc/mounts && mkdir "$frozen" 2>/dev/null; then
	test_cleanup() { [ ! -d "$frozen" ] || { echo THAWED >"$frozen/freezer.state"; sleep 0.2; rmdir "$frozen"; }; }
	wait_for 60 other_child none
	stuck=$(child)
	echo "$stuck" >"$frozen/cgroup.procs"
	echo FROZEN >"$frozen/freezer.state"
	kill -HUP $pid # it is to be started anew
	ok "a child that cannot be killed is spoken of" wait_for 60 said "process $stuck is killed but does not end"
	ok "scrapes go on beside it" scrape
	is "there is no second one" "$(child)" "$stuck"
	echo THAWED >"$frozen/freezer.state"
	ok "until it has ended" wait_for 60 other_child "$stuck"
	ok "readings go on" wait_for 60 watts_are 0 300
	stuck=$(child)
	echo "$stuck" >"$frozen/cgroup.procs"
	echo FROZEN >"$frozen/freezer.state"
	kill -TERM $pid
	wait $pid
	is "ceemsd ends without it, too" $? 0
	echo THAWED >"$frozen/freezer.state"
	ok "and it ends as soon as it can" wait_for 60 is_gone "$stuck"
	rmdir "$frozen"
	start
	wait_for 60 watts_are 0 300
	wait_for 60 more 0 1
else
	skip "a child that cannot be killed" "not root, or no freezer of cgroup v1"
fi

# let go, for a reset of a device or another MIG layout
"$BUILD/ceems_tool" gpu release --path.rundir="$SCRATCH/run"
is "the driver is let go" $? 0
is "and then no child is left" "$(child)" ""
ok "no power is shown any more" wait_for 60 watts_are 0 ""
is "nor is there a child" "$(child)" ""
"$BUILD/ceems_tool" gpu resume --path.rundir="$SCRATCH/run"
is "it is taken up again" $? 0
ok "with a child" wait_for 60 other_child none
ok "and readings" wait_for 60 watts_are 0 300
is "only its group can lock it" "$(stat -c %a "$SCRATCH/run/gpu-lock")" 640
like "a wrong argument is named" "$("$BUILD/ceems_tool" gpu release --now 2>&1)" "unknown argument: --now"
like "as is a folder that is not there" "$("$BUILD/ceems_tool" gpu release --path.rundir "$SCRATCH/none" 2>&1)" "$SCRATCH/none/gpu-release: No such file"

is "the idle power of a busy device is not learned" "$(value ceems_gpu_idle_power_watts 'index="0"')" ""

# hangs
same=$(child)
gpu_machine 'device 0 300' 'device 1 100 hang=1000'
ok "a device that hangs has no power after a while" wait_for 60 watts_are 1 ""
is "it is still named" "$(value ceems_gpu_info 'index="1"')" 1
was=$(joules)
ok "the other one goes on" wait_for 60 more "$was" 300
is "it is the same child, which nobody waits for" "$(child)" "$same"
# nobody holds it, and now nothing runs on it
learned() { value ceems_gpu_idle_power_watts 'index="0"' | awk '{ exit !($1 > 290 && $1 < 310) }'; }
ok "that of a device that does nothing is" wait_for 90 learned
gpu_machine 'device 0 200' 'device 1 100'
kill -9 "$(child)"
ok "and is read again with the next child" wait_for 60 watts_are 1 100

# lost: another library is needed
second=$(child)
gpu_machine 'device 0 200' 'device 1 100 lost'
ok "a lost device ends the child" wait_for 60 is_gone "$second"
ok "with a line that says so" said 'GPU is lost'
was=$(joules)
ok "the next one leaves it out and reads the other" wait_for 90 more "$was" 200
ok "the lost one has no power" wait_for 60 watts_are 1 ""
gpu_machine 'init 18'
kill -9 $(child) 2>/dev/null
ok "a library of another release says so" wait_for 60 said 'version mismatch'
ok "and ceemsd serves" scrape
gpu_machine 'device 0 200' 'device 1 100'
ok "until it fits again" wait_for 90 watts_are 0 200

last=$(child)
kill -TERM $pid
wait $pid
is "ceemsd ends well" $? 0
ok "and leaves no child" wait_for 10 is_gone "$last"

# devices that cannot be told apart
gpu_machine 'device 0 100' 'device 1 200 uuid=0' 'device 2 300 nameless' 'device 3 400'
timeout 60 "$BUILD/ceems-gpu" --once "${GPU_ARGS[1]}" >"$SCRATCH/once" 2>"$SCRATCH/once.log"
is "of two devices with one UUID the first is read, and none without a UUID" "$(grep -o 'GPU-[-0-9]*' "$SCRATCH/once" | sort | paste -sd' ')" \
	"GPU-00000000-0000-0000-0000-000000000000 GPU-00000000-0000-0000-0000-000000000003"
like "each that is left out is named" "$(grep -o 'device [0-9]: [^"]*' "$SCRATCH/once.log" | paste -sd'|')" \
	'^device 1: another one has its UUID, too: GPU-.*: it is not read\|device 2: device 2 has no UUID: it is not read$'

# ---- files that the library needs and that nobody makes for it
mkdir -p "$SCRATCH/proc/driver/nvidia/capabilities/mig" "$SCRATCH/dev/nvidia-caps"
echo "NVRM version" >"$SCRATCH/proc/driver/nvidia/version"
printf 'DeviceFileMinor: 2\nDeviceFileMode: 256\nDeviceFileModify: 1\n' >"$SCRATCH/proc/driver/nvidia/capabilities/mig/monitor"
chmod -R a+rX "$SCRATCH/proc" "$SCRATCH/dev"
once() { timeout 60 "$BUILD/ceems-gpu" --once "${GPU_ARGS[1]}" --path.procfs="$SCRATCH/proc" --path.devfs="$SCRATCH/dev" 2>&1; }
gpu_machine 'init 9'
like "device files that are not there are named" "$(once)" 'nvmlInit: .*: /dev/nvidiactl is not there, .*NoNewPrivileges.*nvidia-modprobe -u -c 0'
: >"$SCRATCH/dev/nvidiactl"
is "and only then" "$(once | grep -c nvidiactl)" 0
gpu_machine 'device 0 100 mig gpm' 'instance 0 1 0 1 60 100'
like "so is the right to monitor instances" "$(once)" '/dev/nvidia-caps/nvidia-cap2 \(mig/monitor\): .*let the service.s user read it'
: >"$SCRATCH/dev/nvidia-caps/nvidia-cap2"
is "which is not asked for where it is there" "$(once | grep -c mig/monitor)" 0
gpu_machine 'device 0 100'
rm "$SCRATCH/dev/nvidia-caps/nvidia-cap2"
is "nor without instances" "$(once | grep -c mig/monitor)" 0
like "a library that is not there is named" "$(timeout 60 "$BUILD/ceems-gpu" --once --gpu.nvml="$SCRATCH/libnvidia-ml.so.1" 2>&1)" \
	'libnvidia-ml.so.1: cannot open shared object file'

# where there is no driver there is no child
GPU_ARGS=(--collector.gpu "--gpu.path=$BUILD/ceems-gpu")
if [ ! -e /proc/driver/nvidia/version ] && [ ! -e /sys/module/nvidia ] && ! ls -d /sys/bus/pci/drivers/{amdgpu,xe,i915}/*:* >/dev/null 2>&1; then
	start
	ok "ceemsd starts without a driver" wait_for 20 scrape
	is "and no child" "$(child)" ""
	ok "which it says once" said 'no GPU driver is loaded'
	is "the collector is not a failure" "$(value ceems_scrape_collector_success 'collector="gpu"')" ""
	kill -TERM $pid
	wait $pid
else
	skip "no child without a driver" "there is a driver here"
fi
tap_done
