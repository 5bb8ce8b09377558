#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sixteen divided GPUs with seven instances each (MIG), and changes of them while ceemsd runs:
# instances that go, MIG that is switched off. The library is made up (test/fake/nvml.c).
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../gpu.sh"

# machine LEFT_OUT WHOLE: of device 3 the instance LEFT_OUT is missing, device WHOLE is not divided
machine() {
	local lines=() i k
	for i in {0..15}; do
		if [ "$i" = "$2" ]; then
			lines+=("device $i 100 busy=30")
			continue
		elif [ "$i" = 12 ]; then
			lines+=("device $i 100 mig gpm xid=$xid")
		else
			lines+=("device $i 100 mig gpm")
		fi
		for k in {1..7}; do
			[ "$i $k" = "3 $1" ] || lines+=("instance $i $k 0 1 $((10 * k)) 100")
		done
	done
	gpu_machine "${lines[@]}"
}
xid=0
machine none none
mkdir "$SCRATCH/cgroup"
port=$(free_port) || exit 1
"$BUILD/ceemsd" "${GPU_AS[@]}" --path.rundir="$SCRATCH/run" --path.cgroupfs="$SCRATCH/cgroup" \
	--web.listen-address="127.0.0.1:$port" "${GPU_ARGS[@]}" >"$SCRATCH/log" 2>&1 </dev/null &
pid=$!
started $pid
scrape() { curl -sf -m 60 -o "$SCRATCH/body" "http://127.0.0.1:$port/metrics"; }
# lines_are METRIC LABELS COUNT
lines_are() { scrape && [ "$(grep -c "^$1{.*$2.*} " "$SCRATCH/body")" = "$3" ]; }
value() { sed -n "s|^$1{.*$2.*} ||p" "$SCRATCH/body"; }
said() { grep -q -- "$1" "$SCRATCH/log"; }
used=ceems_gpu_instance_memory_used_bytes active=ceems_gpu_instance_sm_active_ratio

ok "112 instances are told" wait_for 60 lines_are $used "" 112
ok "and how much each is used, from the second sample on" wait_for 60 lines_are $active "" 112
is "each by its own counters" "$(value $active 'index="15".*gpuiid="7"') $(value $active 'index="0".*gpuiid="2"')" "0.7 0.2"
is "how busy a divided device is, nobody knows" "$(grep -c '^ceems_gpu_busy_ratio' "$SCRATCH/body")" 0
is "its power is known" "$(value ceems_gpu_power_watts 'index="15"')" 100

is "no error was reported" "$(value ceems_gpu_xid_errors_total 'index="12"'),$(value ceems_gpu_xid_last 'index="12"')" 0,
xid=79
machine none none
has_xid() { scrape && [ "$(value ceems_gpu_xid_errors_total 'index="12"') $(value ceems_gpu_xid_last 'index="12"')" = "1 79" ]; }
ok "one is, and counted" wait_for 60 has_xid
is "for its device alone" "$(value ceems_gpu_xid_errors_total 'index="11"')" 0

machine 5 none
ok "an instance that goes is noticed" wait_for 60 said 'GPU-.*3: its instances have changed: starting anew'
ok "and is not told any more" wait_for 60 lines_are $used "" 111
ok "those of other devices are" wait_for 60 lines_are $used 'index="2"' 7

machine 5 9
ok "so is MIG that is switched off" wait_for 60 said 'GPU-.*9: MIG was switched off: starting anew'
ok "the device is whole again" wait_for 60 lines_are ceems_gpu_busy_ratio 'index="9"' 1
# what the old child said of its instances is too old after ten seconds
ok "and has no instances" wait_for 60 lines_are $used "" 104
kill -TERM $pid
wait $pid
is "ceemsd ends well" $? 0
tap_done
