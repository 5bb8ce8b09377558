/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_CALL_H
#define CEEMS_LB_GATE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"

/*
 * The request to a backend, composed from what was parsed and proved; it contains no
 * bytes of the client that were not parsed. All calls are read-only, so one that failed
 * before its answer began may be retried.
 */
struct call {
	bool get;          /* else it is a POST */
	struct buf target; /* path and query, to follow the backend's base path */
	const char *content_type; /* of the body; static; NULL: there is none */
	struct buf body;
	const char *accept; /* static, NULL: anything */
	bool gzip;          /* the client accepts gzip, so the backend may too */
	/* The time range that it reads, including lookback and offsets, in ms since
	 * the epoch; INT64_MIN to INT64_MAX: any. For backends that hold part of the
	 * data. */
	int64_t from_ms, to_ms;
	/* The result does not depend on the time of the request: no time in it means
	 * "now". */
	bool timeless;
	/* Where the times of protocol->times() are, in the target (of a GET) or the
	 * body: they can be replaced there. */
	size_t times_at;
};

void call_done(struct call *c); /* accepts a zeroed one */

#endif
