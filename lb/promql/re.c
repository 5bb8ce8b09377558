/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Analyses regular expressions of label matchers without running them. The rules are
 * those of Go's regexp/syntax (golang.org/s/re2syntax); anything missing here must be
 * refused, never accepted. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/re.h"
#include "lib/buf.h"
#include "lib/parse.h"

#define REPEAT_MAX 1000u

struct re {
	const char *p, *end;
	bool angle_names;
	unsigned depth;
	const char *colon; /* the first ":]" at or after colon_from; end: none */
	const char *colon_from;
	struct steps *steps;
	struct err *err;
};

static int refuse_pattern(struct re *r, const char *what)
{
	return err_set(r->err, -EINVAL, "error parsing regexp: %s", what);
}

static bool is_regex_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_regex_alnum(char c)
{
	return is_regex_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static uint32_t rune_at(const char *p, size_t n)
{
	uint32_t v;

	if (n == 1)
		return (unsigned char)*p;
	v = (unsigned char)*p & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		v = v << 6 | ((unsigned char)p[i] & 63);
	return v;
}

/* \x behind the x */
static int escaped_hex(struct re *r, uint32_t *ret)
{
	uint32_t v = 0;
	unsigned n = 0;

	if (r->p < r->end && *r->p == '{') {
		r->p++;
		for (; r->p < r->end && parse_hex_digit(*r->p) >= 0; n++) {
			v = v * 16 + (uint32_t)parse_hex_digit(*r->p++);
			if (v > 0x10ffff)
				return refuse_pattern(r, "invalid escape sequence");
		}
		if (!n || r->p >= r->end || *r->p++ != '}')
			return refuse_pattern(r, "invalid escape sequence");
	} else {
		for (; n < 2 && r->p < r->end && parse_hex_digit(*r->p) >= 0; n++)
			v = v * 16 + (uint32_t)parse_hex_digit(*r->p++);
		if (n < 2)
			return refuse_pattern(r, "invalid escape sequence");
	}
	*ret = v;
	return 0;
}

/* The value of a character after a backslash */
static int read_escaped_char(struct re *r, uint32_t *ret)
{
	static const char from[] = "afnrtv", to[] = "\a\f\n\r\t\v";
	const char *hit;
	uint32_t v = 0;
	char c;

	if (r->p >= r->end)
		return refuse_pattern(r, "trailing backslash at end of expression");
	c = *r->p++;
	if (c >= '0' && c <= '7') {
		if (c != '0' && (r->p >= r->end || *r->p < '0' || *r->p > '7'))
			return refuse_pattern(
				r, "invalid escape sequence"); /* back reference */
		v = (uint32_t)(c - '0');
		for (int i = 0; i < 2 && r->p < r->end && *r->p >= '0' && *r->p <= '7';
		     i++)
			v = v * 8 + (uint32_t)(*r->p++ - '0');
		*ret = v;
		return 0;
	}
	if (c == 'x')
		return escaped_hex(r, ret);
	hit = c ? strchr(from, c) : NULL;
	if (hit) {
		*ret = (unsigned char)to[hit - from];
		return 0;
	}
	if ((unsigned char)c >= 0x80 || is_regex_alnum(c))
		return refuse_pattern(r, "invalid escape sequence");
	*ret = (unsigned char)c;
	return 0;
}

/* \pL or \p{Greek}, after the p */
static int unicode_class(struct re *r)
{
	const char *begin = r->p, *close;

	if (r->p >= r->end)
		return refuse_pattern(r, "invalid character class range");
	if (*r->p != '{') {
		if (!strchr("CLMNPSZ", *r->p))
			return refuse_pattern(r, "invalid character class range");
		r->p++;
		return 0;
	}
	close = memchr(begin, '}', (size_t)(r->end - begin));
	if (!close)
		return refuse_pattern(r, "invalid character class range");
	begin++;
	if (begin < close && *begin == '^')
		begin++;
	if (begin == close)
		return refuse_pattern(r, "invalid character class range");
	for (; begin < close; begin++)
		if (!is_regex_alnum(*begin) && *begin != '_')
			return refuse_pattern(r, "invalid character class range");
	r->p = close + 1;
	return 0;
}

/* The first ":]" at or after from. from never decreases within an expression, so each
 * byte is scanned once. NULL: there is none. */
static const char *find_colon(struct re *r, const char *from)
{
	if (!r->colon_from || r->colon < from) {
		const char *hit = memmem(from, (size_t)(r->end - from), ":]", 2);

		r->colon = hit ? hit : r->end;
		r->colon_from = from;
		if (r->steps)
			r->steps->used += (size_t)(r->colon - from);
	}
	return r->colon < r->end ? r->colon : NULL;
}

/* [:alpha:] at r->p: 1: yes, 0: no */
static int posix_class(struct re *r)
{
	static const char *const names[] = {"alnum", "alpha", "ascii", "blank", "cntrl",
					    "digit", "graph", "lower", "print", "punct",
					    "space", "upper", "word",  "xdigit"};
	const char *begin = r->p + 2, *close;

	if (r->end - r->p < 4 || r->p[1] != ':')
		return 0;
	close = find_colon(r, begin);
	if (!close)
		return 0;
	if (begin < close && *begin == '^')
		begin++;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == (size_t)(close - begin) &&
		    memcmp(names[i], begin, (size_t)(close - begin)) == 0) {
			r->p = close + 2;
			return 1;
		}
	return refuse_pattern(r, "invalid character class range");
}

static int class_char(struct re *r, uint32_t *ret)
{
	size_t n;

	if (r->p >= r->end)
		return refuse_pattern(r, "missing closing ]");
	if (*r->p == '\\') {
		r->p++;
		return read_escaped_char(r, ret);
	}
	n = utf8_len(r->p, (size_t)(r->end - r->p));
	*ret = rune_at(r->p, n);
	r->p += n;
	return 0;
}

/* After "[" */
static int read_class(struct re *r)
{
	bool first = true;

	if (r->p < r->end && *r->p == '^')
		r->p++;
	for (;; first = false) {
		uint32_t lo, hi;
		int rc = steps_take(r->steps, 1, r->err);

		if (rc)
			return rc;
		if (r->p >= r->end)
			return refuse_pattern(r, "missing closing ]");
		if (*r->p == ']' && !first) {
			r->p++;
			return 0;
		}
		if (*r->p == '[') {
			rc = posix_class(r);
			if (rc < 0)
				return rc;
			if (rc)
				continue;
		}
		if (*r->p == '\\' && r->end - r->p >= 2 && strchr("pP", r->p[1]) &&
		    r->p[1]) {
			r->p += 2;
			rc = unicode_class(r);
			if (rc)
				return rc;
			continue;
		}
		if (*r->p == '\\' && r->end - r->p >= 2 && r->p[1] &&
		    strchr("dDsSwW", r->p[1])) {
			r->p += 2;
			continue;
		}
		rc = class_char(r, &lo);
		if (rc)
			return rc;
		if (r->end - r->p < 2 || r->p[0] != '-' || r->p[1] == ']')
			continue;
		r->p++;
		rc = class_char(r, &hi);
		if (rc)
			return rc;
		if (hi < lo)
			return refuse_pattern(r, "invalid character class range");
	}
}

/* (?P<name> or (?<name>, after the "<". Prometheus' engine accepts duplicate names. */
static int group_name(struct re *r)
{
	const char *begin = r->p;

	while (r->p < r->end && (is_regex_alnum(*r->p) || *r->p == '_'))
		r->p++;
	if (r->p == begin || r->p >= r->end || *r->p++ != '>')
		return refuse_pattern(r, "invalid named capture");
	return 0;
}

/* After "(?"; *ret_group: a group begins, else only flags were set */
static int group_head(struct re *r, bool *ret_group)
{
	bool minus = false, seen = false;

	*ret_group = true;
	if (r->end - r->p >= 2 && r->p[0] == 'P' && r->p[1] == '<') {
		r->p += 2;
		return group_name(r);
	}
	if (r->angle_names && r->p < r->end && *r->p == '<') {
		r->p++;
		return group_name(r);
	}
	while (r->p < r->end) {
		switch (*r->p++) {
		case 'i':
		case 'm':
		case 's':
		case 'U':
			seen = true;
			break;
		case '-':
			if (minus)
				return refuse_pattern(
					r, "invalid or unsupported Perl syntax");
			minus = true;
			seen = false;
			break;
		case ')':
			*ret_group = false;
			/* fall through */
		case ':':
			if (minus && !seen)
				return refuse_pattern(
					r, "invalid or unsupported Perl syntax");
			return 0;
		default:
			return refuse_pattern(r, "invalid or unsupported Perl syntax");
		}
	}
	return refuse_pattern(r, "missing closing )");
}

/* Digits of a repetition; -1: not a number, -2: far too large */
static long repeat_number(struct re *r)
{
	long v = 0;

	if (r->p >= r->end || !is_regex_digit(*r->p))
		return -1;
	if (r->end - r->p >= 2 && r->p[0] == '0' && is_regex_digit(r->p[1]))
		return -1;
	for (; r->p < r->end && is_regex_digit(*r->p); r->p++)
		v = v > 100000 ? v : v * 10 + (*r->p - '0');
	return v;
}

/* {n}, {n,}, {n,m} at r->p: 1 and the numbers (-1: no upper bound), 0: literal text */
static int repeat_counts(struct re *r, long *ret_min, long *ret_max)
{
	const char *begin = r->p++;
	long min = repeat_number(r), max = min;
	int rc;

	if (min >= 0 && r->p < r->end && *r->p == ',') {
		r->p++;
		max = -1;
		if (r->p < r->end && *r->p != '}') {
			max = repeat_number(r);
			if (max < 0)
				min = -1;
		}
	}
	rc = steps_take(r->steps, (size_t)(r->p - begin), r->err);
	if (rc)
		return rc;
	if (min < 0 || r->p >= r->end || *r->p != '}') {
		r->p = begin;
		return 0;
	}
	r->p++;
	if (min > (long)REPEAT_MAX || max > (long)REPEAT_MAX || (max >= 0 && min > max))
		return refuse_pattern(r, "invalid repeat count");
	*ret_min = min;
	*ret_max = max;
	return 1;
}

/* Facts about an expression: whether it matches "", and how often its innermost counted
 * repetition is repeated (1: none) */
struct known {
	bool empty;
	unsigned copies;
};

static int read_alternatives(struct re *r, bool in_group, struct known *ret);

/* After "(": 1 and the facts about the group, 0: it was only flags */
static int read_group(struct re *r, struct known *ret)
{
	bool is_group = true;
	int rc;

	if (r->p < r->end && *r->p == '?') {
		r->p++;
		rc = group_head(r, &is_group);
		if (rc || !is_group)
			return rc;
	}
	if (++r->depth > RE_DEPTH_MAX)
		return err_set(r->err, -E2BIG, "groups nested deeper than %u",
			       RE_DEPTH_MAX);
	rc = read_alternatives(r, true, ret);
	r->depth--;
	return rc < 0 ? rc : 1;
}

/* After a backslash outside of a class. \Q...\E: *ret_empty is unchanged. */
static int read_backslash(struct re *r, struct known *ret)
{
	uint32_t v;
	char c = (char)(r->p < r->end ? *r->p : '\0');

	switch (c) {
	case 'A':
	case 'z':
	case 'B':
	case 'b':
		r->p++;
		ret->empty = c != 'b';
		return 1;
	case 'C':
		return refuse_pattern(r, "invalid escape sequence");
	case 'Q':
		r->p++;
		ret->empty = true;
		while (r->p < r->end) {
			if (r->end - r->p >= 2 && r->p[0] == '\\' && r->p[1] == 'E') {
				r->p += 2;
				return ret->empty ? 0 : 1;
			}
			r->p++;
			ret->empty = false;
		}
		/* it would quote the anchor that the server appends */
		return refuse_pattern(r, "\\Q without \\E");
	case 'p':
	case 'P':
		r->p++;
		return unicode_class(r) ?: 1;
	case 'd':
	case 'D':
	case 's':
	case 'S':
	case 'w':
	case 'W':
		r->p++;
		return 1;
	default:
		return read_escaped_char(r, &v) ?: 1;
	}
}

/* One repeatable item: 1; 0: nothing repeatable (flags, an empty \Q\E) */
static int read_atom(struct re *r, struct known *ret)
{
	size_t n;

	*ret = (struct known){.empty = false, .copies = 1};
	switch (*r->p) {
	case '(':
		r->p++;
		return read_group(r, ret);
	case '[':
		r->p++;
		return read_class(r) ?: 1;
	case '^':
	case '$':
		r->p++;
		ret->empty = true;
		return 1;
	case '\\':
		r->p++;
		return read_backslash(r, ret);
	case '*':
	case '+':
	case '?':
		return refuse_pattern(r, "missing argument to repetition operator");
	default:
		n = utf8_len(r->p, (size_t)(r->end - r->p));
		r->p += n;
		return 1;
	}
}

/* * + ? {n,m} after an atom */
static int read_repetition(struct re *r, bool have_atom, struct known *k)
{
	bool repeated = false;

	while (r->p < r->end) {
		long min = *r->p == '+', max = *r->p == '?' ? 1 : -1;
		int rc = 1;

		if (*r->p == '{')
			rc = repeat_counts(r, &min, &max);
		else if (strchr("*+?", *r->p) && *r->p)
			r->p++;
		else
			return 0;
		if (rc < 0)
			return rc;
		if (!rc)
			return 0; /* a literal {: the next atom */
		if (!have_atom)
			return refuse_pattern(
				r, "missing argument to repetition operator");
		if (repeated)
			return refuse_pattern(r, "invalid nested repetition operator");
		if (r->p < r->end && *r->p == '?')
			r->p++;
		if (min >= 2 || max >= 2) {
			unsigned times = (unsigned)(max > min ? max : min);

			k->copies *= times;
			if (k->copies > REPEAT_MAX)
				return refuse_pattern(r, "invalid repeat count");
		}
		k->empty = k->empty || min == 0;
		repeated = true;
	}
	return 0;
}

static int read_regex_sequence(struct re *r, struct known *ret)
{
	bool have_atom = false;

	*ret = (struct known){.empty = true, .copies = 1};
	while (r->p < r->end && *r->p != '|' && *r->p != ')') {
		struct known k = {.empty = false, .copies = 1};
		const char *before = r->p;
		int rc;

		if (!have_atom && *r->p == '{') {
			long min, max;

			rc = repeat_counts(r, &min, &max);
			if (rc < 0)
				return rc;
			if (rc)
				return refuse_pattern(r,
						      "missing argument to repetition "
						      "operator");
		}
		rc = read_atom(r, &k);
		if (rc >= 0)
			rc = steps_take(r->steps, (size_t)(r->p - before), r->err)
				     ?: rc;
		if (rc < 0)
			return rc;
		if (!rc)
			k.empty = true;
		else
			have_atom = true;
		/* in Go, flags may not come between an atom and its repetition: the
		 * operator would apply to what precedes them; refused here */
		if (!rc && r->p < r->end && strchr("*+?{", *r->p) && *r->p &&
		    r->p > before)
			return refuse_pattern(r, "repetition behind flags");
		rc = read_repetition(r, rc > 0, &k);
		if (rc < 0)
			return rc;
		ret->empty = ret->empty && k.empty;
		if (k.copies > ret->copies)
			ret->copies = k.copies;
	}
	return 0;
}

/* a|b|c up to the end or, in a group, past its ")" */
static int read_alternatives(struct re *r, bool in_group, struct known *ret)
{
	*ret = (struct known){.empty = false, .copies = 1};
	for (;;) {
		struct known k;
		int rc = read_regex_sequence(r, &k);

		if (rc < 0)
			return rc;
		ret->empty = ret->empty || k.empty;
		if (k.copies > ret->copies)
			ret->copies = k.copies;
		if (r->p >= r->end)
			return in_group ? refuse_pattern(r, "missing closing )") : 0;
		if (*r->p++ == '|')
			continue;
		return in_group ? 0 : refuse_pattern(r, "unexpected )");
	}
}

int re_check(const char *re, size_t len, bool angle_names, bool *ret_empty,
	     struct steps *steps, struct err *err)
{
	struct re r = {.p = re,
		       .end = re + len,
		       .angle_names = angle_names,
		       .steps = steps,
		       .err = err};
	struct known k;
	int rc = steps_take(steps, len, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(re + i, len - i);

		if (!n)
			return refuse_pattern(&r, "invalid UTF-8");
		i += n;
	}
	rc = read_alternatives(&r, false, &k);
	if (rc)
		return rc;
	*ret_empty = k.empty;
	return 0;
}
