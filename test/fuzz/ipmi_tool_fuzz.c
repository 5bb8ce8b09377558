/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tools print that ask a BMC, and CAPMC's JSON with its times. */
#include <stdint.h>
#include <stdlib.h>

#include "daemon/sources/capmc.h"
#include "daemon/sources/ipmi_cmd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct ipmi_power p = {.current_w = 70000};
	struct capmc_energy e = {.joules = 77};
	struct err err;
	uint64_t us = 77;

	int rc = ipmi_cmd_power(text, size, &p, &err);
	if (rc > 0 || (rc < 0 && (p.current_w != 70000 || !err.text[0])))
		abort();
	if (rc == 0 && (!p.active || !p.current_w || p.current_w >= 65535 ||
			p.min_w >= 65535 || p.max_w >= 65535 || p.avg_w >= 65535))
		abort();
	for (uint64_t nid = 24; nid < 26; nid++) {
		rc = capmc_energy(text, size, nid == 25 ? CAPMC_ANY_NID : nid, &e,
				  &err);
		if (rc > 0 || (rc < 0 && !err.text[0]))
			abort();
	}
	rc = capmc_time(text, size, &us);
	if (rc > 0 || (rc < 0 && us != 77) ||
	    (rc == 0 && us > 254000000000000000ull)) /* the year 9999 */
		abort();
	return 0;
}
