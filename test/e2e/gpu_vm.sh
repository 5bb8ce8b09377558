#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# GPUs of virtual machines: two have parts of one (vGPU) by the host's figures, one has another as a whole, which
# the host does not see. Library, machines and /sys are made up: no GPU and no host of vGPUs is here.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/gpu.sh"
command -v jq >/dev/null || skip_all "jq is not installed"

first=10f5c0de-0000-4000-8000-000000000001 second=10f5c0de-0000-4000-8000-000000000002 third=10f5c0de-0000-4000-8000-000000000003
plain=10f5c0de-0000-4000-8000-000000000004
pci() { mkdir -p "$SCRATCH/sys/bus/pci/devices/$1" && echo "$2" >"$SCRATCH/sys/bus/pci/devices/$1/class"; }
pci 0000:3b:00.0 0x030200 # what is divided by mediated devices
pci 0000:3b:00.4 0x030200 # a virtual function of it (SR-IOV)
pci 0000:86:00.0 0x030200 # what is passed through
pci 0000:19:00.0 0x020000 # a network card
mdev=aaaa0000-1111-4222-8333-444444444444
mkdir -p "$SCRATCH/sys/bus/pci/devices/0000:3b:00.0/$mdev" "$SCRATCH/sys/bus/mdev/devices"
ln -s "../../pci/devices/0000:3b:00.0/$mdev" "$SCRATCH/sys/bus/mdev/devices/$mdev"

# of 80 GiB the one has a half, and uses more
gpu_machine 'device 0 400' "vgpu 0 17 0 60 500 40960 ${first^^}" "vgpu 0 18 0 20 100 20480 $second"
mkdir "$SCRATCH/cgroup"
port=$(free_port) || exit 1
"$BUILD/ceemsd" "${GPU_AS[@]}" --path.rundir="$SCRATCH/run" --path.cgroupfs="$SCRATCH/cgroup" --path.sysfs="$SCRATCH/sys" --collector.libvirt \
	--web.listen-address="127.0.0.1:$port" "${GPU_ARGS[@]}" --energy.interval=500ms --energy.idle=none --reports.enabled --reports.interval=1h \
	--reports.spool="$SCRATCH/spool" --cluster=vms >"$SCRATCH/log" 2>&1 </dev/null &
pid=$!
started $pid
scrape() { curl -sf -m 60 -o "$SCRATCH/body" "http://127.0.0.1:$port/metrics" && curl -sf -o "$SCRATCH/units" "http://127.0.0.1:$port/units"; }
ok "ceemsd starts" wait_for 60 scrape
"$BUILD/vm_put" "$SCRATCH/run/ring" start $first mdev=$mdev
"$BUILD/vm_put" "$SCRATCH/run/ring" start $second 0000:3b:00.4 0000:19:00.0
"$BUILD/vm_put" "$SCRATCH/run/ring" start $third 0000:86:00.0
"$BUILD/vm_put" "$SCRATCH/run/ring" start $plain 0000:19:00.0
unit() { jq -r --arg i "$1" ".units[] | select(.id == \$i) | $2" "$SCRATCH/units"; }
of() { sed -n "s/^ceems_compute_unit_gpu_$2{.*uuid=\"$1\".*vgpu=\"\([0-9]*\)\".*} /\1 /p" "$SCRATCH/body"; }
have_parts() { scrape && [ "$(of $first index_flag) $(of $second index_flag)" = "17 0.5 18 0.25" ]; }
ok "each machine has its part of the device, by its frame buffer" wait_for 60 have_parts
used() { scrape && [ "$(of $first busy_ratio),$(of $second busy_ratio)" = "17 0.6,18 0.2" ]; }
ok "how busy each is, the host says" wait_for 60 used
is "and how much of its frame buffer is in use" "$(of $first memory_used_bytes),$(of $second memory_used_bytes)" "17 524288000,18 104857600"
is "and its size" "$(of $second memory_size_bytes)" "18 21474836480"
like "and of its type" "$(grep '^ceems_compute_unit_gpu_vgpu_info' "$SCRATCH/body" | grep -o 'type="[^"]*"' | paste -sd' ')" '^type="NVIDIA A40-40Q" type="NVIDIA A40-20Q"$'

joules() { unit "$1" '.energy_joules.gpu // "none"'; }
charged() { scrape && [ "$(joules $first)" != 0 ] && [ "$(joules $second)" != 0 ] && [ "$(joules $first)" != none ] && [ "$(joules $second)" != none ]; }
ok "both are charged" wait_for 60 charged
by_use() {
	local a b
	scrape && a=$(joules $first) b=$(joules $second) && sleep 1 && scrape &&
		awk -v a="$a" -v b="$b" -v c="$(joules $first)" -v d="$(joules $second)" 'BEGIN { exit !(c > a && d > b && (c - a) / (d - b) > 2.9 && (c - a) / (d - b) < 3.1) }'
}
ok "by how much they use, 3 to 1" wait_for 60 by_use
adds_up() {
	awk '/domain="gpu"/ { split($NF, a, "."); v = a[1] * 1000000 + substr(a[2] "000000", 1, 6)
		if (/^ceems_node_energy_joules_total/) all += v
		if (/^ceems_node_(un)?attributed_energy_joules_total/) parts += v }
		END { exit !(all > 0 && all == parts) }' "$SCRATCH/body"
}
ok "all together have what the device counted" adds_up

is "a GPU that is passed through is the machine's" "$(unit $third .gpus)" 0
is "and its energy is not measured, which is not 0" "$(joules $third)$(grep -c "^ceems_compute_unit_energy_joules_total{.*$third.*domain=\"gpu\"" "$SCRATCH/body")" none0
is "nor is how it is used" "$(grep "^ceems_compute_unit_gpu.*$third" "$SCRATCH/body")" ""
is "a machine without a GPU has none" "$(unit $plain '.gpus // "none"')" none
is "and took no energy of one" "$(joules $plain)" 0

for vm in $first $second $third $plain; do "$BUILD/vm_put" "$SCRATCH/run/ring" stop $vm; done
told() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" | jq -c 'select(.kind == "final")' >"$SCRATCH/finals" && [ "$(wc -l <"$SCRATCH/finals")" -ge 4 ]; }
ok "all are reported" wait_for 120 told
final() { jq -r "select(.unit == \"$1\") | $2" "$SCRATCH/finals" | tail -1; }
is "with the GPUs that each held, for their hours" "$(for vm in $first $second $third $plain; do final $vm '.gpus // "none"'; done | paste -sd' ')" "0 0 0 none"
is "energy of parts alone" "$(for vm in $first $second $third $plain; do final $vm '[.energy[]? | select(.domain == "gpu")] | length'; done | paste -sd' ')" "1 1 0 0"
is "and the frame buffer that was used" "$(final $first .counts.gpu_memory_peak_bytes) $(final $third .counts.gpu_memory_peak_bytes)" "524288000 null"
kill -TERM $pid
wait $pid
is "ceemsd ends well" $? 0
sed -n '/level=\(warn\|error\)/s/^/# /p' "$SCRATCH/log"
tap_done
