/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_PROFILES_PROFILE_INSPECT_H
#define CEEMS_AGGREGATOR_PROFILES_PROFILE_INSPECT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/*
 * Whether a profile's bytes may be passed on: pprof (google/pprof,
 * proto/profile.proto) of at most PROFILE_PLAIN_MAX bytes and PROFILE_SAMPLES_MAX
 * samples in one gzip stream, and no sample has labels of its own. Pyroscope would make
 * such labels those of a series (pkg/pprof, sample labels), so that a node could name
 * another user's unit in them.
 */

struct profile_facts {
	size_t plain_bytes;
	uint32_t samples;
	uint64_t time_ns; /* that the store will file it under, Unix time */
};

/* Accepts any bytes, in bounded time and memory. scratch is emptied, and keeps its
 * memory for the next one. 0; -EBADMSG or -EFBIG with the reason; -ENOMEM. */
int profile_inspect(const void *packed, size_t len, struct buf *scratch,
		    struct profile_facts *ret, struct err *err)
	__attribute__((warn_unused_result));

#endif
