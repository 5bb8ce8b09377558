/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table behind ceemsd's command line, YAML, environment, help and documentation.
 * The peer's spellings, including deprecated and only documented ones, are accepted so
 * that a site can keep its unit file. */
#include "daemon/options.h"

#include <stddef.h>

#include "daemon/perf_kinds.h"
#include "lib/debuginfod_options.h"
#include "lib/emission_options.h"
#include "lib/service_options.h"

/* flags and other members of a row follow the help by name */
#define ROW CONF_ROW
#define DAY_MS 86400000ull

static const char *const rapl_readers[] = {"auto", "powercap", "perf", NULL};
static const char *const energy_idles[] = {"allocation", "usage", "none", NULL};
static const char *const energy_activities[] = {"none", "events", NULL};
static const char *const energy_host_sources[] = {
	"auto",  "none", "cray_pm_counters", "redfish", "ipmi_dcmi", "hwmon",
	"model", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const gpu_accountings[] = {"leave", "enable", NULL};
static const char *const profiling_policies[] = {"deny", "allow", "always", NULL};
static const char *const gpu_sharings[] = {"share", "usage", NULL};
static const char *const energy_models[] = {"auto", "off", "host", "vm", NULL};
static const char *const cgroup_versions[] = {"auto", "v1", "v2", NULL};

const struct conf_opt options_table[] = {
	/* general */
	ROW("config.file", CONF_STRING, config_file, "",
	    "YAML file with these options; the command line wins over it.",
	    .env = "CEEMS_EXPORTER_CONFIG_FILE"),
	ROW("check-config", CONF_BOOL, check_config, "false",
	    "Read command line and config.file, say what is wrong with them, and "
	    "exit."),
	LOG_OPTION_ROWS(CONF_RELOAD),
	USER_OPTION_ROWS,
	SANDBOX_OPTION_ROWS,
	ROW("security.disable-cap-awareness", CONF_BOOL, disable_cap_awareness, "false",
	    "Accepted, no effect: no capability is ever kept.", .flags = CONF_HIDDEN),
	ROW("runtime.gomaxprocs", CONF_STRING, gomaxprocs, "",
	    "Accepted, no effect: there is no Go runtime here."),
	ROW("path.procfs", CONF_STRING, path_procfs, "/proc",
	    "Where procfs is mounted.", .flags = CONF_HIDDEN),
	ROW("path.sysfs", CONF_STRING, path_sysfs, "/sys", "Where sysfs is mounted.",
	    .flags = CONF_HIDDEN),
	ROW("path.cgroupfs", CONF_STRING, path_cgroupfs, "/sys/fs/cgroup",
	    "Where control groups are mounted.", .flags = CONF_HIDDEN),
	ROW("path.devfs", CONF_STRING, path_devfs, "/dev", "Where device files are.",
	    .flags = CONF_HIDDEN),
	ROW("path.rundir", CONF_STRING, path_rundir, "/run/ceems",
	    "Directory of the ring and the unit table. The ring= argument of "
	    "plugstack.conf must name the same ring."),

	ROW("courier.path", CONF_STRING, courier_path, "",
	    "The program ceems-courier, which asks the servers that some collectors "
	    "need. Empty: the one in ceemsd's folder."),
	ROW("opener.path", CONF_STRING, opener_path, "",
	    "The program ceems-opener, which opens what takes privilege while ceemsd "
	    "is "
	    "root. Empty: the one in ceemsd's folder."),

	/* profiles */
	ROW("profiler.path", CONF_STRING, profiler_path, "",
	    "The program ceems-profiler, which samples units that asked. Empty: the "
	    "one in ceemsd's folder."),
	ROW("profiling.policy", CONF_ENUM, profiling_policy, "deny",
	    "Whose programs are sampled: deny (nobody's), allow (of steps that ask, "
	    "with --ceems-profile or profiling.env-var) or always (all steps').",
	    .choices = profiling_policies),
	ROW("profiling.hz", CONF_U64, profiling_hz, "19",
	    "How often each CPU is looked at, per second, for steps that named no "
	    "rate. An odd number keeps out of step with what programs do regularly.",
	    .min = 1, .max = 1000),
	ROW("profiling.max-hz", CONF_U64, profiling_max_hz, "199",
	    "The highest rate; steps that ask for more have this one.", .min = 1,
	    .max = 1000),
	ROW("profiling.off-cpu", CONF_ENUM, profiling_off_cpu, "deny",
	    "Of steps that are sampled, whose blocked time is, too: deny (nobody's), "
	    "allow (of steps that ask, with --ceems-profile=off-cpu) or always. The "
	    "kernel program is then called when a CPU changes to another thread.",
	    .choices = profiling_policies),
	ROW("profiling.env-var", CONF_LIST, profiling_env_vars, "",
	    "Steps with one of these environment variables, with any value, ask for a "
	    "profile. plugstack.conf must carry it (env=). May be repeated."),
	ROW("profiling.ebpf", CONF_BOOL, profiling_ebpf, "false",
	    "As profiling.policy, which it sets where that is deny: to always, or to "
	    "allow where profiling.env-var names a variable."),
	ROW("profiling.ebpf.config.file", CONF_STRING, profiling_file, "",
	    "CEEMS' YAML file with a mapping ceems_profiler; keys without a "
	    "counterpart here have no effect (doc/compat.md).",
	    .env = "CEEMS_EXPORTER_PROFILING_CONFIG_FILE"),
	ROW("profiling.ebpf.config.file.expand-env-vars", CONF_BOOL, profiling_expand,
	    "false", "Replace $NAME and ${NAME} in that file by the environment's."),
	ROW("profiling.ebpf.config-file", CONF_STRING, profiling_file, "",
	    "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "profiling.ebpf.config.file"),
	ROW("profiling.ebpf.env-var", CONF_LIST, profiling_env_vars, "",
	    "CEEMS' name of profiling.env-var.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "profiling.env-var"),
	ROW("profiling.ebpf.self-profiler", CONF_BOOL, profiling_self, "false",
	    "Accepted, no effect: perf can look at ceemsd.", .flags = CONF_HIDDEN),
	ROW("discoverer.alloy-targets", CONF_BOOL, targets, "false",
	    "List the processes of running units on web.targets-path, for Grafana "
	    "Alloy."),
	ROW("discoverer.alloy-targets.env-var", CONF_LIST, profiling_env_vars, "",
	    "CEEMS' name of profiling.env-var: only processes of steps that asked by "
	    "such a variable are listed.",
	    .flags = CONF_HIDDEN | CONF_DEPRECATED, .alias_of = "profiling.env-var"),
	ROW("discoverer.alloy-targets.self-profiler", CONF_BOOL, targets_self, "false",
	    "ceemsd itself is among them."),
	ROW("discoverer.alloy-targets.resource-manager", CONF_STRING, targets_manager,
	    "", "Only units of slurm, libvirt or k8s are listed. Empty: all."),
	ROW("profiling.memory", CONF_BYTES, profiling_memory, "64MiB",
	    "How much ceems-profiler's tables, the kernel's among them, and stacks may "
	    "take, at least 8 MiB. Where there is no room profiles have less detail."),
	ROW("profiling.interval", CONF_DURATION, profiling_interval_ms, "60s",
	    "How long a profile covers; a step's last one ends with it.", .min = 1000,
	    .max = 3600000),
	ROW("gpu.path", CONF_STRING, gpu_path, "",
	    "The program ceems-gpu, which runs the GPU vendor's library for "
	    "--collector.gpu. Empty: the one in ceemsd's folder."),
	ROW("gpu.nvml", CONF_STRING, gpu_nvml, "libnvidia-ml.so.1",
	    "NVIDIA's management library, as a name or a file."),
	ROW("gpu.period", CONF_DURATION, gpu_period_ms, "100ms",
	    "How often to read a device's energy counter; all else is read once a "
	    "second.",
	    .min = 20, .max = 10000),

	/* ring and units */
	ROW("gpu.dcgmi", CONF_STRING, gpu_dcgmi, "",
	    "NVIDIA's dcgmi, an absolute path: while a job that asked for it "
	    "(--ceems-perf=nogpu) holds GPUs of this node, `dcgmi profile --pause` "
	    "keeps DCGM from their performance counters. Empty: nothing is paused."),
	ROW("gpu.accounting", CONF_ENUM, gpu_accounting, "leave",
	    "NVIDIA's accounting mode: leave (as the site has it) or enable (when "
	    "ceems-gpu starts; only root may, so it mostly says that it cannot).",
	    .choices = gpu_accountings),
	ROW("ring.poll", CONF_DURATION, ring_poll_ms, "50ms",
	    "How often to look for new records; down to a quarter as often while none "
	    "come.",
	    .flags = CONF_RELOAD, .min = 1, .max = 5000),
	ROW("ring.slots", CONF_U64, ring_slots, "4096",
	    "Records that the ring holds, 1 KiB each; a power of two.", .min = 16,
	    .max = 65536),
	ROW("unit.linger", CONF_DURATION, unit_linger_ms, "60s",
	    "How long an ended unit stays exported, at least; three times the longest "
	    "gap between scrapes when that is longer.",
	    .flags = CONF_RELOAD, .max = DAY_MS),
	ROW("unit.max-exported", CONF_U64, unit_max_exported, "2000",
	    "Most units exported one by one; the oldest ended ones beyond that are "
	    "counted in the ceems_short_units metrics.",
	    .flags = CONF_RELOAD, .min = 1, .max = 65536),
	ROW("unit.min-export", CONF_DURATION, unit_min_export_ms, "0",
	    "Units that lived shorter than this are only counted in the "
	    "ceems_short_units metrics once they end.",
	    .flags = CONF_RELOAD, .max = DAY_MS),
	ROW("unit.capacity", CONF_U64, unit_capacity, "4096",
	    "Most units in the unit table, which takes about 10 KiB of disk space in "
	    "rundir per unit, memory only as used.",
	    .min = 16, .max = 65536),

	/* reports */
	ROW("cluster", CONF_STRING, cluster, "",
	    "Name of the cluster in what is reported to the aggregator. Empty: "
	    "ClusterName of slurm.conf, without one default."),
	ROW("reports.enabled", CONF_BOOL, reports_enabled, "false",
	    "Write what units use into the spool for the aggregator "
	    "(doc/reports.md). On where aggregator.url is given."),
	ROW("reports.spool", CONF_STRING, reports_spool, "/var/spool/ceems/ceemsd",
	    "Folder in which reports wait to be sent, of ceemsd's own user, mode 0700; "
	    "%n is replaced by the host's name."),
	ROW("reports.interval", CONF_DURATION, reports_interval_ms, "5m",
	    "Length of the windows that are reported while a unit runs; they begin and "
	    "end at whole multiples of it.",
	    .min = 1000, .max = DAY_MS),
	ROW("reports.max-bytes", CONF_BYTES, reports_max_bytes, "256MiB",
	    "Most that the spool may take; then the oldest windows are given up."),
	SHIP_OPTION_ROWS,
	PROFILE_SHIP_OPTION_ROWS,
	DEBUGINFOD_OPTION_ROWS,

	/* web */
	WEB_OPTION_ROWS(":9010", "CEEMS_EXPORTER_WEB_LISTEN_ADDRESS",
			"CEEMS_EXPORTER_WEB_CONFIG_FILE"),
	ROW("web.telemetry-path", CONF_STRING, telemetry_path, "/metrics",
	    "Path of the metrics."),
	ROW("web.targets-path", CONF_STRING, targets_path, "/alloy-targets",
	    "Accepted, no effect yet: nothing is served there."),
	ROW("web.max-requests", CONF_U64, max_requests, "40",
	    "Most requests served at a time, 0 for no limit.", .max = 65536),
	ROW("web.disable-exporter-metrics", CONF_BOOL, disable_self_metrics, "false",
	    "Leave out the metrics about ceemsd's own process."),
	ROW("web.debug-server", CONF_BOOL, debug_server, "false",
	    "Accepted, no effect: there is no pprof here."),

	/* collectors */
	ROW("collector.disable-defaults", CONF_BOOL, disable_defaults, "false",
	    "Turn off every collector that is not named by its own option."),
#define COLLECTOR(name, on, help)                                                      \
	ROW("collector." #name, CONF_BOOL, collector_##name, on, help),
#include "daemon/collectors.h"
	ROW("collector.empty-hostname-label", CONF_BOOL, empty_hostname_label, "false",
	    "Leave the hostname label empty, for tests that compare output.",
	    .flags = CONF_HIDDEN),

	ROW("collector.cgroups.active-subsystem", CONF_STRING, cgroup_subsystem,
	    "cpuacct",
	    "On cgroup v1: accepted for compatibility. Each value is read from the "
	    "hierarchy "
	    "that has it, and Slurm's directories are looked for in all of them."),
	ROW("collector.cgroup.active-subsystem", CONF_STRING, cgroup_subsystem,
	    "cpuacct", "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.cgroups.active-subsystem"),
	ROW("collector.cgroups.force-version", CONF_ENUM, cgroup_version, "auto",
	    "Take the control groups as v1 or v2 whatever they look like.",
	    .flags = CONF_HIDDEN, .choices = cgroup_versions),

	ROW("collector.slurm.steps", CONF_BOOL, slurm_steps, "false",
	    "Also export each step of a job."),
	ROW("collector.slurm.swap-memory-metrics", CONF_BOOL, slurm_swap, "false",
	    "Also export swap of jobs."),
	ROW("collector.slurm.swap.memory.metrics", CONF_BOOL, slurm_swap, "false",
	    "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.slurm.swap-memory-metrics"),
	ROW("collector.slurm.psi-metrics", CONF_BOOL, slurm_psi, "false",
	    "Also export pressure stall times of jobs."),
	ROW("collector.slurm.psi.metrics", CONF_BOOL, slurm_psi, "false",
	    "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.slurm.psi-metrics"),
	ROW("collector.slurm.nodes", CONF_LIST, slurm_nodes, "",
	    "Slurm node names whose jobs are looked for among the control groups; "
	    "none given: all. For hosts that several test clusters share.",
	    .flags = CONF_HIDDEN),
	ROW("collector.slurm.gpu-order-map", CONF_STRING, gpu_order_map, "",
	    "Slurm's GPU index to the GPU's own, when they differ: "
	    "0:1,1:0.3,2:0.4 means that Slurm's 1 is MIG instance 3 of GPU 0, and "
	    "1:0.3.1 that it is compute instance 1 of that."),
	ROW("collector.slurm.gres-config-file", CONF_STRING, gres_config_file,
	    "/etc/slurm/gres.conf",
	    "Accepted, not read: slurmd itself is asked for its devices (slurmd -G), "
	    "which "
	    "also works with AutoDetect and without a file."),
	ROW("collector.slurm.slurmd-path", CONF_STRING, slurmd_path, "slurmd",
	    "The slurmd that is asked for the node's GPUs, with slurmd -G."),

	ROW("collector.k8s.steps", CONF_BOOL, k8s_steps, "false",
	    "Also export each container of a pod."),
	ROW("collector.k8s.psi-metrics", CONF_BOOL, k8s_psi, "false",
	    "Also export pressure stall times of pods."),
	ROW("collector.k8s.kubeconfig.file", CONF_STRING, k8s_kubeconfig, "",
	    "Accepted, not read: ceems-k8s asks the API server, with an option of this "
	    "name."),
	ROW("collector.k8s.kubelet-podresources-socket.file", CONF_STRING, k8s_socket,
	    "/var/lib/kubelet/pod-resources/kubelet.sock",
	    "Accepted, not read: ceems-k8s asks kubelet."),
	ROW("collector.k8s.kube-config-file", CONF_STRING, k8s_kubeconfig, "",
	    "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.k8s.kubeconfig.file"),
	ROW("collector.k8s.kubeconfig-file", CONF_STRING, k8s_kubeconfig, "",
	    "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.k8s.kubeconfig.file"),
	ROW("collector.k8s.kubelet-socket-file", CONF_STRING, k8s_socket,
	    "/var/lib/kubelet/pod-resources/kubelet.sock", "Other spelling.",
	    .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.k8s.kubelet-podresources-socket.file"),

	ROW("collector.libvirt.swap-memory-metrics", CONF_BOOL, libvirt_swap, "false",
	    "Also export swap of virtual machines."),
	ROW("collector.libvirt.psi-metrics", CONF_BOOL, libvirt_psi, "false",
	    "Also export pressure stall times of virtual machines."),
	ROW("collector.libvirt.blkio-metrics", CONF_BOOL, libvirt_blkio, "false",
	    "Also export what virtual machines read from block devices and write to "
	    "them, by device."),
	ROW("collector.libvirt.guest-metrics", CONF_BOOL, libvirt_guest, "true",
	    "Also export what libvirt knows of the guests: their own view of memory, "
	    "and where --collector.ebpf does not count them, disks and interfaces."),
	ROW("collector.libvirt.xml-dir", CONF_STRING, libvirt_xml_dir,
	    "/etc/libvirt/qemu",
	    "Accepted, not read: ceems-libvirt asks libvirt itself, which also knows "
	    "transient domains."),

	ROW("collector.gpu.dcgm-names", CONF_BOOL, gpu_dcgm_names, "false",
	    "Export what --collector.gpu reads under the names of NVIDIA's "
	    "dcgm-exporter "
	    "and AMD's device-metrics-exporter, too."),
	ROW("collector.gpu.type", CONF_STRING, gpu_type, "",
	    "Accepted for tests: nvidia, amd or nogpu.", .flags = CONF_HIDDEN),
	ROW("collector.gpu.nvidia-smi-path", CONF_STRING, nvidia_smi_path, "",
	    "Accepted for tests.", .flags = CONF_HIDDEN),
	ROW("collector.gpu.rocm-smi-path", CONF_STRING, rocm_smi_path, "",
	    "Accepted for tests.", .flags = CONF_HIDDEN),
	ROW("collector.gpu.amd-smi-path", CONF_STRING, amd_smi_path, "",
	    "Accepted for tests.", .flags = CONF_HIDDEN),

	ROW("collector.ebpf.io-metrics", CONF_BOOL, ebpf_io, "false",
	    "Also what each unit reads and writes, by mount. Implies "
	    "--collector.ebpf."),
	ROW("collector.ebpf.io-latency", CONF_BOOL, ebpf_io_latency, "false",
	    "Also how long its reads and writes take, as histograms, and why they "
	    "fail. Implies --collector.ebpf.io-metrics."),
	ROW("collector.ebpf.network-metrics", CONF_BOOL, ebpf_network, "false",
	    "Also what each unit sends and receives by TCP and UDP. Implies "
	    "--collector.ebpf."),
	ROW("collector.ebpf.network-calls", CONF_BOOL, ebpf_network_calls, "false",
	    "Count that by system calls, as on kernels before 6.3, also where the "
	    "kernel has the tracepoints of sockets."),
	ROW("collector.ebpf.network-loopback", CONF_BOOL, ebpf_network_loopback, "true",
	    "Of what is sent and received, also what does not leave the host, by the "
	    "loopback device."),
	ROW("collector.ebpf.fs-mount-point", CONF_LIST, ebpf_mount_points, "",
	    "Only mounts at or below these paths, such as /lustre/scratch. May be "
	    "repeated. Empty: all."),
	ROW("collector.perf.software-events", CONF_BOOL, perf_software, "false",
	    "Software events of all units, or with collector.perf.env-var of units "
	    "that ask. Implies --collector.perf."),
	ROW("collector.perf.software-profilers", CONF_LIST, perf_software_profilers, "",
	    "Only these software events: " PERF_KIND_NAMES ". May be repeated. "
	    "Empty: all."),
	ROW("collector.perf.hardware-events", CONF_BOOL, perf_hardware, "false",
	    "Cycles, instructions, branches and cache accesses of all units, or with "
	    "collector.perf.env-var of units that ask. Implies --collector.perf."),
	ROW("collector.perf.hardware-profilers", CONF_LIST, perf_hardware_profilers, "",
	    "Only these hardware events: " HARDWARE_KIND_NAMES ". May be repeated. "
	    "Empty: all that the CPU has."),
	ROW("collector.perf.hardware-cache-events", CONF_BOOL, perf_cache, "false",
	    "Events of each cache of all units, or with collector.perf.env-var of "
	    "units that ask. Implies --collector.perf."),
	ROW("collector.perf.cache-profilers", CONF_LIST, perf_cache_profilers, "",
	    "Only these cache events: " CACHE_KIND_NAMES ". May be repeated. Empty: "
	    "all that the CPU has."),
	ROW("collector.perf.raw-events-file", CONF_STRING, perf_raw_file, "",
	    "YAML file of figures that are sums of these CPUs' own events "
	    "(doc/perf_events.md), of units that have hardware events. Implies "
	    "--collector.perf. Empty: none."),
	ROW("collector.perf.env-var", CONF_LIST, perf_env_vars, "",
	    "Units with one of these environment variables, with any value, ask for "
	    "performance counters. plugstack.conf must carry it (env=). May be "
	    "repeated."),
	ROW("collector.ebpf.slots", CONF_U64, ebpf_slots, "4096",
	    "Control groups of steps that are followed in the kernel at the same time, "
	    "0.4 "
	    "KiB each; a power of two. cgroup v1 takes two for each step.",
	    .min = 64, .max = 65536),
	ROW("collector.meminfo.all-stats", CONF_BOOL, meminfo_all, "false",
	    "Export every line of /proc/meminfo, not only total, free and available."),
	ROW("collector.meminfo.all.stats", CONF_BOOL, meminfo_all, "false",
	    "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.meminfo.all-stats"),
	ROW("collector.netdev.device-include", CONF_STRING, netdev_include, "",
	    "Export only interfaces that match this regular expression."),
	ROW("collector.netdev.device-exclude", CONF_STRING, netdev_exclude, "",
	    "Export all interfaces but those that match this regular expression."),
	ROW("collector.hwmon.host-sensor", CONF_LIST, hwmon_host_sensors, "",
	    "The sensor that measures the whole node, as CHIP/SENSOR: its labels chip "
	    "(or chip_name) and sensor. May be given several times for power supplies "
	    "that add up. None given: ACPI power meters."),
	ROW("collector.rapl.reader", CONF_ENUM, rapl_reader, "auto",
	    "Read RAPL by powercap, by perf events, or auto: by perf where powercap is "
	    "missing or may not be read.",
	    .choices = rapl_readers),
	ROW("collector.rapl.enable-zone-label", CONF_BOOL, rapl_zone_label, "false",
	    "One metric for all RAPL zones, with the label rapl_zone, instead of one "
	    "per "
	    "zone."),
	ROW("collector.rdma.stats", CONF_BOOL, rdma_stats, "false",
	    "The same as collector.rdma, as the peer spells it."),
	ROW("collector.rdma.cmd", CONF_STRING, rdma_cmd, "",
	    "Accepted, no effect: the kernel is asked without a command.",
	    .flags = CONF_HIDDEN),
	ROW("collector.redfish.config.file", CONF_STRING, redfish_config_file, "",
	    "YAML file with the BMC's address and the credentials for it "
	    "(doc/redfish.md).",
	    .env = "CEEMS_EXPORTER_REDFISH_COLL_CONFIG_FILE"),
	ROW("collector.redfish.web-config", CONF_STRING, redfish_config_file, "",
	    "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.redfish.config.file",
	    .env = "CEEMS_EXPORTER_REDFISH_COLL_WEB_CONFIG_FILE"),
	ROW("collector.redfish.web-config-file", CONF_STRING, redfish_config_file, "",
	    "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.redfish.config.file"),
	ROW("collector.redfish.config.file.expand-env-vars", CONF_BOOL,
	    redfish_expand_env, "false",
	    "Replace ${NAME} in that file by the variable of the environment."),
	ROW("collector.redfish.interval", CONF_DURATION, redfish_interval_ms, "5s",
	    "How often the BMC is asked by Redfish; up to a minute apart while it does "
	    "not answer.",
	    .min = 100, .max = 60000),
	ROW("collector.redfish.bmc-address", CONF_STRING, redfish_bmc_address, "",
	    "Address of the BMC where the file names no hostname. Empty: the one that "
	    "IPMI reports.",
	    .flags = CONF_HIDDEN),
	ROW("collector.emissions.provider", CONF_LIST, emissions_providers, "",
	    "Where emission factors come from: owid, global, rte, emaps, wt or file. "
	    "Several may be given; none given: all for which nothing is missing."),
	ROW("emissions.zone", CONF_LIST, emissions_zones, "",
	    "Zone where this node is, as a provider spells it (FR, US-CAL-CISO). "
	    "Several for providers that spell it differently. Factors of other zones "
	    "are neither fetched nor exported; none given: all are."),
	ROW("emissions.prefer", CONF_LIST, emissions_prefer, "",
	    "Providers whose factor counts for this node's grams, the best first. None "
	    "given: file, emaps, rte, wt, owid, global."),
	ROW("emissions.max-age", CONF_DURATION, emissions_max_age_ms, "6h",
	    "A fetched factor that is older is no longer exported nor counted with.",
	    .flags = CONF_RELOAD, .min = 60000, .max = 365 * DAY_MS),
	ROW("emissions.owid-file", CONF_STRING, emissions_owid_file, "",
	    "Table to use instead of the built-in one, in the form of "
	    "contrib/emissions/owid.csv."),
	EMISSION_OPTION_ROWS,
	ROW("collector.ipmi_dcmi.cmd", CONF_STRING, ipmi_dcmi_cmd, "",
	    "Command that prints the power readings, in place of the device: "
	    "ipmi-dcmi, ipmitool, ipmiutil or capmc by its absolute path, with or "
	    "without arguments. Run without a shell, as ceemsd's own user. Empty: "
	    "the device, and one of these where there is no device."),
	ROW("collector.ipmi.dcmi.cmd", CONF_STRING, ipmi_dcmi_cmd, "",
	    "Other spelling.", .flags = CONF_HIDDEN | CONF_DEPRECATED,
	    .alias_of = "collector.ipmi_dcmi.cmd"),
	ROW("collector.ipmi_dcmi.dev-num", CONF_U64, ipmi_dcmi_dev_num, "0",
	    "Number of the IPMI device, 0 for /dev/ipmi0.", .max = 255),
	ROW("collector.ipmi_dcmi.force-native-mode", CONF_BOOL, ipmi_dcmi_native,
	    "false", "Ask the device only, never run a command."),
	ROW("collector.ipmi_dcmi.interval", CONF_DURATION, ipmi_dcmi_interval_ms, "5s",
	    "How often the BMC is asked; up to twelve times as seldom while it does "
	    "not answer.",
	    .min = 100, .max = 60000),
	ROW("energy.interval", CONF_DURATION, energy_interval_ms, "1s",
	    "How often energy sources are sampled, each by itself and never within a "
	    "scrape; more often where a counter would wrap unseen.",
	    .min = 100, .max = 60000),
	ROW("energy.idle", CONF_ENUM, energy_idle, "allocation",
	    "Who pays for the power of an idle machine: allocation (units, by what "
	    "they hold; the rest nobody), usage (units, by CPU time) or none.",
	    .choices = energy_idles),
	ROW("energy.activity", CONF_ENUM, energy_activity, "none",
	    "What a second of CPU time weighs when CPUs' energy is divided: none (all "
	    "seconds the same) or events (by its cycles and instructions, where "
	    "--collector.perf counts them).",
	    .choices = energy_activities),
	ROW("energy.idle-watts", CONF_STRING, energy_idle_watts, "",
	    "Power of the idle machine as domain:watts,... (package, dram, psys, gpu: "
	    "of each device, other: what the node takes beyond its parts), such as "
	    "package:20,dram:3. Domains that are not named learn it from quiet times."),
	ROW("energy.host-source", CONF_ENUM, energy_host_source, "auto",
	    "Which source measures the whole node: auto (the first that answers of "
	    "cray_pm_counters, redfish, ipmi_dcmi, hwmon and model), "
	    "one of these, or none.",
	    .choices = energy_host_sources),
	ROW("energy.host-includes-gpu", CONF_ENUM, energy_host_includes_gpu, "no",
	    "Does the sensor of the whole node include what its GPUs take: yes or no.",
	    .choices = no_yes),
	ROW("energy.gpu-sharing", CONF_ENUM, energy_gpu_sharing, "share",
	    "Who pays for a GPU that units share (shards, MPS), beyond its idle power: "
	    "share (by their shares) or usage (by how much their processes used it, as "
	    "the driver samples it; by shares while it tells nothing).",
	    .choices = gpu_sharings),
	ROW("energy.model", CONF_ENUM, energy_model, "auto",
	    "Estimate the node's power: auto (where no sensor measures the node or its "
	    "CPUs, as a guest where the CPU says so), off, host (a whole machine) or "
	    "vm (a guest's share), both of these wherever no sensor measures the whole "
	    "node.",
	    .choices = energy_models),
	ROW("energy.model.idle-watts", CONF_STRING, model_idle_watts, "",
	    "Power of the idle machine; with energy.model.max-watts. Empty: by the "
	    "built-in table of CPUs."),
	ROW("energy.model.max-watts", CONF_STRING, model_max_watts, "",
	    "Power of the machine with all CPUs busy."),
	ROW("energy.model.curve", CONF_STRING, model_curve, "",
	    "Power by how busy the CPUs are, instead of a straight line from "
	    "idle-watts "
	    "to max-watts: percent:watts,... from 0 to 100 percent, such as "
	    "0:95,50:240,100:310."),
	ROW("energy.model.host-cpus", CONF_U64, model_host_cpus, "0",
	    "In a guest: the watts given are those of its host, which has so many CPUs "
	    "(threads), and the guest gets the share of its own. 0: they are the "
	    "guest's own.",
	    .max = 65536),
};
const size_t options_count = sizeof(options_table) / sizeof(options_table[0]);
