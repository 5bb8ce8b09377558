/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON of Protocol Buffers (protobuf.dev, "ProtoJSON Format"), read strictly
 * (RFC 8259): trees of values from text, and text from trees. A reader of its own, as
 * one that makes a tree of any JSON first forgets names that are there twice. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lb/pyro_message.h"
#include "lib/parse.h"

struct reader {
	struct pyro_arena *arena;
	struct err *err;
	const char *text, *p, *end;
	unsigned depth;
};

static int broken(struct reader *r, const char *what)
{
	return err_set(r->err, -EINVAL, "JSON, byte %zu: %s", (size_t)(r->p - r->text),
		       what);
}

static void blanks(struct reader *r)
{
	while (r->p < r->end &&
	       (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

/* Takes c when it is next, behind blanks. */
static bool take(struct reader *r, char c)
{
	blanks(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static bool take_word(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	blanks(r);
	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

/* ---- strings --------------------------------------------------------------------- */

static int hex4(struct reader *r, uint32_t *ret)
{
	uint32_t v = 0;

	if (r->end - r->p < 4)
		return broken(r, "a string without end");
	for (unsigned i = 0; i < 4; i++) {
		char c = *r->p++, low = (char)(c | 32);

		if (c >= '0' && c <= '9')
			v = v * 16 + (uint32_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			v = v * 16 + (uint32_t)(low - 'a' + 10);
		else
			return broken(r, "a broken \\u");
	}
	*ret = v;
	return 0;
}

static char *put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		*out++ = (char)c;
		return out;
	}
	if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*out++ = (char)(0xe0 | c >> 12);
		} else {
			*out++ = (char)(0xf0 | c >> 18);
			*out++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*out++ = (char)(0x80 | (c & 0x3f));
	return out;
}

/* Behind "\u"; NUL and lone halves of a pair are no text. */
static int unicode(struct reader *r, char **out)
{
	uint32_t c, low;
	int rc = hex4(r, &c);

	if (rc)
		return rc;
	if (c >= 0xd800 && c < 0xdc00) {
		if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
			return broken(r, "half a surrogate pair");
		r->p += 2;
		rc = hex4(r, &low);
		if (rc)
			return rc;
		if (low < 0xdc00 || low > 0xdfff)
			return broken(r, "half a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (!c || (c >= 0xdc00 && c <= 0xdfff)) {
		return broken(r, "a NUL or half a surrogate pair");
	}
	*out = put_utf8(*out, c);
	return 0;
}

static int escape(struct reader *r, char **out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (r->p == r->end)
		return broken(r, "a string without end");
	if (*r->p == 'u') {
		r->p++;
		return unicode(r, out);
	}
	at = *r->p ? strchr(from, *r->p) : NULL;
	if (!at)
		return broken(r, "no such escape");
	r->p++;
	*(*out)++ = to[at - from];
	return 0;
}

/* Behind blanks; escapes only make it shorter. */
static int read_string(struct reader *r, struct str *ret)
{
	const char *stop;
	char *copy, *out;
	int rc = 0;

	if (!take(r, '"'))
		return broken(r, "a string belongs here");
	for (stop = r->p; stop < r->end && *stop != '"'; stop++)
		if (*stop == '\\')
			stop++;
	if (stop >= r->end)
		return broken(r, "a string without end");
	copy = out = pyro_alloc(r->arena, (size_t)(stop - r->p) + 1);
	if (!copy)
		return err_set(r->err, -ENOMEM, "out of memory");
	while (r->p < stop && !rc) {
		char c = *r->p++;

		if ((unsigned char)c < ' ')
			return broken(r, "a control character in a string");
		if (c == '\\')
			rc = escape(r, &out);
		else
			*out++ = c;
	}
	if (rc)
		return rc;
	r->p = stop + 1;
	if (!pyro_is_text(copy, (size_t)(out - copy)))
		return broken(r, "a string that is not UTF-8");
	*ret = (struct str){copy, (uint32_t)(out - copy)};
	return 0;
}

/* ---- numbers --------------------------------------------------------------------- */

static const char *digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Where the number at p ends (RFC 8259, 6); NULL: there is none */
static const char *number_end(const char *p, const char *end)
{
	const char *q;

	if (p < end && *p == '-')
		p++;
	q = digits(p, end);
	if (q == p || (*p == '0' && q > p + 1))
		return NULL;
	if (q < end && *q == '.') {
		p = q + 1;
		q = digits(p, end);
		if (q == p)
			return NULL;
	}
	if (q < end && (*q | 32) == 'e') {
		p = q + 1;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		q = digits(p, end);
		if (q == p)
			return NULL;
	}
	return q;
}

/* A number, or one in a string, as ProtoJSON has those of 64 bits */
static int read_digits(struct reader *r, char text[40])
{
	struct str s;
	int rc;

	blanks(r);
	if (r->p < r->end && *r->p == '"') {
		rc = read_string(r, &s);
		if (rc)
			return rc;
		if (number_end(s.p, s.p + s.len) != s.p + s.len)
			return broken(r, "not a number");
	} else {
		const char *stop = number_end(r->p, r->end);

		if (!stop)
			return broken(r, "a number belongs here");
		s = (struct str){r->p, (uint32_t)(stop - r->p)};
		r->p = stop;
	}
	if (s.len >= 40)
		return broken(r, "a number that is too long");
	memcpy(text, s.p, s.len);
	text[s.len] = '\0';
	return 0;
}

static int read_integer(struct reader *r, struct pyro_value *v)
{
	bool small = v->field->kind == PYRO_UINT32;
	char text[40];
	int rc = read_digits(r, text);

	if (rc)
		return rc;
	if (parse_s64(text, &v->integer) ||
	    (small && (v->integer < 0 || v->integer > UINT32_MAX)))
		return broken(r, "not a whole number of the field's size");
	return 0;
}

static int read_double(struct reader *r, struct pyro_value *v)
{
	char text[40];
	int rc = read_digits(r, text);

	if (rc)
		return rc;
	return parse_f64(text, &v->number) ? broken(r, "not a number") : 0;
}

static int read_enum(struct reader *r, struct pyro_value *v)
{
	const struct pyro_field *f = v->field;
	struct str name;
	int rc;

	blanks(r);
	if (r->p < r->end && *r->p == '"') {
		rc = read_string(r, &name);
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
	return err_set(r->err, -EINVAL,
		       "field \"%s\" has a value that is not known here", f->name);
}

/* ---- values ---------------------------------------------------------------------- */

static int read_message(struct reader *r, const struct pyro_type *type,
			struct pyro_message **ret);

static int read_value(struct reader *r, struct pyro_value *v)
{
	switch (v->field->kind) {
	case PYRO_STRING:
		return read_string(r, &v->string);
	case PYRO_MESSAGE:
		return read_message(r, v->field->type, &v->message);
	case PYRO_DOUBLE:
		return read_double(r, v);
	case PYRO_ENUM:
		return read_enum(r, v);
	case PYRO_BOOL:
		v->integer = take_word(r, "true");
		if (!v->integer && !take_word(r, "false"))
			return broken(r, "true or false belongs here");
		return 0;
	case PYRO_INT64:
	case PYRO_UINT32:
		break;
	}
	return read_integer(r, v);
}

static int read_list(struct reader *r, struct pyro_message *m,
		     const struct pyro_field *f)
{
	struct pyro_value *v;
	int rc = 0;

	if (!take(r, '['))
		return broken(r, "a list belongs here");
	if (take(r, ']'))
		return 0;
	do {
		rc = pyro_add(r->arena, m, f, &v, r->err);
		rc = rc ? rc : read_value(r, v);
	} while (!rc && take(r, ','));
	if (rc)
		return rc;
	return take(r, ']') ? 0 : broken(r, "a list without end");
}

/* What a name that is not known stands for: any JSON, of bounded depth */
static int skip(struct reader *r)
{
	const char *stop;
	struct str s;
	int rc = 0;

	if (++r->depth > PYRO_DEPTH_MAX)
		return err_set(r->err, -E2BIG, "JSON that is too deep");
	blanks(r);
	if (r->p < r->end && *r->p == '"') {
		rc = read_string(r, &s);
	} else if (take(r, '{')) {
		if (!take(r, '}')) {
			do {
				rc = read_string(r, &s);
				if (!rc && !take(r, ':'))
					rc = broken(r, "a colon belongs here");
				rc = rc ? rc : skip(r);
			} while (!rc && take(r, ','));
			if (!rc && !take(r, '}'))
				rc = broken(r, "an object without end");
		}
	} else if (take(r, '[')) {
		if (!take(r, ']')) {
			do
				rc = skip(r);
			while (!rc && take(r, ','));
			if (!rc && !take(r, ']'))
				rc = broken(r, "a list without end");
		}
	} else if (!take_word(r, "true") && !take_word(r, "false") &&
		   !take_word(r, "null")) {
		stop = number_end(r->p, r->end);
		if (!stop)
			return broken(r, "a value belongs here");
		r->p = stop;
	}
	r->depth--;
	return rc;
}

static const struct pyro_field *field_of(const struct pyro_type *t, struct str name)
{
	for (size_t i = 0; i < t->count; i++)
		if (str_eq(name, t->fields[i].name) || str_eq(name, t->fields[i].json))
			return &t->fields[i];
	return NULL;
}

/* seen: one bit for each field of the type, by its place in the table */
static int read_member(struct reader *r, struct pyro_message *m, uint32_t *seen)
{
	const struct pyro_field *f;
	struct pyro_value *v;
	struct str name;
	uint32_t bit;
	int rc = read_string(r, &name);

	if (rc)
		return rc;
	if (!take(r, ':'))
		return broken(r, "a colon belongs here");
	f = field_of(m->type, name);
	if (!f)
		return skip(r);
	bit = 1u << (f - m->type->fields);
	if (*seen & bit)
		return err_set(r->err, -EINVAL, "field \"%s\" is there twice", f->name);
	*seen |= bit;
	if (take_word(r, "null"))
		return 0;
	if (f->repeated)
		return read_list(r, m, f);
	rc = pyro_add(r->arena, m, f, &v, r->err);
	return rc ? rc : read_value(r, v);
}

static int read_message(struct reader *r, const struct pyro_type *type,
			struct pyro_message **ret)
{
	struct pyro_message *m = pyro_new(r->arena, type);
	uint32_t seen = 0;
	int rc = 0;

	if (!m)
		return err_set(r->err, -ENOMEM, "out of memory");
	if (++r->depth > PYRO_DEPTH_MAX)
		return err_set(r->err, -E2BIG, "JSON that is too deep");
	if (!take(r, '{'))
		return broken(r, "an object belongs here");
	*ret = m;
	if (!take(r, '}')) {
		do
			rc = read_member(r, m, &seen);
		while (!rc && take(r, ','));
		if (!rc && !take(r, '}'))
			rc = broken(r, "an object without end");
	}
	r->depth--;
	return rc;
}

int pyro_read_json(struct pyro_arena *a, const struct pyro_type *type, const char *text,
		   size_t len, struct pyro_message **ret, struct err *err)
{
	struct reader r = {
		.arena = a, .err = err, .text = text, .p = text, .end = text};
	int rc;

	if (len > PYRO_BODY_MAX)
		return err_set(err, -E2BIG, "a message of more than %u bytes",
			       PYRO_BODY_MAX);
	if (len)
		r.end += len;
	rc = read_message(&r, type, ret);
	if (rc)
		return rc;
	blanks(&r);
	return r.p == r.end ? 0 : broken(&r, "more behind its end");
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
	const struct pyro_field *list = NULL; /* that is open */
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
