/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type, length, value: the format of all our binary messages. */
#include "lib/records/tlv.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"

void tlv_put_le(unsigned char *p, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

uint64_t tlv_get_le(const unsigned char *p, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

/* ---- writing --------------------------------------------------------------------- */

int tlv_begin(struct tlv_out *ret, void *buf, size_t size, uint8_t type)
{
	if (size < TLV_HEAD_BYTES)
		return -EMSGSIZE;
	*ret = (struct tlv_out){.data = buf, .size = size, .len = TLV_HEAD_BYTES};
	tlv_put_le(ret->data, type, TLV_HEAD_BYTES);
	return 0;
}

unsigned char *tlv_put(struct tlv_out *o, uint16_t id, size_t len)
{
	if (o->full || len > UINT16_MAX ||
	    o->size - o->len < TLV_FIELD_HEAD_BYTES + len) {
		o->full = true;
		return NULL;
	}
	unsigned char *p = o->data + o->len;
	tlv_put_le(p, id, 2);
	tlv_put_le(p + 2, len, 2);
	o->len += TLV_FIELD_HEAD_BYTES + len;
	return p + TLV_FIELD_HEAD_BYTES;
}

void tlv_put_number(struct tlv_out *o, uint16_t id, uint64_t v, size_t bytes)
{
	unsigned char *p = tlv_put(o, id, bytes);

	if (p)
		tlv_put_le(p, v, bytes);
}

void tlv_put_text(struct tlv_out *o, uint16_t id, const char *s, size_t size)
{
	size_t len = strnlen(s, size);
	unsigned char *p = len ? tlv_put(o, id, len) : NULL;

	if (p)
		memcpy(p, s, len);
}

/* ---- reading --------------------------------------------------------------------- */

int tlv_open(struct tlv_in *ret, const void *data, size_t len, uint16_t *ret_type)
{
	const unsigned char *p = data;

	if (len < TLV_HEAD_BYTES)
		return -EPROTO;
	*ret_type = (uint16_t)tlv_get_le(p, TLV_HEAD_BYTES);
	*ret = (struct tlv_in){p + TLV_HEAD_BYTES, p + len};
	return 0;
}

int tlv_next(struct tlv_in *in, struct tlv_value *ret)
{
	size_t left = (size_t)(in->end - in->p);

	*ret = (struct tlv_value){0};
	if (!left)
		return 0;
	if (left < TLV_FIELD_HEAD_BYTES)
		return -EPROTO;
	ret->id = (uint16_t)tlv_get_le(in->p, 2);
	ret->len = (size_t)tlv_get_le(in->p + 2, 2);
	if (ret->len > left - TLV_FIELD_HEAD_BYTES)
		return -EPROTO;
	ret->data = in->p + TLV_FIELD_HEAD_BYTES;
	in->p = ret->data + ret->len;
	return 1;
}

bool tlv_copy_text(char *dst, size_t dst_size, const char *s, size_t len)
{
	size_t i = 0;

	while (i < len && s[i]) {
		size_t n = utf8_len(s + i, len - i);
		if (!n)
			n = 1;
		if (i + n >= dst_size)
			break;
		i += n;
	}
	memcpy(dst, s, i);
	memset(dst + i, 0, dst_size - i);
	return i == len || !s[i];
}

/* ---- tables ---------------------------------------------------------------------- */

static size_t tlv_number_width(uint8_t kind)
{
	return kind == TLV_U8 ? 1 : kind == TLV_U32 ? 4 : 8;
}

uint64_t tlv_get_member_number(const void *base, const struct tlv_member *m)
{
	const char *p = (const char *)base + m->offset;

	switch (m->kind) {
	case TLV_U8:
		return *(const uint8_t *)p;
	case TLV_U32:
		return *(const uint32_t *)(const void *)p;
	default:
		return *(const uint64_t *)(const void *)p;
	}
}

static void set_member_number(void *base, const struct tlv_member *m, uint64_t v)
{
	char *p = (char *)base + m->offset;

	switch (m->kind) {
	case TLV_U8:
		*(uint8_t *)p = (uint8_t)v;
		break;
	case TLV_U32:
		*(uint32_t *)(void *)p = (uint32_t)v;
		break;
	default:
		*(uint64_t *)(void *)p = v;
	}
}

bool tlv_is_absent(const void *base, const struct tlv_member *m)
{
	if (m->kind == TLV_TEXT)
		return *((const char *)base + m->offset) == '\0';
	return tlv_get_member_number(base, m) == (m->no_val ? TLV_NO_VAL : 0);
}

void tlv_put_member(struct tlv_out *o, const void *base, const struct tlv_member *m,
		    bool always)
{
	if (m->kind == TLV_TEXT)
		tlv_put_text(o, m->id, (const char *)base + m->offset, m->size);
	else if (always || !tlv_is_absent(base, m))
		tlv_put_number(o, m->id, tlv_get_member_number(base, m),
			       tlv_number_width(m->kind));
}

int tlv_get_member(void *base, const struct tlv_member *m, const struct tlv_value *v,
		   const char *what, bool *ret_cut, struct err *err)
{
	if (m->kind == TLV_TEXT) {
		if (v->len && memchr(v->data, 0, v->len))
			return tlv_bad(err, what, m, "zero byte in a text", v->len);
		bool whole = tlv_copy_text((char *)base + m->offset, m->size,
					   (const char *)v->data, v->len);
		if (!whole && ret_cut)
			*ret_cut = true;
		return 0;
	}
	if (v->len != tlv_number_width(m->kind))
		return tlv_bad(err, what, m, "not a number of its size", v->len);
	set_member_number(base, m, tlv_get_le(v->data, v->len));
	return 0;
}

const struct tlv_member *tlv_find(const struct tlv_member *members, size_t count,
				  uint16_t id, size_t *ret_index)
{
	for (size_t i = 0; i < count; i++) {
		if (members[i].id != id)
			continue;
		if (ret_index)
			*ret_index = i;
		return &members[i];
	}
	return NULL;
}

int tlv_bad(struct err *err, const char *what, const struct tlv_member *m,
	    const char *problem, size_t len)
{
	return err_set(err, -EPROTO, "%s: field %s: %s (%zu bytes)", what, m->name,
		       problem, len);
}
