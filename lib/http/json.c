/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Untrusted JSON: size and depth are checked first. */
#include "lib/http/json.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"

#define BYTES_MAX ((size_t)1 << 30) /* json-c counts in int */

static size_t count_blanks(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (text[n] == ' ' || text[n] == '\t' || text[n] == '\r' ||
			   text[n] == '\n'))
		n++;
	return n;
}

/* ---- to the letter --------------------------------------------------------------- */

/* Strict RFC 8259, which json-c's own strict mode is not: 0.16 accepts control
 * characters in strings, 0.18 refuses everything beyond ASCII, and both accept some
 * invalid UTF-8. json-c has parsed the text by then. */
struct scan {
	const char *p, *end;
};

static bool skip_char(struct scan *s, char c)
{
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static bool skip_any(struct scan *s, const char *one_of)
{
	if (s->p == s->end || !*s->p || !strchr(one_of, *s->p))
		return false;
	s->p++;
	return true;
}

static bool skip_digits(struct scan *s)
{
	const char *begin = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > begin;
}

static bool skip_number(struct scan *s)
{
	skip_char(s, '-');
	if (!skip_char(s, '0') && !skip_digits(s))
		return false;
	if (skip_char(s, '.') && !skip_digits(s))
		return false;
	if (!skip_any(s, "eE"))
		return true;
	skip_any(s, "+-");
	return skip_digits(s);
}

/* after the opening quote */
static bool skip_scanned_string(struct scan *s)
{
	while (s->p < s->end && (unsigned char)*s->p >= ' ') {
		char c = *s->p++;
		if (c == '"')
			return true;
		if (c != '\\')
			continue;
		if (skip_char(s, 'u')) {
			for (int i = 0; i < 4; i++)
				if (!skip_any(s, "0123456789abcdefABCDEF"))
					return false;
		} else if (!skip_any(s, "\"\\/bfnrt")) {
			return false;
		}
	}
	return false;
}

static bool skip_scalar(struct scan *s)
{
	static const char *const words[] = {"true", "false", "null"};

	if (skip_char(s, '"'))
		return skip_scanned_string(s);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);
		if ((size_t)(s->end - s->p) >= n && memcmp(s->p, words[i], n) == 0) {
			s->p += n;
			return true;
		}
	}
	return skip_number(s);
}

static void skip_blanks(struct scan *s)
{
	s->p += count_blanks(s->p, (size_t)(s->end - s->p));
}

/* a member's name and the colon */
static bool skip_name(struct scan *s)
{
	skip_blanks(s);
	if (!skip_char(s, '"') || !skip_scanned_string(s))
		return false;
	skip_blanks(s);
	return skip_char(s, ':');
}

/* What follows a value: closes what ends, and stops before the next value. */
static bool end_values(struct scan *s, char *closing, int *depth)
{
	while (*depth > 0) {
		char close = closing[*depth - 1];
		skip_blanks(s);
		if (skip_char(s, ','))
			return close == ']' || skip_name(s);
		if (!skip_char(s, close))
			return false;
		(*depth)--;
	}
	return true;
}

static bool skip_scanned_value(struct scan *s)
{
	char closing[HTTP_JSON_DEPTH_MAX];
	int depth = 0;

	do {
		skip_blanks(s);
		bool object = skip_char(s, '{');
		if (object || skip_char(s, '[')) {
			char close = object ? '}' : ']';
			if (depth == HTTP_JSON_DEPTH_MAX)
				return false;
			skip_blanks(s);
			if (!skip_char(s, close)) {
				closing[depth++] = close;
				if (object && !skip_name(s))
					return false;
				continue;
			}
		} else if (!skip_scalar(s)) {
			return false;
		}
		if (!end_values(s, closing, &depth))
			return false;
	} while (depth > 0);
	return true;
}

static bool is_to_the_letter(const char *text, size_t len)
{
	struct scan s = {.p = text, .end = text + len};

	if (!utf8_is_text(text, len) || !skip_scanned_value(&s))
		return false;
	skip_blanks(&s);
	return s.p == s.end;
}

/* ---- picking --------------------------------------------------------------------- */

static const struct http_json_pick *find_pick(const struct http_json_pick *wants,
					      const char *quoted, size_t len)
{
	for (; wants->name; wants++) {
		size_t n = strlen(wants->name);
		if (len >= n + 2 && memcmp(quoted + 1, wants->name, n) == 0 &&
		    quoted[n + 1] == '"')
			return wants;
	}
	return NULL;
}

/* What stands for a value of which nothing is wanted: it keeps its type. */
static bool put_empty(struct scan *s, const char *empty, struct buf *ret)
{
	buf_puts(ret, empty);
	return skip_scanned_value(s);
}

static bool pick_scalar(struct scan *s, struct buf *ret)
{
	const char *begin = s->p;

	if (!skip_scalar(s))
		return false;
	if (s->p - begin > HTTP_JSON_PICK_TEXT_MAX)
		buf_puts(ret, "\"\"");
	else
		buf_put(ret, begin, (size_t)(s->p - begin));
	return true;
}

static bool pick_value(struct scan *s, const struct http_json_pick *want,
		       struct buf *ret);

/* after the opening brace */
static bool pick_members(struct scan *s, const struct http_json_pick *wants,
			 struct buf *ret)
{
	bool first = true;

	skip_blanks(s);
	if (skip_char(s, '}'))
		return true;
	do {
		skip_blanks(s);
		const char *name = s->p;
		if (!skip_name(s))
			return false;
		size_t len = (size_t)(s->p - name);
		const struct http_json_pick *w = find_pick(wants, name, len);
		if (w) {
			if (!first)
				buf_putc(ret, ',');
			first = false;
			buf_put(ret, name, len);
		}
		if (!(w ? pick_value(s, w, ret) : skip_scanned_value(s)))
			return false;
		skip_blanks(s);
	} while (skip_char(s, ','));
	return skip_char(s, '}');
}

static bool pick_object(struct scan *s, const struct http_json_pick *wants,
			struct buf *ret)
{
	buf_putc(ret, '{');
	bool good = skip_char(s, '{') && pick_members(s, wants, ret);
	buf_putc(ret, '}');
	return good;
}

/* after the opening bracket */
static bool pick_items(struct scan *s, const struct http_json_pick *want,
		       struct buf *ret)
{
	unsigned kept = 0;

	skip_blanks(s);
	if (skip_char(s, ']'))
		return true;
	do {
		skip_blanks(s);
		bool object = s->p < s->end && *s->p == '{' && kept < want->items_max;
		if (object && kept++)
			buf_putc(ret, ',');
		if (!(object ? pick_object(s, want->inner, ret)
			     : skip_scanned_value(s)))
			return false;
		skip_blanks(s);
	} while (skip_char(s, ','));
	return skip_char(s, ']');
}

static bool pick_value(struct scan *s, const struct http_json_pick *want,
		       struct buf *ret)
{
	skip_blanks(s);
	if (s->p == s->end || (*s->p != '{' && *s->p != '['))
		return pick_scalar(s, ret);
	if (*s->p == '{')
		return want->inner && !want->items_max
			       ? pick_object(s, want->inner, ret)
			       : put_empty(s, "{}", ret);
	if (!want->items_max)
		return put_empty(s, "[]", ret);
	s->p++;
	buf_putc(ret, '[');
	bool good = pick_items(s, want, ret);
	buf_putc(ret, ']');
	return good;
}

int http_json_pick(const char *text, size_t len, const struct http_json_pick *wants,
		   struct buf *ret, struct err *err)
{
	struct scan s = {.p = text, .end = text + len};

	skip_blanks(&s);
	bool good = pick_object(&s, wants, ret);
	skip_blanks(&s);
	if (!good || s.p != s.end)
		return err_set(err, -EBADMSG, "not a JSON object, or cut short");
	if (buf_error(ret) == -EFBIG)
		return err_set(err, -EFBIG, "what is read of it is too long");
	return buf_error(ret) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* ---- objects --------------------------------------------------------------------- */

static int parse_within_limits(const char *text, size_t len,
			       const struct http_json_limits *l, enum json_type type,
			       struct json_object **ret, struct err *err)
{
	size_t begin = count_blanks(text, len);

	if (len > l->bytes_max || len > BYTES_MAX)
		return err_set(err, -EBADMSG, "%zu bytes are too long", len);
	if (begin == len)
		return err_set(err, -EBADMSG, "an empty answer");
	if (text[begin] == '<')
		return err_set(err, -EBADMSG, "a web page, not JSON");

	struct json_tokener *t = json_tokener_new_ex(l->depth_max);
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	auto_json struct json_object *j = json_tokener_parse_ex(t, text, (int)len);
	enum json_tokener_error e = json_tokener_get_error(t);
	size_t end = json_tokener_get_parse_end(t);
	json_tokener_free(t);
	if (e == json_tokener_continue)
		return err_set(err, -EBADMSG, "JSON is cut short");
	if (e != json_tokener_success)
		return err_set(err, -EBADMSG, "not JSON: %s",
			       json_tokener_error_desc(e));
	if (end + count_blanks(text + end, len - end) < len)
		return err_set(err, -EBADMSG, "not JSON: extra text after its end");
	if (l->strict && !is_to_the_letter(text, len))
		return err_set(err, -EBADMSG, "not JSON as in RFC 8259");
	if (!json_object_is_type(j, type))
		return err_set(err, -EBADMSG, "not a JSON %s", json_type_to_name(type));
	*ret = j;
	j = NULL;
	return 0;
}

int http_json_object(const char *text, size_t len, const struct http_json_limits *l,
		     struct json_object **ret, struct err *err)
{
	return parse_within_limits(text, len, l, json_type_object, ret, err);
}

int http_json_array(const char *text, size_t len, const struct http_json_limits *l,
		    struct json_object **ret, struct err *err)
{
	return parse_within_limits(text, len, l, json_type_array, ret, err);
}
