/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_RINGVIEW_H
#define CEEMS_CLI_TOOL_RINGVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/records/ring.h"

/* Inspects a live ring from outside, beside its consumer and producers: for
 * ceems-ringdump and ceems_tool. r is from ring_attach_readonly(). Never blocks. */

enum ringview_state {
	RINGVIEW_NONE,     /* this position has not been used yet */
	RINGVIEW_RESERVED, /* being written, or its producer has died */
	RINGVIEW_PENDING,  /* published, not yet released by the consumer */
	RINGVIEW_CONSUMED, /* released; the slot still holds it */
	RINGVIEW_HOLE,     /* skipped: its producer died, or it was damaged */
	RINGVIEW_GONE,     /* its slot has the record of a later lap */
};

struct ringview {
	uint64_t pos;
	enum ringview_state state;
	uint32_t pid; /* of the producer: RESERVED and PENDING */
	bool damaged; /* the checksum does not match */
	size_t len;   /* of data: PENDING and CONSUMED */
	unsigned char data[RING_RECORD_MAX];
};

/* What is at a position now; a slot that changes while it is copied is read again. */
void ringview_look(const struct ring *r, uint64_t pos, struct ringview *ret);

/* The positions that may still be visible: from *ret_first to before *ret_end. */
void ringview_range(const struct ring *r, uint64_t *ret_first, uint64_t *ret_end);

/* One JSON object and a newline. */
void ringview_put_json(struct buf *b, const struct ringview *v);

/* The header as one JSON object and a newline; now_ns is CLOCK_BOOTTIME. */
void ringview_put_state(struct buf *b, const char *path, const struct ring *r,
			uint64_t now_ns);

#endif
