/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All collectors, sorted by name: COLLECTOR(name, on by default, help). Each is
 * collector_<name> in collector_<name>.c; from here come their table (collectors.c),
 * the options --collector.<name> and the members of struct options. No include guard:
 * each use defines COLLECTOR first, and it is undefined at the end. */
#ifndef COLLECTOR
#define COLLECTOR(name, on, help)
#endif
/* clang-format off */
COLLECTOR(courier, "true", "Health of ceems-courier, and what it sent.")
COLLECTOR(cpu, "true", "CPU time of the node.")
COLLECTOR(cray_pm_counters, "false", "Power counters of Cray EX nodes.")
COLLECTOR(drm, "false", "What units use of GPUs by DRM (amdgpu, xe, i915): engines and "
	"memory.")
COLLECTOR(ebpf, "false", "Control groups of steps, as the kernel tells of them: last "
	"counters where no stop record comes.")
COLLECTOR(emissions, "false", "Emission factors of electricity, in g/kWh.")
COLLECTOR(energy, "true", "The node's energy, and to whom it is charged.")
COLLECTOR(gpu, "false", "GPUs of the node, as their drivers tell of them.")
COLLECTOR(hwmon, "false", "Power and energy sensors of the hwmon class.")
COLLECTOR(infiniband, "false", "InfiniBand ports of the node.")
COLLECTOR(ipmi_dcmi, "false", "Power of the node as its BMC says by IPMI (DCMI).")
COLLECTOR(k8s, "false", "Pods of which ceems-k8s tells, one by one and summed.")
COLLECTOR(libvirt, "false", "Virtual machines of which ceems-libvirt tells, one by one and "
	"summed.")
COLLECTOR(meminfo, "true", "Memory of the node.")
COLLECTOR(model, "true", "Power of a machine without a power sensor, estimated from "
	"how busy its CPUs are; see energy.model.")
COLLECTOR(netdev, "false", "Network interfaces of the node.")
COLLECTOR(perf, "false", "Software events of units that ask for them with "
	"--ceems-perf. Implies --collector.ebpf.")
COLLECTOR(profiler, "true", "Health of ceems-profiler, and what it takes.")
COLLECTOR(rapl, "true", "Energy counters of processors and memory (RAPL).")
COLLECTOR(rdma, "false", "What units hold of RDMA devices, and the ports of these.")
COLLECTOR(redfish, "false", "Power of the node from its BMC, by Redfish.")
COLLECTOR(ring, "true", "Health of the ring and of the unit table.")
COLLECTOR(slurm, "false", "Slurm jobs, one by one and summed.")
/* clang-format on */
#undef COLLECTOR
