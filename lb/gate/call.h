/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_CALL_H
#define CEEMS_LB_GATE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"

/*
 * What is sent on to a backend, made anew from what was read and proved of a request;
 * nothing of the client's bytes is in it that a reader did not understand. All calls
 * only read, so one that failed before its answer began may be sent once more.
 */
struct call {
	bool get;                 /* else it is a POST */
	struct buf target;        /* path and query, behind the backend's own path */
	const char *content_type; /* of the body; static; NULL: there is none */
	struct buf body;
	const char *accept; /* static, NULL: anything */
	bool gzip;          /* the client takes gzip, so its answer may come so */
	/* The time that it touches, lookback and offsets included, in ms since the
	 * epoch; INT64_MIN to INT64_MAX: any. For backends that hold a part of time. */
	int64_t from_ms, to_ms;
	/* The same whenever it is asked: no time in it stands for "now". */
	bool timeless;
	/* Where in the target (of a GET) or the body the times stand that
	 * protocol->times() reads: others may stand there in their place. */
	size_t times_at;
};

void call_done(struct call *c); /* accepts a zeroed one */

#endif
