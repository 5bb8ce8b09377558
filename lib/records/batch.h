/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_BATCH_H
#define CEEMS_LIB_RECORDS_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/*
 * What a courier POSTs to an aggregator: records of a spool, many in one body.
 *
 *	POST /api/v1/ingest
 *	Content-Type: application/x-ceems-batch
 *	Content-Encoding: deflate     (the zlib format of RFC 1950), or none
 *
 *	"CEB1", then for each record its length (32 bits, little-endian, at least 1) and
 *	its bytes, as they stood in the spool
 *
 * The decoder accepts any bytes: a body is a batch from its first byte to its last,
 * within the limits below, or it is refused as a whole. It does not interpret records.
 */

#define BATCH_PATH "/api/v1/ingest"
#define BATCH_TYPE "application/x-ceems-batch"
#define BATCH_ENCODING "deflate"
#define BATCH_MAGIC "CEB1"
#define BATCH_MAGIC_BYTES 4u
#define BATCH_PACKED_MAX ((size_t)1 << 20) /* body as sent */
#define BATCH_PLAIN_MAX ((size_t)8 << 20)
#define BATCH_RECORDS_MAX 20000u

/* ---- writing (no zlib, libbatch all the same) ------------------------------------ */

/* A growing batch. plain always is the batch so far, for the caller to send or pack;
 * batch_begin() empties it and keeps the memory, buf_done(&b->plain) frees it. */
struct batch {
	struct buf plain;
	uint32_t count;
	size_t bytes_max; /* of plain */
};

/* bytes_max: limit of the plain batch, at most BATCH_PLAIN_MAX; 0: that.
 * Zero-initialise b before the first use. */
void batch_begin(struct batch *b, size_t bytes_max);
/* -E2BIG: the record does not fit any more (or, with an empty batch, never will);
 * -EINVAL: it is empty; -ENOMEM. On failure b is unchanged. */
int batch_add(struct batch *b, const void *record, size_t len)
	__attribute__((warn_unused_result));

/* Compresses plain into *ret (emptied first), zlib format. -E2BIG: the result exceeds
 * BATCH_PACKED_MAX. */
int batch_pack(const void *plain, size_t len, struct buf *ret)
	__attribute__((warn_unused_result));

/* ---- reading --------------------------------------------------------------------- */

/* Undoes batch_pack(): *ret (emptied first) gets at most BATCH_PLAIN_MAX bytes,
 * whatever the body would expand to. -EFBIG: it is longer, or the body exceeds
 * BATCH_PACKED_MAX; -EBADMSG: not zlib, truncated, or followed by more bytes;
 * -ENOMEM. */
int batch_unpack(const void *body, size_t len, struct buf *ret, struct err *err)
	__attribute__((warn_unused_result));

struct batch_reader {
	const unsigned char *at, *end;
	uint32_t count; /* records in all */
};

/* Checks a whole plain batch, which is borrowed. -EBADMSG: malformed; -EFBIG: too long,
 * or too many records. */
int batch_open(struct batch_reader *r, const void *plain, size_t len, struct err *err)
	__attribute__((warn_unused_result));
/* The next record: 1, *ret_record (unaligned) is borrowed; 0: there are no more. */
int batch_next(struct batch_reader *r, const void **ret_record, size_t *ret_len);

#endif
