/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of PromQL's numbers, durations and strings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lb/promql/promql_impl.h"

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* One escape at *p, after the backslash: its value, and whether it is a byte (else a
 * character). quote may be escaped too. */
int promql_unescape(const char **p, const char *end, char quote, uint32_t *ret,
		    bool *ret_byte)
{
	static const char from[] = "abfnrtv\\", to[] = "\a\b\f\n\r\t\v\\";
	unsigned n, base;
	uint32_t v = 0;
	const char *hit;
	char c;

	if (*p >= end)
		return -EINVAL;
	c = *(*p)++;
	*ret_byte = true;
	if (c == quote) {
		*ret = (unsigned char)c;
		return 0;
	}
	hit = c ? strchr(from, c) : NULL;
	if (hit) {
		*ret = (unsigned char)to[hit - from];
		return 0;
	}
	if (c >= '0' && c <= '7') {
		n = 3;
		base = 8;
		(*p)--;
	} else if (c == 'x' || c == 'u' || c == 'U') {
		n = c == 'x' ? 2 : c == 'u' ? 4 : 8;
		base = 16;
		*ret_byte = c == 'x';
	} else {
		return -EINVAL;
	}
	for (; n; n--) {
		int d = *p < end ? digit_value(**p) : 16;

		if ((unsigned)d >= base)
			return -EINVAL;
		v = v * base + (unsigned)d;
		(*p)++;
	}
	if (v > (*ret_byte ? 255u : 0x10ffffu) || (v >= 0xd800 && v < 0xe000))
		return -EINVAL;
	*ret = v;
	return 0;
}

int promql_duration(struct str text, int64_t *ret_ns, struct err *err)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {
		{"y", 31536000000}, {"w", 604800000}, {"d", 86400000}, {"h", 3600000},
		{"m", 60000},       {"s", 1000},      {"ms", 1},
	};
	const char *p = text.p, *end = text.p + text.len;
	uint64_t total_ns = 0;
	size_t u = 0;

	while (p < end) {
		bool digits = is_digit(*p);
		uint64_t v = 0;
		size_t n;

		for (; p < end && is_digit(*p); p++)
			v = v < UINT64_MAX / 10 ? v * 10 + (uint64_t)(*p - '0')
						: UINT64_MAX / 2;
		for (n = 0; p + n < end && !is_digit(p[n]); n++)
			;
		while (u < 7 &&
		       (strlen(units[u].name) != n || memcmp(units[u].name, p, n) != 0))
			u++;
		if (u == 7 || !digits)
			return err_set(err, -EINVAL,
				       "not a valid duration string: %.*s",
				       (int)text.len, text.p);
		if (v > INT64_MAX / units[u].ms / 1000000)
			return err_set(err, -EINVAL, "duration out of range");
		total_ns += v * units[u].ms * 1000000;
		if (total_ns > INT64_MAX)
			return err_set(err, -EINVAL, "duration out of range");
		u++;
		p += n;
	}
	*ret_ns = (int64_t)total_ns;
	return 0;
}

/* Underscores must be between digits, or between the base's prefix and a digit. */
static bool underscores_fit(const char *s, size_t n)
{
	bool hex = n >= 2 && s[0] == '0' && (s[1] | 32) == 'x';
	size_t i = hex ? 2 : 0;
	bool after_digit = hex;

	for (; i < n; i++) {
		bool digit = hex ? digit_value(s[i]) < 16 : is_digit(s[i]);

		if (s[i] == '_') {
			bool digit_follows =
				i + 1 < n &&
				(hex ? digit_value(s[i + 1]) < 16 : is_digit(s[i + 1]));
			if (!after_digit || !digit_follows)
				return false;
			after_digit = false;
		} else {
			after_digit = digit;
		}
	}
	return true;
}

/* As Go parses an integer with base 0, else a float: 0x is hexadecimal, a leading 0
 * octal if the digits allow it and it fits. */
int promql_number(struct str text, enum promql_dialect dialect, double *ret,
		  struct err *err)
{
	char s[512], *end;
	size_t n = 0;
	long long v;
	bool hex;

	if (text.len >= sizeof(s) ||
	    (memchr(text.p, '_', text.len) &&
	     (!promql_has(dialect, FEATURE_NUMBERS_AS_DURATIONS) ||
	      !underscores_fit(text.p, text.len))))
		goto bad;
	for (size_t i = 0; i < text.len; i++)
		if (text.p[i] != '_')
			s[n++] = text.p[i];
	s[n] = '\0';
	if (!strcasecmp(s, "inf")) {
		*ret = __builtin_inf();
		return 0;
	}
	if (!strcasecmp(s, "nan")) {
		*ret = __builtin_nan("");
		return 0;
	}
	hex = s[0] == '0' && (s[1] | 32) == 'x';
	errno = 0;
	v = strtoll(s, &end, 0);
	if (end != s && !*end && !errno) {
		*ret = (double)v;
		return 0;
	}
	if (hex)
		goto bad;
	errno = 0;
	*ret = strtod(s, &end);
	if (end == s || *end || __builtin_isinf(*ret))
		goto bad;
	return 0;
bad:
	return err_set(err, -EINVAL, "error parsing number: %.*s",
		       text.len < 64 ? (int)text.len : 64, text.p);
}

static size_t write_promql_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

int promql_unquote(struct promql *q, struct str quoted, struct str *ret,
		   struct err *err)
{
	const char *p = quoted.p + 1, *end = quoted.p + quoted.len - 1;
	char quote = quoted.p[0];
	char *out = promql_alloc(q, quoted.len); /* escapes never grow */
	size_t n = 0;

	if (!out)
		return err_set(err, -ENOMEM, "out of memory");
	while (p < end) {
		uint32_t v;
		bool byte;

		if (*p != '\\' || quote == '`') {
			out[n++] = *p++;
			continue;
		}
		p++;
		if (promql_unescape(&p, end, quote, &v, &byte))
			return err_set(err, -EINVAL, "error unquoting string");
		if (byte)
			out[n++] = (char)v;
		else
			n += write_promql_utf8(out + n, v);
	}
	ret->p = out;
	ret->len = (uint32_t)n;
	return 0;
}
