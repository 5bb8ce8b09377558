/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON tokens, strictly, each scanned once. */
#include "lb/promql/json_read.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"

void json_reader_init(struct json_reader *r, const char *text, size_t len,
		      struct err *err)
{
	*r = (struct json_reader){.err = err, .text = text, .p = text, .end = text};
	if (len)
		r->end += len;
}

int json_broken(struct json_reader *r, const char *what)
{
	return err_set(r->err, -EINVAL, "JSON, byte %zu: %s", (size_t)(r->p - r->text),
		       what);
}

static void skip_json_blanks(struct json_reader *r)
{
	const char *begin = r->p;

	while (r->p < r->end &&
	       (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
	if (r->steps)
		r->steps->used += 1 + (size_t)(r->p - begin);
}

bool json_take(struct json_reader *r, char c)
{
	skip_json_blanks(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

bool json_take_word(struct json_reader *r, const char *word)
{
	size_t n = strlen(word);

	skip_json_blanks(r);
	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

bool json_at_string(struct json_reader *r)
{
	skip_json_blanks(r);
	return r->p < r->end && *r->p == '"';
}

int json_end(struct json_reader *r)
{
	skip_json_blanks(r);
	return r->p == r->end ? 0 : json_broken(r, "more after its end");
}

/* ---- strings --------------------------------------------------------------------- */

int json_raw_string(struct json_reader *r, struct str *ret)
{
	const char *begin;

	if (!json_take(r, '"'))
		return json_broken(r, "expected a string");
	begin = r->p;
	for (; r->p < r->end && *r->p != '"'; r->p++) {
		if ((unsigned char)*r->p < ' ')
			return json_broken(r, "a control character in a string");
		if (*r->p == '\\' && ++r->p == r->end)
			break;
	}
	if (r->p == r->end || r->p - begin > INT32_MAX)
		return json_broken(r, "unterminated string");
	*ret = (struct str){begin, (uint32_t)(r->p - begin)};
	r->p++;
	return steps_take(r->steps, ret->len, r->err);
}

struct escape {
	struct json_reader *r;
	const char *p, *end;
	char *out;
};

static int read_hex4(struct escape *e, uint32_t *ret)
{
	uint32_t v = 0;

	if (e->end - e->p < 4)
		return json_broken(e->r, "a broken \\u");
	for (unsigned i = 0; i < 4; i++) {
		char c = *e->p++, low = (char)(c | 32);

		if (c >= '0' && c <= '9')
			v = v * 16 + (uint32_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			v = v * 16 + (uint32_t)(low - 'a' + 10);
		else
			return json_broken(e->r, "a broken \\u");
	}
	*ret = v;
	return 0;
}

static char *write_json_utf8(char *out, uint32_t c)
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

/* After "\u"; NUL and unpaired surrogates are invalid. */
static int read_unicode_escape(struct escape *e)
{
	uint32_t c, low;
	int rc = read_hex4(e, &c);

	if (rc)
		return rc;
	if (c >= 0xd800 && c < 0xdc00) {
		if (e->end - e->p < 2 || e->p[0] != '\\' || e->p[1] != 'u')
			return json_broken(e->r, "an unpaired surrogate");
		e->p += 2;
		rc = read_hex4(e, &low);
		if (rc)
			return rc;
		if (low < 0xdc00 || low > 0xdfff)
			return json_broken(e->r, "an unpaired surrogate");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (!c || (c >= 0xdc00 && c <= 0xdfff)) {
		return json_broken(e->r, "a NUL or an unpaired surrogate");
	}
	e->out = write_json_utf8(e->out, c);
	return 0;
}

/* After a backslash. An escape is longer than its value, so writing never overtakes
 * reading. */
static int read_escape(struct escape *e)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = *e->p++;
	const char *at = c ? strchr(from, c) : NULL;

	if (c == 'u')
		return read_unicode_escape(e);
	if (!at)
		return json_broken(e->r, "unknown escape");
	*e->out++ = to[at - from];
	return 0;
}

int json_unescape(struct json_reader *r, struct str raw, char *to, uint32_t *ret_len)
{
	struct escape e = {r, raw.p, raw.p + raw.len, to};
	uint32_t len;
	int rc = 0;

	while (e.p < e.end && !rc) {
		char c = *e.p++;

		if (c == '\\')
			rc = read_escape(&e);
		else
			*e.out++ = c;
	}
	if (rc)
		return rc;
	len = (uint32_t)(e.out - to);
	if (!utf8_is_text(to, len))
		return json_broken(r, "a string that is not UTF-8");
	*ret_len = len;
	return steps_take(r->steps, raw.len, r->err);
}

/* ---- numbers --------------------------------------------------------------------- */

static const char *skip_json_digits(const char *p, const char *end)
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
	q = skip_json_digits(p, end);
	if (q == p || (*p == '0' && q > p + 1))
		return NULL;
	if (q < end && *q == '.') {
		p = q + 1;
		q = skip_json_digits(p, end);
		if (q == p)
			return NULL;
	}
	if (q < end && (*q | 32) == 'e') {
		p = q + 1;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		q = skip_json_digits(p, end);
		if (q == p)
			return NULL;
	}
	return q;
}

bool json_is_number(struct str s)
{
	return number_end(s.p, s.p + s.len) == s.p + s.len;
}

int json_number(struct json_reader *r, struct str *ret)
{
	const char *stop;

	skip_json_blanks(r);
	stop = number_end(r->p, r->end);
	if (!stop)
		return json_broken(r, "expected a number");
	*ret = (struct str){r->p, (uint32_t)(stop - r->p)};
	r->p = stop;
	return steps_take(r->steps, ret->len, r->err);
}

/* ---- nesting --------------------------------------------------------------------- */

int json_enter(struct json_reader *r)
{
	if (++r->depth > JSON_READ_DEPTH_MAX)
		return err_set(r->err, -E2BIG, "JSON nested too deeply");
	return 0;
}

void json_leave(struct json_reader *r)
{
	r->depth--;
}

static int skip_json_string(struct json_reader *r)
{
	char one[4];
	struct str s;
	int rc = json_raw_string(r, &s);
	struct escape e = {.r = r};

	if (rc)
		return rc;
	for (e.p = s.p, e.end = s.p + s.len; !rc && e.p < e.end;)
		if (*e.p++ == '\\') {
			e.out = one;
			rc = read_escape(&e);
		}
	if (!rc && !utf8_is_text(s.p, s.len))
		rc = json_broken(r, "a string that is not UTF-8");
	return rc;
}

static int skip_members(struct json_reader *r, char end, bool named)
{
	int rc = json_enter(r);

	if (!rc && json_take(r, end)) {
		json_leave(r);
		return 0;
	}
	while (!rc) {
		rc = named ? skip_json_string(r) : 0;
		if (!rc && named && !json_take(r, ':'))
			rc = json_broken(r, "expected a colon");
		rc = rc ? rc : json_skip(r);
		if (rc || !json_take(r, ','))
			break;
	}
	if (!rc && !json_take(r, end))
		rc = json_broken(r, "unterminated object or list");
	json_leave(r);
	return rc;
}

int json_skip(struct json_reader *r)
{
	struct str s;

	if (json_at_string(r))
		return skip_json_string(r);
	if (json_take(r, '{'))
		return skip_members(r, '}', true);
	if (json_take(r, '['))
		return skip_members(r, ']', false);
	if (json_take_word(r, "true") || json_take_word(r, "false") ||
	    json_take_word(r, "null"))
		return 0;
	return json_number(r, &s);
}
