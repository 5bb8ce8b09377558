/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A finished profile as a record of the spool. */
#include "lib/records/profile_record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/records/tlv.h"

/* Numbers on the wire: never change or reuse one. */
enum profile_field {
	F_VERSION = 1,
	F_NAME = 2,
	F_FROM = 3,
	F_UNTIL = 4,
	F_SAMPLES = 5,
	F_PLAIN = 6,
	F_LABEL = 7, /* "name=value", for each one */
	F_DATA = 8,  /* a part of the bytes, in order */
};

#define PART_MAX 65535u
#define SERVICE_NAME "service_name"
#define GZIP_HEAD 2u
static const unsigned char gzip_head[GZIP_HEAD] = {0x1f, 0x8b};

_Static_assert(PROFILE_LABELS_MAX *(TLV_FIELD_HEAD_BYTES + PROFILE_LABEL_NAME_MAX + 1 +
				    PROFILE_LABEL_VALUE_MAX) +
			       PROFILE_LABEL_NAME_MAX +
			       (SPOOL_RECORD_MAX / PART_MAX + 8) *
				       (TLV_FIELD_HEAD_BYTES + 8) <
		       PROFILE_TOLD_BYTES,
	       "every record fits");

/* ---- what is in a record --------------------------------------------------------- */

static bool is_label_name(const char *s, size_t len)
{
	if (len == 0 || len > PROFILE_LABEL_NAME_MAX ||
	    (len > 1 && s[0] == '_' && s[1] == '_'))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool letter = (s[i] >= 'a' && s[i] <= 'z') ||
			      (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';
		if (!letter && (i == 0 || s[i] < '0' || s[i] > '9'))
			return false;
	}
	return true;
}

static bool is_label_value(const char *s, size_t len)
{
	if (len == 0 || len > PROFILE_LABEL_VALUE_MAX || !utf8_is_text(s, len))
		return false;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	}
	return true;
}

const char *profile_record_label(const struct profile_record *r, const char *name)
{
	for (size_t i = 0; i < r->label_count; i++) {
		if (strcmp(r->labels[i].name, name) == 0)
			return r->labels[i].value;
	}
	return NULL;
}

static const char *find_wrong_label(const struct profile_record *r)
{
	if (r->label_count > PROFILE_LABELS_MAX)
		return "too many labels";
	for (size_t i = 0; i < r->label_count; i++) {
		const struct profile_label *l = &r->labels[i];
		if (!is_label_name(l->name, strlen(l->name)))
			return "a label's name is none";
		if (!is_label_value(l->value, strlen(l->value)))
			return "a label's value is empty, too long or no text";
		if (profile_record_label(r, l->name) != l->value)
			return "a label is given twice";
	}
	return profile_record_label(r, SERVICE_NAME) ? NULL : "no label " SERVICE_NAME;
}

/* NULL: nothing is wrong. */
static const char *find_wrong_part(const struct profile_record *r)
{
	if (!r->name || !is_label_name(r->name, strlen(r->name)))
		return "the kind of profile is no name";
	if (!r->from_ns || r->until_ns < r->from_ns)
		return "it ends before it begins";
	if (r->plain_bytes > PROFILE_PLAIN_MAX || r->len > PROFILE_PACKED_MAX)
		return "it is too long, and must be split";
	if (r->len < GZIP_HEAD || memcmp(r->data, gzip_head, GZIP_HEAD) != 0)
		return "its bytes are not packed by gzip";
	return find_wrong_label(r);
}

/* ---- encoding -------------------------------------------------------------------- */

static void put_profile_label(struct tlv_out *o, const struct profile_label *l)
{
	size_t name = strlen(l->name), value = strlen(l->value);
	unsigned char *p = tlv_put(o, F_LABEL, name + 1 + value);

	if (!p)
		return;
	memcpy(p, l->name, name);
	p[name] = '=';
	memcpy(p + name + 1, l->value, value);
}

static void put_profile_bytes(struct tlv_out *o, const unsigned char *data, size_t len)
{
	for (size_t n; len; data += n, len -= n) {
		n = len < PART_MAX ? len : PART_MAX;
		unsigned char *p = tlv_put(o, F_DATA, n);
		if (!p)
			return;
		memcpy(p, data, n);
	}
}

int profile_record_encode(const struct profile_record *r, void *buf, size_t size,
			  struct err *err)
{
	struct tlv_out o;
	const char *wrong = find_wrong_part(r);

	if (wrong)
		return err_set(err, -EINVAL, "profile: %s", wrong);
	int rc = tlv_begin(&o, buf, size, PROFILE_RECORD_TYPE);
	if (rc < 0)
		return err_set(err, rc, "profile: no room");
	tlv_put_number(&o, F_VERSION, PROFILE_RECORD_VERSION, 1);
	tlv_put_text(&o, F_NAME, r->name, PROFILE_LABEL_NAME_MAX);
	tlv_put_number(&o, F_FROM, r->from_ns, 8);
	tlv_put_number(&o, F_UNTIL, r->until_ns, 8);
	tlv_put_number(&o, F_SAMPLES, r->samples, 8);
	tlv_put_number(&o, F_PLAIN, r->plain_bytes, 8);
	for (size_t i = 0; i < r->label_count; i++)
		put_profile_label(&o, &r->labels[i]);
	put_profile_bytes(&o, r->data, r->len);
	return o.full ? err_set(err, -EMSGSIZE, "profile: no room for its %zu bytes",
				r->len)
		      : (int)o.len;
}

int profile_record_put(struct spool_writer *w, const struct profile_record *r,
		       struct err *err)
{
	size_t size = r->len + PROFILE_TOLD_BYTES;
	void *buf = r->len > PROFILE_PACKED_MAX ? NULL : malloc(size);
	int rc = buf ? profile_record_encode(r, buf, size, err)
		     : err_set(err, r->len > PROFILE_PACKED_MAX ? -EINVAL : -ENOMEM,
			       "profile: %zu bytes", r->len);

	if (rc < 0)
		spool_count_lost(w, SPOOL_INTERVAL, 1);
	else
		rc = spool_append(w, SPOOL_INTERVAL, buf, (size_t)rc, NULL, err);
	free(buf);
	return rc < 0 ? rc : 0;
}

/* ---- decoding -------------------------------------------------------------------- */

struct profile_in {
	struct profile_record r;
	char *memory, *next; /* texts from the front, */
	unsigned char *data; /* then bytes, to the end */
	uint64_t version;
	uint32_t seen; /* fields that may not be repeated */
};

static int bad_profile(struct err *err, const char *what)
{
	return err_set(err, -EPROTO, "profile record: %s", what);
}

static char *take_profile_text(struct profile_in *in, const void *s, size_t len)
{
	char *text = in->next;

	memcpy(text, s, len);
	text[len] = '\0';
	in->next += len + 1;
	return text;
}

static int take_profile_label(struct profile_in *in, const struct tlv_value *v,
			      struct err *err)
{
	const unsigned char *equals = memchr(v->data, '=', v->len);

	if (!equals || memchr(v->data, 0, v->len))
		return bad_profile(err, "field label: not name=value");
	if (in->r.label_count == PROFILE_LABELS_MAX)
		return bad_profile(err, "field label: too many");
	size_t name = (size_t)(equals - v->data);
	struct profile_label *l = &in->r.labels[in->r.label_count++];
	l->name = take_profile_text(in, v->data, name);
	l->value = take_profile_text(in, equals + 1, v->len - name - 1);
	return 0;
}

static int take_profile_number(struct profile_in *in, const struct tlv_value *v,
			       struct err *err)
{
	uint64_t *to[] = {[F_VERSION] = &in->version,
			  [F_FROM] = &in->r.from_ns,
			  [F_UNTIL] = &in->r.until_ns,
			  [F_SAMPLES] = &in->r.samples,
			  [F_PLAIN] = &in->r.plain_bytes};

	if (v->len != (v->id == F_VERSION ? 1u : 8u))
		return bad_profile(err, "a number has another length");
	*to[v->id] = tlv_get_le(v->data, v->len);
	return 0;
}

static int take_profile_field(struct profile_in *in, const struct tlv_value *v,
			      struct err *err)
{
	if (v->id == F_DATA) {
		memcpy(in->data + in->r.len, v->data, v->len);
		in->r.len += v->len;
		return 0;
	}
	if (v->id == F_LABEL)
		return take_profile_label(in, v, err);
	if (v->id < F_VERSION || v->id > F_DATA)
		return 0; /* of a later version */
	if (in->seen & 1u << v->id)
		return bad_profile(err, "a field is repeated");
	in->seen |= 1u << v->id;
	if (v->id != F_NAME)
		return take_profile_number(in, v, err);
	if (memchr(v->data, 0, v->len))
		return bad_profile(err, "field name: no text");
	in->r.name = take_profile_text(in, v->data, v->len);
	return 0;
}

static int take_profile_fields(struct profile_in *in, struct tlv_in *from,
			       struct err *err)
{
	struct tlv_value v;
	int rc;

	while ((rc = tlv_next(from, &v)) == 1) {
		rc = take_profile_field(in, &v, err);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return bad_profile(err, "cut short");
	if (in->version != PROFILE_RECORD_VERSION)
		return bad_profile(err, "of another version");
	in->r.data = in->data;
	const char *wrong = find_wrong_part(&in->r);
	return wrong ? bad_profile(err, wrong) : 0;
}

int profile_record_decode(const void *data, size_t len, struct profile_record *ret,
			  struct err *err)
{
	struct profile_in in = {.version = 0};
	struct tlv_in from;
	uint16_t type = 0;

	if (len > SPOOL_RECORD_MAX || tlv_open(&from, data, len, &type) < 0 ||
	    type != PROFILE_RECORD_TYPE)
		return bad_profile(err, "not one");
	/* texts take a byte more each than in the record, but their heads are left out;
	 * all bytes of the profile fit a second time */
	in.memory = malloc(2 * len + 2);
	if (!in.memory)
		return err_set(err, -ENOMEM, "profile record: out of memory");
	in.next = in.memory;
	in.data = (unsigned char *)in.memory + len + 1;
	int rc = take_profile_fields(&in, &from, err);
	if (rc < 0) {
		free(in.memory);
		return rc;
	}
	in.r.memory = in.memory;
	*ret = in.r;
	return 0;
}

void profile_record_done(struct profile_record *r)
{
	if (!r)
		return;
	free(r->memory);
	*r = (struct profile_record){.memory = NULL};
}
