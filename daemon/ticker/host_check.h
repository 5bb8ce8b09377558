/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_HOST_CHECK_H
#define CEEMS_DAEMON_TICKER_HOST_CHECK_H

#include <stdint.h>

#include "daemon/energy.h"

/*
 * Whether the host's sensor seems to include the GPUs: what it shows beside processors
 * and memory rises with their power, watt by watt, or it does not. The site declares it
 * (--energy.host-includes-gpu); this only finds out when that cannot be right.
 */

enum host_check_result { HOST_CHECK_UNSURE, HOST_INCLUDES_GPUS, HOST_WITHOUT_GPUS };

struct host_check {                         /* {0} is valid */
	uint64_t last_ns, parts_uj, gpu_uj; /* at the end of the last interval */
	uint64_t n;
	double x, y, xx, xy; /* sums over intervals: watts of GPUs, of the rest */
	enum host_check_result said;
};

/* A host interval of so much energy has been closed. */
void host_check_add(struct host_check *c, const struct energy_node *node,
		    uint64_t host_uj);
/* Unsure until the GPUs' power has changed enough. *ret_slope: watts of the host for
 * each of theirs */
enum host_check_result host_check_result(const struct host_check *c, double *ret_slope);

#endif
