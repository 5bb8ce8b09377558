/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_REPLY_H
#define CEEMS_REDFISH_PROXY_REPLY_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/buf.h"

/* An answer from a BMC or in its place, shared by the cache and all that wait for it.
 * Read-only once others can see it. */

struct reply {
	atomic_uint refs;
	unsigned status;
	const char *type; /* static */
	struct buf body;
	uint64_t at_ns; /* when it arrived, CLOCK_BOOTTIME */
};

#define REPLY_JSON "application/json"
#define REPLY_TEXT "text/plain; charset=utf-8"

/* With one reference; the body is a copy of text. NULL: no memory. */
struct reply *reply_new(unsigned status, const char *type, const char *text);
struct reply *reply_ref(struct reply *r);
void reply_unref(void *r); /* accepts NULL */

#endif
