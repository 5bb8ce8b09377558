/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protocol Buffers (protobuf.dev, "Encoding"): bytes to trees of values and back.
 * Stricter than the format: what some parsers merge, and others take the last of, is
 * refused. */
#include <errno.h>
#include <string.h>

#include "lb/pyroscope/pyro_message.h"

enum wire { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_LEN = 2, WIRE_I32 = 5 };

#define FIELD_STEPS 8 /* table look-up */
#define FIELD_NUMBER_MAX ((1u << 29) - 1)

struct pyro_proto_reader {
	struct pyro_arena *arena;
	struct err *err;
	const unsigned char *p, *end;
	unsigned depth;
};

static int refuse_broken(struct pyro_proto_reader *r)
{
	return err_set(r->err, -EINVAL,
		       "the protobuf message is truncated or malformed");
}

static int read_varint(struct pyro_proto_reader *r, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && r->p < r->end; shift += 7) {
		unsigned char c = *r->p++;

		if (shift == 63 && c > 1)
			break; /* more than 64 bits */
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80) {
			*ret = v;
			return 0;
		}
	}
	return refuse_broken(r);
}

/* Length-delimited bytes */
static int read_length_delimited(struct pyro_proto_reader *r, const unsigned char **ret,
				 size_t *ret_len)
{
	uint64_t n;
	int rc = read_varint(r, &n);

	if (rc)
		return rc;
	if (n > (size_t)(r->end - r->p))
		return refuse_broken(r);
	*ret = r->p;
	*ret_len = (size_t)n;
	r->p += n;
	return 0;
}

static int read_fixed64(struct pyro_proto_reader *r, uint64_t *ret)
{
	uint64_t v = 0;

	if (r->end - r->p < 8)
		return refuse_broken(r);
	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)*r->p++ << (8 * i);
	*ret = v;
	return 0;
}

/* A field that the table does not have */
static int skip_unknown_field(struct pyro_proto_reader *r, unsigned wire)
{
	const unsigned char *bytes;
	uint64_t v;
	size_t n;

	switch (wire) {
	case WIRE_VARINT:
		return read_varint(r, &v);
	case WIRE_I64:
		return read_fixed64(r, &v);
	case WIRE_LEN:
		return read_length_delimited(r, &bytes, &n);
	case WIRE_I32:
		if (r->end - r->p < 4)
			return refuse_broken(r);
		r->p += 4;
		return 0;
	default: /* groups: gone from the format, and nested without a length */
		return err_set(r->err, -EINVAL, "the protobuf message has groups");
	}
}

static unsigned wire_of(enum pyro_kind kind)
{
	switch (kind) {
	case PYRO_STRING:
	case PYRO_MESSAGE:
		return WIRE_LEN;
	case PYRO_DOUBLE:
		return WIRE_I64;
	case PYRO_INT64:
	case PYRO_UINT32:
	case PYRO_BOOL:
	case PYRO_ENUM:
		break;
	}
	return WIRE_VARINT;
}

static int read_proto_message(struct pyro_proto_reader *r, const struct pyro_type *type,
			      struct pyro_message **ret);

/* A message within a message */
static int read_inner(struct pyro_proto_reader *r, struct pyro_value *v)
{
	struct pyro_proto_reader inner = *r;
	size_t n = 0;
	int rc = read_length_delimited(r, &inner.p, &n);

	if (rc)
		return rc;
	inner.end = inner.p + n;
	inner.depth++;
	return read_proto_message(&inner, v->field->type, &v->message);
}

static int read_proto_string(struct pyro_proto_reader *r, struct pyro_value *v)
{
	const unsigned char *bytes = NULL;
	size_t n = 0;
	int rc = read_length_delimited(r, &bytes, &n);

	if (rc)
		return rc;
	if (!utf8_is_text((const char *)bytes, n))
		return err_set(r->err, -EINVAL, "field \"%s\" is not UTF-8",
			       v->field->name);
	if (pyro_keep(r->arena, bytes, n, &v->string))
		return err_set(r->err, -ENOMEM, "out of memory");
	return 0;
}

static int read_number(struct pyro_proto_reader *r, struct pyro_value *v)
{
	uint64_t n, max = UINT64_MAX;
	int rc = read_varint(r, &n);

	if (rc)
		return rc;
	if (v->field->kind == PYRO_UINT32)
		max = UINT32_MAX;
	else if (v->field->kind == PYRO_BOOL)
		max = 1;
	else if (v->field->kind == PYRO_ENUM)
		max = v->field->value_count - 1;
	if (n > max)
		return err_set(r->err, -EINVAL,
			       "field \"%s\" has a value that is not supported here",
			       v->field->name);
	v->integer = (int64_t)n;
	return 0;
}

static int read_proto_value(struct pyro_proto_reader *r, struct pyro_value *v)
{
	uint64_t bits;
	int rc;

	switch (v->field->kind) {
	case PYRO_STRING:
		return read_proto_string(r, v);
	case PYRO_MESSAGE:
		return read_inner(r, v);
	case PYRO_DOUBLE:
		rc = read_fixed64(r, &bits);
		memcpy(&v->number, &bits, sizeof(v->number));
		return rc;
	case PYRO_INT64:
	case PYRO_UINT32:
	case PYRO_BOOL:
	case PYRO_ENUM:
		break;
	}
	return read_number(r, v);
}

static const struct pyro_field *find_proto_field(const struct pyro_type *t,
						 uint64_t number)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->fields[i].number == number)
			return &t->fields[i];
	return NULL;
}

static int read_field(struct pyro_proto_reader *r, struct pyro_message *m)
{
	const struct pyro_field *f;
	struct pyro_value *v;
	unsigned wire;
	uint64_t tag;
	int rc = read_varint(r, &tag);

	if (rc)
		return rc;
	wire = tag & 7;
	tag >>= 3;
	if (!tag || tag > FIELD_NUMBER_MAX)
		return refuse_broken(r);
	f = find_proto_field(m->type, tag);
	if (!f)
		return skip_unknown_field(r, wire);
	if (wire != wire_of(f->kind))
		return err_set(r->err, -EINVAL, "field \"%s\" has another wire type",
			       f->name);
	rc = pyro_add(r->arena, m, f, &v, r->err);
	return rc ? rc : read_proto_value(r, v);
}

static int read_proto_message(struct pyro_proto_reader *r, const struct pyro_type *type,
			      struct pyro_message **ret)
{
	struct pyro_message *m = pyro_new(r->arena, type);
	int rc = 0;

	if (!m)
		return err_set(r->err, -ENOMEM, "out of memory");
	if (r->depth > PYRO_DEPTH_MAX)
		return err_set(r->err, -E2BIG, "messages nested too deeply");
	*ret = m;
	while (r->p < r->end && !rc) {
		const unsigned char *begin = r->p;

		rc = read_field(r, m);
		rc = rc ? rc
			: steps_take(r->arena->steps,
				     FIELD_STEPS + (size_t)(r->p - begin), r->err);
	}
	return rc;
}

int pyro_read_proto(struct pyro_arena *a, const struct pyro_type *type,
		    const void *bytes, size_t len, struct pyro_message **ret,
		    struct err *err)
{
	struct pyro_proto_reader r = {.arena = a, .err = err, .p = bytes, .end = bytes};

	if (len > PYRO_BODY_MAX)
		return err_set(err, -E2BIG, "a message of more than %u bytes",
			       PYRO_BODY_MAX);
	if (len)
		r.end += len;
	return read_proto_message(&r, type, ret);
}

/* ---- writing --------------------------------------------------------------------- */

static void put_varint(struct buf *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_putc(out, (char)(v | 0x80));
	buf_putc(out, (char)v);
}

static void put_tag(struct buf *out, const struct pyro_field *f)
{
	put_varint(out, (uint64_t)f->number << 3 | wire_of(f->kind));
}

static void put_span(struct buf *out, const void *bytes, size_t len)
{
	put_varint(out, len);
	buf_put(out, bytes, len);
}

static void put_double(struct buf *out, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	for (unsigned i = 0; i < 8; i++)
		buf_putc(out, (char)(bits >> (8 * i)));
}

static void put_proto_message(struct buf *out, const struct pyro_message *m)
{
	auto_buf struct buf inner = BUF_INIT;

	pyro_write_proto(m, &inner);
	if (buf_error(&inner))
		out->error = out->error ?: buf_error(&inner);
	else
		put_span(out, inner.data, inner.len);
}

void pyro_write_proto(const struct pyro_message *m, struct buf *out)
{
	for (const struct pyro_value *v = m->values; v; v = v->next) {
		if (pyro_is_default(v) || v->field->role == PYRO_DROPPED)
			continue;
		put_tag(out, v->field);
		switch (v->field->kind) {
		case PYRO_STRING:
			put_span(out, v->string.p, v->string.len);
			break;
		case PYRO_MESSAGE:
			put_proto_message(out, v->message);
			break;
		case PYRO_DOUBLE:
			put_double(out, v->number);
			break;
		case PYRO_INT64:
		case PYRO_UINT32:
		case PYRO_BOOL:
		case PYRO_ENUM:
			put_varint(out, (uint64_t)v->integer);
			break;
		}
	}
}
