/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ProtoJSON (protobuf.dev, "ProtoJSON Format"), parsed strictly: text to trees of
 * values and back. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lb/promql/json_read.h"
#include "lb/pyroscope/pyro_message.h"
#include "lib/parse.h"

struct pyro_json_reader {
	struct json_reader json;
	struct pyro_arena *arena;
};

static int read_json_string(struct pyro_json_reader *r, struct str *ret)
{
	struct str raw;
	char *copy;
	int rc = json_raw_string(&r->json, &raw);

	if (rc)
		return rc;
	copy = pyro_alloc(r->arena, (size_t)raw.len + 1);
	if (!copy)
		return err_set(r->json.err, -ENOMEM, "out of memory");
	ret->p = copy;
	return json_unescape(&r->json, raw, copy, &ret->len);
}

/* A number, or one in a string, as ProtoJSON writes 64-bit integers */
static int read_digits(struct pyro_json_reader *r, char text[40])
{
	struct str s;
	int rc;

	if (json_at_string(&r->json)) {
		rc = read_json_string(r, &s);
		if (!rc && !json_is_number(s))
			rc = json_broken(&r->json, "not a number");
	} else {
		rc = json_number(&r->json, &s);
	}
	if (rc)
		return rc;
	if (s.len >= 40)
		return json_broken(&r->json, "a number that is too long");
	memcpy(text, s.p, s.len);
	text[s.len] = '\0';
	return 0;
}

static int read_integer(struct pyro_json_reader *r, struct pyro_value *v)
{
	bool small = v->field->kind == PYRO_UINT32;
	char text[40];
	int rc = read_digits(r, text);

	if (rc)
		return rc;
	if (parse_s64(text, &v->integer) ||
	    (small && (v->integer < 0 || v->integer > UINT32_MAX)))
		return json_broken(&r->json, "not a whole number of the field's size");
	return 0;
}

static int read_double(struct pyro_json_reader *r, struct pyro_value *v)
{
	char text[40];
	int rc = read_digits(r, text);

	if (rc)
		return rc;
	return parse_f64(text, &v->number) ? json_broken(&r->json, "not a number") : 0;
}

static int read_enum(struct pyro_json_reader *r, struct pyro_value *v)
{
	const struct pyro_field *f = v->field;
	struct str name;
	int rc;

	if (json_at_string(&r->json)) {
		rc = read_json_string(r, &name);
		if (rc)
			return rc;
		for (uint32_t i = 0; i < f->value_count; i++)
			if (str_eq(name, f->values[i])) {
				v->integer = i;
				return 0;
			}
	} else {
		rc = read_integer(r, v);
		if (rc)
			return rc;
		if (v->integer >= 0 && v->integer < f->value_count)
			return 0;
	}
	return err_set(r->json.err, -EINVAL,
		       "field \"%s\" has a value that is not supported here", f->name);
}

/* ---- values ---------------------------------------------------------------------- */

static int read_json_message(struct pyro_json_reader *r, const struct pyro_type *type,
			     struct pyro_message **ret);

static int read_json_value(struct pyro_json_reader *r, struct pyro_value *v)
{
	switch (v->field->kind) {
	case PYRO_STRING:
		return read_json_string(r, &v->string);
	case PYRO_MESSAGE:
		return read_json_message(r, v->field->type, &v->message);
	case PYRO_DOUBLE:
		return read_double(r, v);
	case PYRO_ENUM:
		return read_enum(r, v);
	case PYRO_BOOL:
		v->integer = json_take_word(&r->json, "true");
		if (!v->integer && !json_take_word(&r->json, "false"))
			return json_broken(&r->json, "expected true or false");
		return 0;
	case PYRO_INT64:
	case PYRO_UINT32:
		break;
	}
	return read_integer(r, v);
}

static int read_list(struct pyro_json_reader *r, struct pyro_message *m,
		     const struct pyro_field *f)
{
	struct pyro_value *v;
	int rc = 0;

	if (!json_take(&r->json, '['))
		return json_broken(&r->json, "expected a list");
	if (json_take(&r->json, ']'))
		return 0;
	do {
		rc = pyro_add(r->arena, m, f, &v, r->json.err);
		rc = rc ? rc : read_json_value(r, v);
	} while (!rc && json_take(&r->json, ','));
	if (rc)
		return rc;
	return json_take(&r->json, ']') ? 0
					: json_broken(&r->json, "unterminated list");
}

static const struct pyro_field *find_json_field(const struct pyro_type *t,
						struct str name)
{
	for (size_t i = 0; i < t->count; i++)
		if (str_eq(name, t->fields[i].name) || str_eq(name, t->fields[i].json))
			return &t->fields[i];
	return NULL;
}

/* seen: one bit per field of the type, by its index in the table */
static int read_json_member(struct pyro_json_reader *r, struct pyro_message *m,
			    uint32_t *seen)
{
	const struct pyro_field *f;
	struct pyro_value *v;
	struct str name;
	uint32_t bit;
	int rc = read_json_string(r, &name);

	if (rc)
		return rc;
	if (!json_take(&r->json, ':'))
		return json_broken(&r->json, "expected a colon");
	f = find_json_field(m->type, name);
	if (!f)
		return json_skip(&r->json);
	bit = 1u << (f - m->type->fields);
	if (*seen & bit)
		return err_set(r->json.err, -EINVAL, "field \"%s\" appears twice",
			       f->name);
	*seen |= bit;
	if (json_take_word(&r->json, "null"))
		return 0;
	if (f->repeated)
		return read_list(r, m, f);
	rc = pyro_add(r->arena, m, f, &v, r->json.err);
	return rc ? rc : read_json_value(r, v);
}

static int read_json_message(struct pyro_json_reader *r, const struct pyro_type *type,
			     struct pyro_message **ret)
{
	struct pyro_message *m = pyro_new(r->arena, type);
	uint32_t seen = 0;
	int rc = 0;

	if (!m)
		return err_set(r->json.err, -ENOMEM, "out of memory");
	rc = json_enter(&r->json);
	if (rc)
		return rc;
	if (!json_take(&r->json, '{'))
		return json_broken(&r->json, "expected an object");
	*ret = m;
	if (!json_take(&r->json, '}')) {
		do
			rc = read_json_member(r, m, &seen);
		while (!rc && json_take(&r->json, ','));
		if (!rc && !json_take(&r->json, '}'))
			rc = json_broken(&r->json, "unterminated object");
	}
	json_leave(&r->json);
	return rc;
}

int pyro_read_json(struct pyro_arena *a, const struct pyro_type *type, const char *text,
		   size_t len, struct pyro_message **ret, struct err *err)
{
	struct pyro_json_reader r = {.arena = a};
	int rc;

	if (len > PYRO_BODY_MAX)
		return err_set(err, -E2BIG, "a message of more than %u bytes",
			       PYRO_BODY_MAX);
	json_reader_init(&r.json, text, len, err);
	r.json.steps = a->steps;
	rc = read_json_message(&r, type, ret);
	return rc ? rc : json_end(&r.json);
}

/* ---- writing --------------------------------------------------------------------- */

static void put_value(struct buf *out, const struct pyro_value *v)
{
	switch (v->field->kind) {
	case PYRO_STRING:
		buf_put_json(out, v->string.p, v->string.len);
		break;
	case PYRO_MESSAGE:
		pyro_write_json(v->message, out);
		break;
	case PYRO_DOUBLE:
		if (isfinite(v->number))
			buf_put_f64(out, v->number);
		else
			buf_puts(out, isnan(v->number) ? "\"NaN\""
				      : v->number < 0  ? "\"-Infinity\""
						       : "\"Infinity\"");
		break;
	case PYRO_ENUM:
		buf_printf(out, "\"%s\"", v->field->values[v->integer]);
		break;
	case PYRO_BOOL:
		buf_puts(out, v->integer ? "true" : "false");
		break;
	case PYRO_UINT32:
		buf_put_s64(out, v->integer);
		break;
	case PYRO_INT64:
		buf_putc(out, '"');
		buf_put_s64(out, v->integer);
		buf_putc(out, '"');
		break;
	}
}

void pyro_write_json(const struct pyro_message *m, struct buf *out)
{
	const struct pyro_field *list = NULL; /* the open one */
	bool first = true;

	buf_putc(out, '{');
	for (const struct pyro_value *v = m->values; v; v = v->next) {
		if (pyro_is_default(v) || v->field->role == PYRO_DROPPED)
			continue;
		if (list && v->field == list) {
			buf_putc(out, ',');
		} else {
			buf_printf(out, "%s%s\"%s\":%s", list ? "]" : "",
				   first ? "" : ",", v->field->json,
				   v->field->repeated ? "[" : "");
			list = v->field->repeated ? v->field : NULL;
		}
		first = false;
		put_value(out, v);
	}
	buf_puts(out, list ? "]}" : "}");
}
