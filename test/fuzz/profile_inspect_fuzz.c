/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a profile to be passed on: as they come, and packed, since hardly any
 * bytes are a gzip stream. */
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "aggregator/profiles/profile_inspect.h"
#include "lib/records/profile_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inspect(const void *data, size_t size, struct buf *scratch)
{
	struct profile_facts facts;
	struct err err = {""};

	if (profile_inspect(data, size, scratch, &facts, &err) < 0) {
		if (!err.text[0])
			abort();
		return;
	}
	if (facts.samples > PROFILE_SAMPLES_MAX ||
	    facts.plain_bytes > PROFILE_PLAIN_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char packed[1 << 16];
	static struct buf scratch = BUF_INIT; /* 4 MiB: not each time */
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
		      .avail_in = (uInt)size,
		      .next_out = packed,
		      .avail_out = sizeof(packed)};

	inspect(data, size, &scratch);
	if (size <= sizeof(packed) / 2 &&
	    deflateInit2(&z, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) ==
		    Z_OK) {
		if (deflate(&z, Z_FINISH) == Z_STREAM_END)
			inspect(packed, z.total_out, &scratch);
		(void)deflateEnd(&z);
	}
	return 0;
}
