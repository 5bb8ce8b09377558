/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared answers. */
#include "redfish_proxy/reply.h"

#include <stdlib.h>

#include "lib/clock.h"

struct reply *reply_new(unsigned status, const char *type, const char *text)
{
	struct reply *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	atomic_init(&r->refs, 1);
	r->status = status;
	r->type = type;
	r->at_ns = clock_boottime_ns();
	buf_puts(&r->body, text);
	if (buf_error(&r->body)) {
		reply_unref(r);
		return NULL;
	}
	return r;
}

struct reply *reply_ref(struct reply *r)
{
	atomic_fetch_add(&r->refs, 1);
	return r;
}

void reply_unref(void *arg)
{
	struct reply *r = arg;

	if (!r || atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	buf_done(&r->body);
	free(r);
}
