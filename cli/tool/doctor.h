/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_DOCTOR_H
#define CEEMS_CLI_TOOL_DOCTOR_H

#include "lib/buf.h"
#include "lib/conf/conf.h"
#include "lib/finding.h"
#include "lib/ship_options.h"

/* The parts of `ceems_tool doctor`, in the order in which a job becomes a record; each
 * prints findings and never fails by itself. */

#define DOCTOR_CONFIG "/etc/ceems/ceemsd.yaml"

/* Where to look: other roots are for tests. */
struct doctor_paths {
	const char *procfs, *sysfs, *cgroupfs, *rundir;
};

/* What of ceemsd's configuration matters here. */
struct doctor_config {
	char *config_file, *reports_spool;
	bool reports;
	bool perf, ebpf, libvirt, k8s;
	uint64_t reports_interval_ms;
	SHIP_OPTION_MEMBERS;
};

/* The kernel's parts: control groups, BPF, counters, the clock's synchronisation. */
void doctor_kernel(const struct doctor_paths *paths, struct findings *f);

/* ceemsd: its processes, unit table and energy. */
void doctor_ceemsd(const struct doctor_paths *paths, const struct doctor_config *config,
		   struct findings *f);

/* What waits to be sent, and whether the aggregators can be reached. */
void doctor_ship(const struct doctor_config *config, struct findings *f);

#endif
