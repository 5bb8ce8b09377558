/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_SHIP_H
#define CEEMS_COURIER_SHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "courier/courier.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/http/client.h"
#include "lib/log.h"
#include "lib/records/batch.h"
#include "lib/records/spool.h"

/*
 * From the spool to the aggregator. A record leaves the spool only after an aggregator
 * answered its batch with 200, or if no aggregator will ever accept it; sending twice
 * is harmless (doc/courier.md).
 */

/* ---- courier/ship_pace.c: when, and to whom. No clock of its own. ---------------- */

/* When within each interval the node of this name sends: 0 .. interval_ms - 1. */
uint64_t ship_offset_ms(const char *node, uint64_t interval_ms);
/* Milliseconds from realtime_ms to the next such moment. */
uint64_t ship_until_slot_ms(uint64_t realtime_ms, uint64_t offset_ms,
			    uint64_t interval_ms);
/* How long to leave the servers alone after so many consecutive failures (from 1), with
 * full jitter, but at least as long as they ask. random: any 64 bits. */
#define SHIP_WAIT_MAX_MS 60000u
#define SHIP_RETRY_AFTER_MAX_S 600u
uint64_t ship_wait_ms(unsigned failures, uint32_t retry_after_s, uint64_t random);

#define SHIP_URLS_MAX 16u
struct ship_urls {
	size_t count, current;
	uint64_t first_tried_ns; /* when the first was last tried without success */
};
/* The order in which to try them: ret has room for count. The last one that answered
 * comes first, but the first of the list is tried again after return_ns. */
void ship_urls_order(const struct ship_urls *u, uint64_t now_ns, uint64_t return_ns,
		     size_t *ret);

/* ---- courier/ship_answer.c: what an aggregator answered -------------------------- */

enum ship_verdict {
	SHIP_TAKEN,  /* in its database */
	SHIP_HALVE,  /* it cannot parse the batch */
	SHIP_LATER,  /* busy, failed, or not an aggregator */
	SHIP_DENIED, /* we are not authenticated */
};

#define SHIP_REASONS_MAX 8u
#define SHIP_REASON_BYTES 120u

struct ship_answer {
	enum ship_verdict verdict;
	unsigned status;
	uint32_t accepted, refused; /* records of the batch */
	uint32_t reason_count;
	uint32_t retry_after_s; /* 0: not given */
	struct {
		uint32_t index;
		char text[SHIP_REASON_BYTES];
	} reasons[SHIP_REASONS_MAX];   /* the first of those refused */
	char error[SHIP_REASON_BYTES]; /* its error text, printable; "": none */
};

/* Accepts any bytes. count: records of ours in the batch, after `head` records about
 * ourselves (lib/records/report_clock.h): an aggregator that does not know those
 * refuses them, which does no harm and is not in *ret. retry_after: the header, or
 * NULL. */
void ship_answer_read(unsigned status, const char *body, size_t len, uint32_t head,
		      uint32_t count, const char *retry_after, struct ship_answer *ret);

/* ---- courier/ship_post.c: one POST ----------------------------------------------- */

struct ship_post;

/* path: of the aggregator, for all that is sent. -EINVAL: inconsistent options;
 * -ENOTSUP: only MUNGE is left, and we were built without it. c and path outlive it. */
int ship_post_new(struct courier *c, const char *path, struct ship_post **ret,
		  struct err *err);
void ship_post_free(struct ship_post *p); /* NULL-safe */

/* Sends a plain batch of count records, preceded by our clocks, to the i-th URL. 0:
 * *ret is the answer, and err says what is wrong with it unless it is SHIP_TAKEN;
 * -E2BIG: too large even when compressed; else there was no answer. */
int ship_post_do(struct ship_post *p, size_t i, const void *plain, size_t len,
		 uint32_t count, struct ship_answer *ret, struct err *err);
uint64_t ship_post_bytes(const struct ship_post *p); /* of bodies, sent so far */

/* The same for any body. encoding: NULL: none. 0: *ret is the answer, borrowed until
 * the next POST, and *ret_retry_after (may be NULL) its header, or NULL. */
int ship_post_body(struct ship_post *p, size_t i, const char *type,
		   const char *encoding, const void *body, size_t len,
		   const struct http_response **ret, const char **ret_retry_after,
		   struct err *err);

/* ---- courier/ship_spool.c: one spool --------------------------------------------- */

#define SHIP_SET_ASIDE_NAME "set-aside"
#define SHIP_SET_ASIDE_MAX ((size_t)4 << 20)

struct ship_entry {
	uint64_t seq;
	uint32_t end; /* of its bytes in the batch */
};

struct ship_spool {
	const char *folder; /* borrowed */
	struct spool_reader *reader;
	struct log_repeat open_log, ack_log, aside_log;
	struct batch batch; /* read, not yet acknowledged */
	struct ship_entry *entries;
	size_t room;
	bool has_begun, urgent, full;
	uint64_t since_ns;    /* when the first of them was read, boot time */
	uint64_t due_ns;      /* send at the latest; 0: undecided */
	struct buf left_over; /* read, but did not fit */
	struct spool_record left;
	uint32_t limit;      /* records of the next POST */
	uint64_t to_ack;     /* delivered, maybe not acknowledged yet; 0: none */
	uint64_t set_aside;  /* since start */
	uint64_t lost_aside; /* part of set_aside that could not be kept either */
};

/* Reads as many records as fit. A spool that is missing, in use or unreadable is logged
 * and retried the next time. */
void ship_spool_fill(struct ship_spool *s, uint64_t now_ns);
/* Drops the first n records of the batch, which have been handled. */
void ship_spool_told(struct ship_spool *s, uint32_t n, uint64_t now_ns);
/* Sets the first record aside, and logs why. */
void ship_spool_put_aside(struct ship_spool *s, const char *why, uint64_t now_ns);
/* Length of the plain batch of the first n records. */
size_t ship_spool_bytes(const struct ship_spool *s, uint32_t n);
void ship_spool_done(struct ship_spool *s);
/* Whether the folder exists; else a text that names the option. */
int ship_spool_check(const char *folder, struct err *err);

#endif
