/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_PROMETHEUS_H
#define CEEMS_CLI_TOOL_PROMETHEUS_H

#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Prometheus configuration for operators, from templates of contrib/prometheus that are
 * linked in. */

struct prometheus_rules {
	double pue;                  /* at least 1 */
	uint64_t scrape_interval_ms; /* rates are over four of them */
	const char *gpu;             /* none, dcgm, amd-smi, amd-device-metrics */
	const char *zone;            /* "": the factor that each node uses */
	const char *providers;       /* of the zone's factors, comma separated */
};
int prometheus_rules(const struct prometheus_rules *r, struct buf *out,
		     struct err *err);

/* Alerting rules for the jobs of the scrape configuration. Static. */
const char *prometheus_alerts(void);

/* For dcgm, amd-smi or amd-device-metrics. */
int prometheus_relabel(const char *exporter, struct buf *out, struct err *err);

/* The scrape job of ceemsd: targets as host:port; cluster may be NULL. */
int prometheus_scrape(const char *const *targets, size_t count, const char *cluster,
		      struct buf *out, struct err *err);

#endif
