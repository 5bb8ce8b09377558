/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all collectors, sorted by name: adding one is one line in each half. */
#include "daemon/collector.h"

extern const struct collector collector_courier;
extern const struct collector collector_cpu;
extern const struct collector collector_cray_pm_counters;
extern const struct collector collector_emissions;
extern const struct collector collector_energy;
extern const struct collector collector_hwmon;
extern const struct collector collector_infiniband;
extern const struct collector collector_ipmi_dcmi;
extern const struct collector collector_meminfo;
extern const struct collector collector_model;
extern const struct collector collector_netdev;
extern const struct collector collector_rapl;
extern const struct collector collector_redfish;
extern const struct collector collector_ring;
extern const struct collector collector_slurm;

/* clang-format off */
const struct collector *const collectors[] = {
	&collector_courier,
	&collector_cpu,
	&collector_cray_pm_counters,
	&collector_emissions,
	&collector_energy,
	&collector_hwmon,
	&collector_infiniband,
	&collector_ipmi_dcmi,
	&collector_meminfo,
	&collector_model,
	&collector_netdev,
	&collector_rapl,
	&collector_redfish,
	&collector_ring,
	&collector_slurm,
};
/* clang-format on */

const size_t collectors_count = sizeof(collectors) / sizeof(collectors[0]);
