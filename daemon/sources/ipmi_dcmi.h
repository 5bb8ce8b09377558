/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_IPMI_DCMI_H
#define CEEMS_DAEMON_SOURCES_IPMI_DCMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sources/ipmi.h"
#include "lib/err.h"

/* Power of the whole node, as a BMC says. Source: Data Center Manageability Interface
 * specification 1.5, 6.6.1 (Get Power Reading). */
struct ipmi_power {
	uint32_t current_w;
	/* over the BMC's own sampling period; 0: not said */
	uint32_t min_w, max_w, avg_w;
	uint32_t timestamp_s; /* the BMC's clock, which may be any; 0: not said */
	bool active;          /* the BMC measures at present */
};

void ipmi_dcmi_power_request(struct ipmi_request *ret);

/* Reads the reply, completion code first. An error when the BMC says one, the reply is
 * not exactly as long as it must be or not of DCMI, and as ipmi_power_check(). */
int ipmi_dcmi_power(const uint8_t *reply, size_t len, struct ipmi_power *ret,
		    struct err *err);

/* -ENODATA: no measuring goes on; -ERANGE: 0 W or 65535 W, which BMCs say that have
 * nothing to say. A minimum, maximum or average of such a value is set to 0. */
int ipmi_power_check(struct ipmi_power *p, struct err *err);

#endif
