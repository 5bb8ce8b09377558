/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_UNIT_ADAPTER_LAB_H
#define CEEMS_TEST_UNIT_ADAPTER_LAB_H

#include "lib/records/record.h"
#include "lib/records/ring.h"
#include "test/unit/unit.h"

/* The next record that an adapter published, but signs of life. False: there is none.
 */
static inline bool take_adapter_record(struct ring *ring, struct record *ret)
{
	unsigned char data[RING_RECORD_MAX];
	struct err err;
	size_t len = 0;
	uint64_t pos = 0;

	while (ring_peek(ring, data, &len, &pos) == 1) {
		assert_int_equal(record_decode(data, len, ret, &err), 0);
		ring_release(ring, pos);
		if (ret->type != RECORD_HELLO)
			return true;
	}
	return false;
}

#endif
