#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real ceemsd with ceems-gpu on a made-up /sys with devices of amdgpu and xe, laid out as the kernel's
# documentation and drivers have it (no such device is here): energy, counters that go back or stand still,
# tables that are not known, a device that hangs, one that vanishes, another division.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../gpu.sh"
. "$(dirname "$0")/../amd_gpu.sh"

amd_device 0000:c1:00.0 0x740f 128 1 210
amd_counts 0000:c1:00.0 100
amd_device 0000:c6:00.0 0x740f 129 2 120
amd_counts 0000:c6:00.0 7
xe_device 0000:03:00.0 130 3
xe_energy 5000000
mkdir "$SCRATCH/cgroup"
port=$(free_port) || exit 1
"$BUILD/ceemsd" "${GPU_AS[@]}" --path.sysfs="$AMD_SYS" --path.rundir="$SCRATCH/run" --path.cgroupfs="$SCRATCH/cgroup" --collector.gpu \
	--web.listen-address="127.0.0.1:$port" --energy.interval=500ms >>"$SCRATCH/log" 2>&1 </dev/null &
pid=$!
started $pid
scrape() { curl -sf -m 60 -o "$SCRATCH/body" "http://127.0.0.1:$port/metrics"; }
value() { scrape && sed -n "s|^$1{.*$2.*} ||p" "$SCRATCH/body"; }
of() { value "ceems_gpu_$1" "gpuuuid=\"$2\""; }
shows() { [ "$(of "$1" "$2")" = "$3" ]; }
said() { grep -q -- "$1" "$SCRATCH/log"; }
child() { pgrep -P "$pid" -x ceems-gpu; }
other_child() { local now; now=$(child) && [ -n "$now" ] && [ "$now" != "$1" ]; }
grown() { awk -v a="$(of energy_joules_total "$1")" -v b="$2" 'BEGIN { exit !(a > b + 0) }'; }

ok "a device without NVIDIA's driver is read: its power" wait_for 20 shows power_watts 0000:c1:00.0 210
is "its memory" "$(of memory_size_bytes 0000:c1:00.0)" 68702699520
is "how busy it is" "$(of busy_ratio 0000:c1:00.0)" 0.87
like "which device it is" "$(value ceems_gpu_info 'gpuuuid="0000:c1:00.0",vendor="amd",pci="0000:c1:00.0".*model="AMD Instinct MI210"')" '^1$'
ok "Intel's device, too" wait_for 20 shows temperature_celsius 0000:03:00.0 44
ok "counters begin at 0" wait_for 20 shows energy_joules_total 0000:c1:00.0 0
amd_counts 0000:c1:00.0 400
ok "the accumulator's joules, exactly" wait_for 20 shows energy_joules_total 0000:c1:00.0 300
ok "those of Intel's" wait_for 20 shows energy_joules_total 0000:03:00.0 0
xe_energy 5000123
ok "to the microjoule" wait_for 20 shows energy_joules_total 0000:03:00.0 0.000123
sums() {
	scrape && awk '/domain="gpu"/ { split($NF, a, "."); v = a[1] * 1000000 + substr(a[2] "000000", 1, 6)
		if (/^ceems_node_energy_joules_total/) all += v
		if (/^ceems_node_(un)?attributed_energy_joules_total/) parts += v }
		END { exit !(all > 0 && all == parts) }' "$SCRATCH/body"
}
ok "the node's energy has a domain gpu, and it adds up" wait_for 20 sums

amd_counts 0000:c1:00.0 50
ok "a counter that goes back is a reset" wait_for 20 eval '[ "$(value ceems_energy_source_resets_total source=\"gpu\")" -ge 1 ]'
amd_counts 0000:c1:00.0 60
ok "nothing is lost of what comes after" wait_for 20 grown 0000:c1:00.0 300

amd_table 0000:c6:00.0 '\x08\x00\x07\x03\x00\x00\x00\x00'
ok "a table of an unknown version is spoken of" wait_for 20 said '0000:c6:00.0: gpu_metrics: version 7.3 of 8 bytes is not known: its power is integrated'
amd_power 0000:c6:00.0 130
ok "the device goes on with its power" wait_for 20 shows power_watts 0000:c6:00.0 130
node_joules() { value ceems_node_energy_joules_total 'domain="gpu"'; }
was=$(node_joules)
ok "which is energy, too" wait_for 60 eval 'awk -v a="$(node_joules)" -v b="$was" "BEGIN { exit !(b != \"\" && a > b + 50) }"'

# hangs: no writer ever opens it
first=$(child)
rm "$AMD_SYS/bus/pci/devices/0000:c1:00.0/gpu_metrics"
mkfifo -m 644 "$AMD_SYS/bus/pci/devices/0000:c1:00.0/gpu_metrics"
ok "a device whose file hangs has no power after a while" wait_for 60 shows power_watts 0000:c1:00.0 ""
amd_power 0000:c6:00.0 140
ok "the other one is read on" wait_for 20 shows power_watts 0000:c6:00.0 140
is "by the same child, which nobody waits for" "$(child)" "$first"
rm "$AMD_SYS/bus/pci/devices/0000:c1:00.0/gpu_metrics"
amd_counts 0000:c1:00.0 70
kill -9 "$first"
ok "it is read again with the next child" wait_for 60 shows power_watts 0000:c1:00.0 210

# divided
first=$(child)
kfd_node 1 111 0xc100 128
kfd_node 2 112 0x1000c100 131
kfd_generation 2
ok "another division ends the child" wait_for 60 said 'the partitions have changed'
ok "and the next one knows it" wait_for 60 eval '[ "$(value ceems_gpu_info "gpuuuid=\"0000:c1:00.0\".*mig=\"true\"")" = 1 ]'

ok "partitions have their compute units" wait_for 60 eval '[ "$(value ceems_gpu_multiprocessors "gpuuuid=\"0000:c1:00.0\"")" = 76 ]'
is "and their dies" "$(value ceems_gpu_instance_slices 'gpuuuid="0000:c1:00.0".*gpuiid="1"')" 1

# gone
rm -r "$AMD_SYS/bus/pci/devices/0000:c6:00.0" "$AMD_SYS/bus/pci/drivers/amdgpu/0000:c6:00.0"
ok "a device that vanishes ends the child" wait_for 60 said '0000:c6:00.0: No such file'
amd_power 0000:c1:00.0 220
ok "the next one reads the others" wait_for 60 shows power_watts 0000:c1:00.0 220
like "a command shows the devices" "$("$BUILD/ceems-gpu" --once --gpu.nvml=/nonexistent --path.sysfs="$AMD_SYS" 2>/dev/null)" \
	'[0-9]+ 0000:c1:00.0 0000:c1:00.0 "AMD Instinct MI210" MIG energy=70.000J power=220W'
kill -TERM $pid
wait $pid
is "ceemsd ends well" $? 0
tap_done
