/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_OPTIONS_H
#define CEEMS_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/conf/conf.h"
#include "lib/debuginfod_options.h"
#include "lib/emission_options.h"
#include "lib/err.h"
#include "lib/service_options.h"
#include "lib/ship_options.h"

/* Index into the choices of --collector.cgroups.force-version */
enum options_cgroup_version { CGROUP_VERSION_AUTO, CGROUP_VERSION_1, CGROUP_VERSION_2 };

/* Index into the choices of --energy.model */
enum options_energy_model {
	ENERGY_MODEL_AUTO,
	ENERGY_MODEL_OFF,
	ENERGY_MODEL_HOST,
	ENERGY_MODEL_VM
};

/* Index into the choices of --collector.rapl.reader */
enum options_rapl_reader { RAPL_READER_AUTO, RAPL_READER_POWERCAP, RAPL_READER_PERF };

/* Index into the choices of --profiling.policy and --profiling.off-cpu */
enum options_profiling { PROFILING_DENY, PROFILING_ALLOW, PROFILING_ALWAYS };

/* All options of ceemsd, one member per row of options_table (aliases share their
 * target's). Durations in ms; strings are owned, and never NULL after
 * options_load(). */
struct options {
	/* general */
	char *config_file; /* "" = none */
	bool check_config;
	LOG_OPTION_MEMBERS;
	USER_OPTION_MEMBERS;
	SANDBOX_OPTION_MEMBERS;
	bool disable_cap_awareness; /* accepted, has no effect */
	char *gomaxprocs;           /* accepted, has no effect */

	/* file system roots */
	char *path_procfs, *path_sysfs, *path_cgroupfs, *path_devfs;
	char *path_rundir;         /* holds ring and units */
	char *redfish_config_file; /* "" = none */
	bool redfish_expand_env;
	uint64_t redfish_interval_ms;
	char *redfish_bmc_address;
	char *courier_path; /* "" = beside ceemsd */
	char *gpu_path;
	char *gpu_nvml;
	char *gpu_dcgmi;
	uint64_t gpu_period_ms;
	bool gpu_dcgm_names;
	char *opener_path; /* the same */
	char *profiler_path;
	int profiling_policy, profiling_off_cpu; /* enum options_profiling */
	uint64_t profiling_hz, profiling_max_hz;
	uint64_t profiling_memory, profiling_interval_ms;
	struct conf_list profiling_env_vars;

	/* ring and unit table */
	uint64_t ring_poll_ms;
	uint64_t ring_slots;        /* power of two */
	uint64_t unit_linger_ms;    /* an ended unit stays exported that long */
	uint64_t unit_max_exported; /* units */
	uint64_t unit_min_export_ms;
	uint64_t unit_capacity; /* units; steps are 4 times as many */
	uint64_t ebpf_slots;    /* power of two */
	bool ebpf_io, ebpf_io_latency, ebpf_network, ebpf_network_calls,
		ebpf_network_loopback;
	struct conf_list ebpf_mount_points; /* absolute paths */
	bool perf_software;
	struct conf_list perf_software_profilers; /* names of perf_kinds */
	bool perf_hardware, perf_cache;
	char *perf_raw_file; /* "": none */
	/* names of hardware_kinds */
	struct conf_list perf_hardware_profilers, perf_cache_profilers;
	struct conf_list perf_env_vars;
	bool rdma_stats; /* turns collector_rdma on */
	char *rdma_cmd;

	/* reports */
	char *cluster;
	bool reports_enabled;
	char *reports_spool; /* %n: host name */
	uint64_t reports_interval_ms, reports_max_bytes;
	SHIP_OPTION_MEMBERS; /* the courier's */
	PROFILE_SHIP_OPTION_MEMBERS;
	DEBUGINFOD_OPTION_MEMBERS;

	/* web */
	WEB_OPTION_MEMBERS;
	char *telemetry_path, *targets_path;
	bool targets, targets_self; /* discoverer.alloy-targets */
	char *targets_manager;      /* one of record_manager_name(), "": any */
	bool profiling_ebpf, profiling_expand, profiling_self;
	char *profiling_file;      /* the peer's ceems_profiler */
	uint64_t max_requests;     /* 0 = no limit */
	bool disable_self_metrics; /* --web.disable-exporter-metrics */
	bool debug_server;         /* accepted, has no effect */

	/* collectors; options_collector() finds them by name */
	bool disable_defaults;
#define COLLECTOR(name, on, help) bool collector_##name;
#include "daemon/collectors.h"
	bool empty_hostname_label;

	char *cgroup_subsystem; /* v1 hierarchy to read CPU time from */
	int cgroup_version;     /* enum options_cgroup_version */

	bool slurm_steps, slurm_swap, slurm_psi;
	bool k8s_steps, k8s_psi;
	char *k8s_kubeconfig, *k8s_socket; /* accepted, not read */
	bool libvirt_swap, libvirt_psi, libvirt_blkio, libvirt_guest;
	char *libvirt_xml_dir; /* accepted, not read */
	struct conf_list
		slurm_nodes; /* nodes whose control groups are ours; empty: all */
	char *gpu_order_map;
	char *gres_config_file; /* accepted, not read */
	char *slurmd_path;

	char *gpu_type; /* accepted for the peer's tests */
	char *nvidia_smi_path, *rocm_smi_path, *amd_smi_path;

	bool meminfo_all;
	bool rapl_zone_label;
	int rapl_reader;                     /* enum options_rapl_reader */
	struct conf_list hwmon_host_sensors; /* "CHIP/SENSOR" */
	int energy_idle;                     /* enum energy_idle */
	int energy_activity;                 /* 1: events */
	int energy_host_source;              /* index for energy_host_source() */
	int energy_host_includes_gpu;
	int gpu_accounting;          /* 1: switch it on */
	int energy_gpu_sharing;      /* 1: by usage */
	char *energy_idle_watts;     /* "domain:watts,...", "" = learned */
	uint64_t energy_interval_ms; /* between samplings of energy sources */
	int energy_model;            /* enum options_energy_model */
	char *model_idle_watts, *model_max_watts, *model_curve; /* "" = not given */
	uint64_t model_host_cpus;             /* of these watts; 0: the machine's own */
	struct conf_list emissions_providers; /* empty: all */
	struct conf_list emissions_zones;     /* as each provider spells them */
	struct conf_list emissions_prefer; /* for this node's grams; empty: default */
	uint64_t emissions_max_age_ms;
	char *emissions_owid_file; /* "" = the one built in */
	EMISSION_OPTION_MEMBERS;   /* the courier's */

	char *ipmi_dcmi_cmd; /* words of a command line, the first an absolute path */
	uint64_t ipmi_dcmi_dev_num;
	bool ipmi_dcmi_native; /* never by a command */
	uint64_t ipmi_dcmi_interval_ms;
	char *netdev_include, *netdev_exclude; /* POSIX extended regex, "" = none */
};

extern const struct conf_opt options_table[];
extern const size_t options_count;

/* conf_load() for this table, then checks across options: --collector.disable-defaults,
 * options that exclude each other, powers of two. Returns as conf_load(): 0; 1 with
 * help or version in out; negative errno with a text. */
int options_load(int argc, char *const argv[], struct options *ret, struct buf *out,
		 struct buf *warnings, struct err *err);
void options_release(struct options *o); /* frees the strings, accepts zeroes */

/* Takes from `from` each changed value that may change at run time (moving strings out
 * of it). applied and restart get the names, comma separated. */
void options_reload(struct options *o, struct options *from, struct buf *applied,
		    struct buf *restart);

/* Whether --collector.<name> is on; false for an unknown name. */
bool options_collector(const struct options *o, const char *name);

#endif
