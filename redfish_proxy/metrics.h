/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_METRICS_H
#define CEEMS_REDFISH_PROXY_METRICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/prom.h"
#include "redfish_proxy/access.h"

/* Counters of the proxy. No label contains anything that a client can choose. */

enum metrics_result {
	RESULT_OK,      /* passed on */
	RESULT_TIMEOUT, /* or no connection */
	RESULT_LOGIN,   /* refused user and password */
	RESULT_TLS,     /* certificate or name */
	RESULT_BAD,     /* too long, cut, not JSON, a redirect or odd status */
	RESULT_RESULTS
};

struct metrics {
	atomic_ullong requests[6]; /* by hundreds of the status, [0]: client left */
	atomic_ullong verdicts[ACCESS_VERDICTS];
	atomic_ullong hits, misses, joined;
	atomic_ullong limited[3]; /* queue, rate, cache */
	atomic_ullong bmc[RESULT_RESULTS];
	atomic_ullong bmc_ns, logins, login_failures;
	atomic_ullong reloads, reload_failures;
	atomic_uint in_flight;
	bool calls_filtered, files_fenced; /* written before threads start */
};

enum metrics_limit { LIMIT_QUEUE, LIMIT_RATE, LIMIT_TABLES };

/* Gauges provided by others. */
struct metrics_gauges {
	size_t cache_entries, cache_bytes, targets, targets_down, queued;
};

void metrics_put(struct metrics *m, const struct metrics_gauges *g, struct prom *out);

#endif
