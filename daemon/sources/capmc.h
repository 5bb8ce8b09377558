/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_CAPMC_H
#define CEEMS_DAEMON_SOURCES_CAPMC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Cray power management through the command capmc. Source: CAPMC API documentation 1.2,
 * node energy reporting. */

/* A node's energy. */
struct capmc_energy {
	uint64_t joules;
	uint64_t realtime_us; /* by CAPMC's clock; 0: not reported */
};

#define CAPMC_ANY_NID UINT64_MAX /* the only node in the answer */

/* Parses the JSON of `capmc get_node_energy_counter`. -ENODATA: the node is not in it;
 * -EREMOTEIO: CAPMC reports an error; -EBADMSG: anything else. */
int capmc_energy(const char *text, size_t len, uint64_t nid, struct capmc_energy *ret,
		 struct err *err);

/* "2015-06-03 14:07:32.886126-05" in microseconds since 1970. */
int capmc_time(const char *text, size_t len, uint64_t *ret_us);

#endif
