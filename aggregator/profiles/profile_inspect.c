/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks through a profile for what may not be passed on. A reader behind us may be more
 * lenient than we are: what is unusual is refused, not skipped. */
#include "aggregator/profiles/profile_inspect.h"

#include <errno.h>
#include <stdbool.h>
#include <zlib.h>

#include "lib/records/profile_record.h"

#define GZIP 16
#define FIELD_MAX ((1u << 29) - 1) /* protobuf's largest number of a field */
#define VARINT_BYTES 10u

enum { PROFILE_SAMPLE = 2, PROFILE_TIME = 9, PROFILE_FIELDS = 15 };
enum { SAMPLE_LABEL = 3, SAMPLE_FIELDS = 3 };
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct pprof_bytes {
	const unsigned char *at, *end;
};

struct pprof_field {
	uint32_t number;
	struct pprof_bytes value; /* of WIRE_BYTES */
	uint64_t varint;
};

/* ---- gzip ------------------------------------------------------------------------ */

/* One stream and nothing behind it: other readers would append a second one. */
static int unpack_profile(const void *packed, size_t len, struct buf *ret,
			  struct err *err)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)len};
	char *room;

	buf_reset(ret);
	room = buf_reserve(ret, PROFILE_PLAIN_MAX + 1);
	if (!room || inflateInit2(&z, MAX_WBITS + GZIP) != Z_OK)
		return err_set(err, -ENOMEM, "out of memory");
	z.next_out = (Bytef *)room;
	z.avail_out = (uInt)PROFILE_PLAIN_MAX + 1;
	int rc = inflate(&z, Z_FINISH);
	size_t plain = PROFILE_PLAIN_MAX + 1 - z.avail_out;
	bool rest = z.avail_in > 0, full = z.avail_out == 0;
	(void)inflateEnd(&z);
	if (full)
		return err_set(err, -EFBIG, "it unpacks to more than %zu bytes",
			       PROFILE_PLAIN_MAX);
	if (rc != Z_STREAM_END)
		return err_set(err, -EBADMSG, "its gzip stream is damaged or cut");
	if (rest)
		return err_set(err, -EBADMSG, "bytes follow its gzip stream");
	buf_commit(ret, plain);
	return buf_error(ret);
}

/* ---- protobuf -------------------------------------------------------------------- */

static bool read_pprof_varint(struct pprof_bytes *b, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VARINT_BYTES && b->at < b->end; i++) {
		unsigned char byte = *b->at++;
		/* the tenth has one bit only */
		if (i == VARINT_BYTES - 1 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 127) << (7 * i);
		if (byte < 128) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static bool skip_pprof_bytes(struct pprof_bytes *b, uint64_t n)
{
	if (n > (uint64_t)(b->end - b->at))
		return false;
	b->at += n;
	return true;
}

/* 1: *ret; 0: the end; -EBADMSG: no message, or of a form that nobody writes. */
static int next_pprof_field(struct pprof_bytes *b, uint32_t fields,
			    struct pprof_field *ret)
{
	uint64_t key, v;
	bool good;

	if (b->at == b->end)
		return 0;
	if (!read_pprof_varint(b, &key) || key >> 3 == 0 || key >> 3 > FIELD_MAX ||
	    key >> 3 > fields)
		return -EBADMSG;
	*ret = (struct pprof_field){.number = (uint32_t)(key >> 3)};
	switch (key & 7) {
	case WIRE_VARINT:
		good = read_pprof_varint(b, &ret->varint);
		break;
	case WIRE_FIXED64:
		good = skip_pprof_bytes(b, 8);
		break;
	case WIRE_FIXED32:
		good = skip_pprof_bytes(b, 4);
		break;
	case WIRE_BYTES:
		good = read_pprof_varint(b, &v);
		ret->value.at = b->at;
		good = good && skip_pprof_bytes(b, v);
		ret->value.end = b->at;
		break;
	default:
		good = false;
	}
	return good ? 1 : -EBADMSG;
}

static int inspect_sample(struct pprof_bytes sample, struct err *err)
{
	struct pprof_field f;
	int rc;

	while ((rc = next_pprof_field(&sample, SAMPLE_FIELDS, &f)) == 1) {
		if (f.number == SAMPLE_LABEL)
			return err_set(err, -EBADMSG,
				       "its samples have labels of their own");
	}
	return rc < 0 ? err_set(err, rc, "a sample is no message") : 0;
}

static int inspect_profile_field(const struct pprof_field *f,
				 struct profile_facts *facts, struct err *err)
{
	if (f->number == PROFILE_TIME) {
		if (facts->time_ns || f->value.at)
			return err_set(err, -EBADMSG, "its time is not one number");
		facts->time_ns = f->varint;
		return 0;
	}
	if (f->number != PROFILE_SAMPLE)
		return 0;
	if (++facts->samples > PROFILE_SAMPLES_MAX)
		return err_set(err, -EFBIG, "it has more than %u stacks",
			       PROFILE_SAMPLES_MAX);
	if (!f->value.at)
		return err_set(err, -EBADMSG, "a sample is no message");
	return inspect_sample(f->value, err);
}

int profile_inspect(const void *packed, size_t len, struct buf *scratch,
		    struct profile_facts *ret, struct err *err)
{
	struct profile_facts facts = {0};
	struct pprof_field f;
	int rc = unpack_profile(packed, len, scratch, err);

	if (rc < 0)
		return rc;
	facts.plain_bytes = scratch->len;
	struct pprof_bytes all = {(const unsigned char *)scratch->data,
				  (const unsigned char *)scratch->data + scratch->len};
	while ((rc = next_pprof_field(&all, PROFILE_FIELDS, &f)) == 1) {
		rc = inspect_profile_field(&f, &facts, err);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return err_set(err, rc, "it is no pprof profile");
	*ret = facts;
	return 0;
}
