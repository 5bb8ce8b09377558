# SPDX-License-Identifier: GPL-2.0-or-later
# For tests with devices of amdgpu and xe: a /sys below AMD_SYS, laid out as the kernel has it. No such
# device is here. A device's links are folders; files are replaced at once.

chmod 755 "$SCRATCH"
AMD_SYS=$SCRATCH/sys
mkdir -p "$AMD_SYS"

amd_put() { # PATH TEXT
	mkdir -p "$AMD_SYS/${1%/*}" && printf '%s\n' "$2" >"$AMD_SYS/$1.new" && mv "$AMD_SYS/$1.new" "$AMD_SYS/$1"
}
amd_power() { amd_put "bus/pci/devices/$1/hwmon/hwmon3/power1_average" "${2}000000"; } # PCI WATTS
amd_device() { # PCI ID RENDER CARD WATTS
	local at=bus/pci/devices/$1
	mkdir -p "$AMD_SYS/bus/pci/drivers/amdgpu/$1" "$AMD_SYS/$at/drm/renderD$3" "$AMD_SYS/$at/drm/card$4"
	amd_put "$at/device" "$2"
	amd_put "$at/product_name" "AMD Instinct MI210"
	amd_put "$at/mem_info_vram_used" 10485760
	amd_put "$at/mem_info_vram_total" 68702699520
	amd_put "$at/gpu_busy_percent" 87
	amd_power "$1" "$5"
}
amd_table() { # PCI BYTES: as printf's format
	local to=$AMD_SYS/bus/pci/devices/$1/gpu_metrics
	printf "$2" >"$to.new" && mv "$to.new" "$to"
}
# amd_counts PCI JOULES: a table of version 1.3, all absent but its accumulator (2^-16 J); without
# power in it, it may stand still
amd_counts() {
	local counts=$(($2 * 65536)) i table='\x78\x00\x01\x03'
	for ((i = 4; i < 24; i++)); do table+='\xff'; done
	for ((i = 0; i < 8; i++)); do printf -v table '%s\\x%02x' "$table" $((counts >> 8 * i & 255)); done
	for ((i = 32; i < 120; i++)); do table+='\xff'; done
	amd_table "$1" "$table"
}
kfd_node() { # NUMBER GPU_ID LOCATION RENDER
	local at=class/kfd/kfd/topology/nodes/$1
	amd_put "$at/gpu_id" "$2"
	amd_put "$at/properties" "simd_count 152
simd_per_cu 4
location_id $(($3))
domain 0
drm_render_minor $4
num_xcc 1"
}
kfd_process() { # PID GPU_ID BYTES UNITS
	amd_put "class/kfd/kfd/proc/$1/vram_$2" "$3"
	amd_put "class/kfd/kfd/proc/$1/stats_$2/cu_occupancy" "$4"
}
kfd_generation() { amd_put class/kfd/kfd/topology/generation_id "$1"; }
xe_device() { # PCI RENDER CARD
	local at=bus/pci/devices/$1
	xe_at=$at
	mkdir -p "$AMD_SYS/bus/pci/drivers/xe/$1" "$AMD_SYS/$at/drm/renderD$2" "$AMD_SYS/$at/drm/card$3"
	amd_put "$at/device" 0x0bda
	amd_put "$at/hwmon/hwmon5/temp2_input" 44000
}
xe_energy() { amd_put "$xe_at/hwmon/hwmon5/energy1_input" "$1"; } # MICROJOULES
