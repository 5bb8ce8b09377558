/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the body of a POST to the aggregator, packed and plain. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/records/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was taken is written again to the same bytes. */
static void walk(const void *plain, size_t size)
{
	struct batch again = {0};
	struct batch_reader r;
	struct err err;
	const void *record;
	size_t len;
	uint32_t count = 0;

	if (batch_open(&r, plain, size, &err) < 0)
		return;
	batch_begin(&again, 0);
	uint32_t promised = r.count;
	while (batch_next(&r, &record, &len)) {
		if (batch_add(&again, record, len) < 0)
			abort();
		count++;
	}
	if (count != promised || again.plain.len != size ||
	    memcmp(again.plain.data, plain, size) != 0)
		abort();
	buf_done(&again.plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* of its own length, so that reading on is seen */
	uint8_t *copy = malloc(size ? size : 1);
	struct buf plain = BUF_INIT;
	struct err err;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	walk(copy, size);
	if (batch_unpack(copy, size, &plain, &err) == 0) {
		if (plain.len > BATCH_PLAIN_MAX)
			abort();
		walk(plain.data, plain.len);
	} else if (plain.len) {
		abort();
	}
	buf_done(&plain);
	free(copy);
	return 0;
}
