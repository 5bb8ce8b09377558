/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a report: an error with a text, or a report that survives being written
 * again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/records/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char wire[REPORT_BYTES_MAX];
	static struct report r, again;
	struct err err = {""};

	if (report_decode(data, size, &r, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (!*report_type_name(r.type))
		abort();
	(void)report_end_name(r.end);
	for (uint32_t i = 0; i < r.energy_count; i++)
		(void)report_domain_name(r.energy[i].domain);
	int len = report_encode(&r, wire, sizeof(wire));
	if (len < 0 || report_decode(wire, (size_t)len, &again, &err) < 0 ||
	    !report_equal(&r, &again))
		abort();
	/* with little room: perhaps with fewer steps, never cut elsewhere */
	size_t room = (size_t)len > 40 ? (size_t)len - 40 : (size_t)len;
	len = report_encode(&r, wire, room);
	if (len >= 0 && (report_decode(wire, (size_t)len, &again, &err) < 0 ||
			 again.instance != r.instance))
		abort();
	return 0;
}
