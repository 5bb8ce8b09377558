/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a record: an error, or a record that survives being written again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/records/record.h"
#include "lib/records/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char wire[4096];
	struct record r, again;
	struct err err;
	char step[16];

	if (record_decode(data, size, &r, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	record_type_name(r.type);
	record_manager_name(r.manager);
	record_step_name(r.step, step);
	record_cgroup(&r, CGROUP_MEMORY);
	int len = record_encode(&r, wire, sizeof(wire));
	if (len < 0 || record_decode(wire, (size_t)len, &again, &err) < 0 ||
	    memcmp(&r, &again, sizeof(r)) != 0)
		abort();
	/* in a slot: perhaps with less, never without what is required */
	len = record_encode(&r, wire, RING_RECORD_MAX);
	if (len < 0 || record_decode(wire, (size_t)len, &again, &err) < 0 ||
	    strcmp(r.unit, again.unit) != 0)
		abort();
	return 0;
}
