/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The body of a POST to the aggregator: framing, and compression by zlib; limits are
 * checked before memory is allocated. */
#include "lib/records/batch.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#define LENGTH_BYTES sizeof(uint32_t)
#define STEP_BYTES ((size_t)64 << 10)

void batch_begin(struct batch *b, size_t bytes_max)
{
	b->bytes_max =
		bytes_max && bytes_max < BATCH_PLAIN_MAX ? bytes_max : BATCH_PLAIN_MAX;
	buf_reset(&b->plain);
	b->count = 0;
	buf_put(&b->plain, BATCH_MAGIC, BATCH_MAGIC_BYTES);
}

int batch_add(struct batch *b, const void *record, size_t len)
{
	size_t was = b->plain.len;

	if (len == 0)
		return -EINVAL;
	if (b->count == BATCH_RECORDS_MAX || len > b->bytes_max ||
	    was + LENGTH_BYTES + len > b->bytes_max)
		return -E2BIG;
	uint32_t le = htole32((uint32_t)len);
	buf_put(&b->plain, &le, LENGTH_BYTES);
	buf_put(&b->plain, record, len);
	if (buf_error(&b->plain)) {
		buf_truncate(&b->plain, was);
		b->plain.error = 0;
		return -ENOMEM;
	}
	b->count++;
	return 0;
}

int batch_pack(const void *plain, size_t len, struct buf *ret)
{
	uLongf packed = BATCH_PACKED_MAX;
	uLong bound = compressBound((uLong)len);

	buf_reset(ret);
	packed = bound < packed ? bound : packed;
	char *at = buf_reserve(ret, packed);
	if (!at)
		return -ENOMEM;
	int rc = compress2((Bytef *)at, &packed, plain, (uLong)len,
			   Z_DEFAULT_COMPRESSION);
	if (rc == Z_BUF_ERROR)
		return -E2BIG;
	if (rc != Z_OK)
		return -ENOMEM;
	buf_commit(ret, packed);
	return 0;
}

/* Until the stream ends. Memory grows with the output, not with what is claimed. */
static int inflate_batch(z_stream *z, struct buf *ret, struct err *err)
{
	for (;;) { /* each turn fills its room, or is the last */
		size_t room = ret->len < STEP_BYTES ? STEP_BYTES : ret->len;
		/* one more, to notice the end of a batch of exactly that length */
		if (room > BATCH_PLAIN_MAX + 1 - ret->len)
			room = BATCH_PLAIN_MAX + 1 - ret->len;
		char *at = buf_reserve(ret, room);
		if (!at)
			return err_set(err, -ENOMEM, "out of memory");
		z->next_out = (Bytef *)at;
		z->avail_out = (uInt)room;
		int rc = inflate(z, Z_NO_FLUSH);
		buf_commit(ret, room - z->avail_out);
		if (ret->len > BATCH_PLAIN_MAX)
			return err_set(err, -EFBIG, "batch longer than %zu bytes",
				       BATCH_PLAIN_MAX);
		if (rc == Z_STREAM_END && z->avail_in)
			return err_set(err, -EBADMSG, "extra bytes after the batch");
		if (rc == Z_STREAM_END)
			return 0;
		if (rc == Z_MEM_ERROR)
			return err_set(err, -ENOMEM, "out of memory");
		if (rc != Z_OK || z->avail_out)
			return err_set(err, -EBADMSG, "not deflated, or cut");
	}
}

int batch_unpack(const void *body, size_t len, struct buf *ret, struct err *err)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)body, .avail_in = (uInt)len};

	buf_reset(ret);
	if (len > BATCH_PACKED_MAX)
		return err_set(err, -EFBIG, "body longer than %zu bytes",
			       BATCH_PACKED_MAX);
	if (inflateInit(&z) != Z_OK)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = inflate_batch(&z, ret, err);
	inflateEnd(&z);
	if (rc < 0)
		buf_reset(ret);
	return rc;
}

static uint32_t length_at(const unsigned char *p)
{
	uint32_t le;

	memcpy(&le, p, LENGTH_BYTES);
	return le32toh(le);
}

int batch_open(struct batch_reader *r, const void *plain, size_t len, struct err *err)
{
	const unsigned char *p = plain, *end = p + len;
	uint32_t count = 0;

	if (len > BATCH_PLAIN_MAX)
		return err_set(err, -EFBIG, "batch longer than %zu bytes",
			       BATCH_PLAIN_MAX);
	if (len < BATCH_MAGIC_BYTES || memcmp(p, BATCH_MAGIC, BATCH_MAGIC_BYTES) != 0)
		return err_set(err, -EBADMSG, "not a batch");
	p += BATCH_MAGIC_BYTES;
	const unsigned char *first = p;
	while (p < end) {
		size_t left = (size_t)(end - p);
		size_t n = left < LENGTH_BYTES ? 0 : length_at(p);
		if (n == 0 || n > left - LENGTH_BYTES)
			return err_set(err, -EBADMSG, "record %u has a wrong length",
				       count);
		if (++count > BATCH_RECORDS_MAX)
			return err_set(err, -EFBIG, "more than %u records",
				       BATCH_RECORDS_MAX);
		p += LENGTH_BYTES + n;
	}
	*r = (struct batch_reader){.at = first, .end = end, .count = count};
	return 0;
}

int batch_next(struct batch_reader *r, const void **ret_record, size_t *ret_len)
{
	if (r->at == r->end)
		return 0;
	size_t n = length_at(r->at); /* checked by batch_open() */
	*ret_record = r->at + LENGTH_BYTES;
	*ret_len = n;
	r->at += LENGTH_BYTES + n;
	return 1;
}
