/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_IPMI_DCMI_H
#define CEEMS_DAEMON_SOURCES_IPMI_DCMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sources/ipmi.h"
#include "lib/err.h"

/* Power of the whole node, from the BMC. Source: Data Center Manageability Interface
 * specification 1.5, 6.6.1 (Get Power Reading). */
struct ipmi_power {
	uint32_t current_w;
	/* over the BMC's own sampling period; 0: not reported */
	uint32_t min_w, max_w, avg_w;
	uint32_t timestamp_s; /* by the BMC's clock; 0: not reported */
	bool active;          /* the BMC measures at present */
};

void ipmi_dcmi_power_request(struct ipmi_request *ret);

/* Parses the reply, completion code first. Fails on an error of the BMC, a reply of
 * another length or not of DCMI, and as ipmi_power_check(). */
int ipmi_dcmi_power(const uint8_t *reply, size_t len, struct ipmi_power *ret,
		    struct err *err);

/* -ENODATA: measuring is off; -ERANGE: 0 W or 65535 W, which BMCs report when they have
 * no value. A minimum, maximum or average like that is set to 0. */
int ipmi_power_check(struct ipmi_power *p, struct err *err);

#endif
