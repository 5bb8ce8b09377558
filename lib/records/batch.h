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
 * The decoder is total: a body is a batch from its first byte to its last, within the
 * limits below, or it is refused as a whole. What a record means is not its matter.
 */

#define BATCH_PATH "/api/v1/ingest"
#define BATCH_TYPE "application/x-ceems-batch"
#define BATCH_ENCODING "deflate"
#define BATCH_MAGIC "CEB1"
#define BATCH_MAGIC_BYTES 4u
#define BATCH_PACKED_MAX ((size_t)1 << 20) /* of a body as it is sent */
#define BATCH_PLAIN_MAX ((size_t)8 << 20)
#define BATCH_RECORDS_MAX 20000u

/* ---- writing (no zlib, libbatch all the same) ------------------------------------ */

/* A batch that grows. plain holds the batch at any time and is the caller's to send or
 * pack; batch_begin() starts it anew and keeps the memory, buf_done(&b->plain) frees.
 */
struct batch {
	struct buf plain;
	uint32_t count;
	size_t bytes_max; /* of plain */
};

/* bytes_max: of the plain batch, at most BATCH_PLAIN_MAX; 0: that. Zero-initialise b
 * before its first time. */
void batch_begin(struct batch *b, size_t bytes_max);
/* -E2BIG: the record does not fit any more (or, into an empty batch, never will);
 * -EINVAL: it is empty; -ENOMEM. On failure b is as before. */
int batch_add(struct batch *b, const void *record, size_t len)
	__attribute__((warn_unused_result));

/* The body for plain bytes: *ret (emptied first) in the zlib format. -E2BIG: longer
 * than BATCH_PACKED_MAX then. */
int batch_pack(const void *plain, size_t len, struct buf *ret)
	__attribute__((warn_unused_result));

/* ---- reading --------------------------------------------------------------------- */

/* Undoes batch_pack(): *ret (emptied first) gets at most BATCH_PLAIN_MAX bytes, however
 * many the body would become. -EFBIG: it is longer, or the body than BATCH_PACKED_MAX;
 * -EBADMSG: not in that format, cut, or followed by something; -ENOMEM. */
int batch_unpack(const void *body, size_t len, struct buf *ret, struct err *err)
	__attribute__((warn_unused_result));

struct batch_reader {
	const unsigned char *at, *end;
	uint32_t count; /* records in all */
};

/* Checks all of a plain batch; its bytes are borrowed. -EBADMSG: it makes no sense;
 * -EFBIG: too long, or too many records. */
int batch_open(struct batch_reader *r, const void *plain, size_t len, struct err *err)
	__attribute__((warn_unused_result));
/* The next record: 1, *ret_record (of no alignment) is borrowed; 0: that was the last.
 */
int batch_next(struct batch_reader *r, const void **ret_record, size_t *ret_len);

#endif
