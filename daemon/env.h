/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_ENV_H
#define CEEMS_DAEMON_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/cgroup.h"

struct child_link;
struct drm_reader;
struct emissions;
struct guest_figures;
struct hardware_raw;
struct ingest;
struct report_stats;
struct ipmi_ops;
struct options;
struct sampler;
struct step_groups;
struct driver_gpus;
struct gpu_maps;
struct ticker;
struct unit_io;
struct unit_counts;
struct unit_finals;
struct units;

/* The world as collectors see it: they open everything relative to these directories
 * and take all clocks from here, so a test runs the real code on a fixture. */
struct env {
	int procfd, sysfd, cgroupfd; /* --path.procfs, --path.sysfs, --path.cgroupfs */
	int devfd;                   /* --path.devfs */
	const char *hostname;        /* NODE_NAME or gethostname(); "" with
				      * --collector.empty-hostname-label */
	const struct options *options;
	struct cgroup_layout cgroups; /* probed at start; all "" when there are none */
	struct units *units;          /* NULL when there is no unit table */
	const struct ingest *ingest;  /* NULL when there is no ring */
	struct child_link *courier;   /* NULL when ceems-courier is not there */
	struct child_link *gpu;       /* NULL when ceems-gpu is not started */
	struct drm_reader *drm;       /* NULL when no DRM driver is asked */
	struct gpu_pause *gpu_pause;  /* NULL when DCGM is left alone */
	struct child_link *profiler;  /* NULL when nobody may be sampled */
	struct profile_steps *profile_steps; /* likewise */
	struct sampler *sampler;             /* NULL when no energy source is sampled */
	struct emissions *emissions;         /* NULL in tests that need none */
	struct ticker *ticker;               /* NULL when no energy is divided */
	struct guest_figures *guests; /* NULL when no virtual machines are exported */
	struct gpu_maps *gpu_maps;    /* NULL in tests that need none */
	struct driver_gpus *driver_gpus;     /* likewise */
	struct step_groups *step_groups;     /* NULL without kernel programs */
	struct unit_io *unit_io;             /* NULL when no IO is counted */
	struct unit_counts *unit_net;        /* NULL when no network is counted */
	uint32_t net_counted;                /* NET_COUNTED_*, with unit_net */
	uint32_t opener_restarts;            /* since this ceemsd started */
	struct unit_counts *unit_perf;       /* NULL when no events are counted */
	struct unit_hardware *unit_hardware; /* NULL when no PMU is counted */
	const uint32_t *activity_ppm; /* unit_activity_ppm(); NULL: not asked for */
	const struct perf_figures *perf_figures; /* NULL in tests that need none */
	struct unit_finals *unit_finals;    /* NULL when nothing of these is counted */
	const struct report_stats *reports; /* NULL when reports are off */
	/* A register of a CPU: 0 or negative errno. NULL: unknown. */
	int (*read_msr)(unsigned cpu, uint32_t msr, uint64_t *ret);
	const struct ipmi_ops *ipmi; /* NULL: the kernel's */
	/* Folders searched for tools that ask the BMC, NULL-terminated. NULL: the usual
	 * ones */
	const char *const *tool_folders;
	/* Opens an event on a whole CPU: descriptor or negative errno. NULL: not
	 * available. */
	int (*perf_open)(uint32_t type, uint64_t config, int cpu);
	/* The same, of an event with more than its number; a reading is struct
	 * perf_reading. */
	int (*perf_open_raw)(const struct hardware_raw *event, int cpu);
	/* Opens a socket to the kernel's RDMA: descriptor or negative errno. NULL: not
	 * available. */
	int (*rdma_open)(void);
	uint32_t reloads;      /* times that the configuration was read again */
	bool calls_filtered;   /* service_filter_calls() */
	bool processes_hidden; /* inhabited_is_hidden() */
	uint64_t (*realtime_ns)(void);
	uint64_t (*boottime_ns)(void);
};

#endif
