/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regular expressions that only list strings, which are the only ones that a proof can
 * use. Anything ambiguous is refused. */
#include <errno.h>
#include <string.h>

#include "lb/promql/re.h"
#include "lib/buf.h"

static bool is_literal_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Whether all of [p, end) is one group. Only escapes can hide a bracket there, since
 * classes and \Q are refused later. */
static bool one_group(const char *p, const char *end)
{
	unsigned depth = 0;

	if (end - p < 2 || *p != '(')
		return false;
	for (; p < end; p++) {
		if (*p == '\\') {
			p++;
		} else if (*p == '(') {
			depth++;
		} else if (*p == ')' && --depth == 0) {
			return p + 1 == end;
		}
	}
	return false;
}

static bool ends_in_dollar(const char *p, const char *end)
{
	unsigned slashes = 0;

	if (p == end || end[-1] != '$')
		return false;
	for (const char *q = end - 1; q > p && q[-1] == '\\'; q--)
		slashes++;
	return slashes % 2 == 0;
}

int re_literals(const char *re, size_t len,
		int (*each)(void *arg, const char *s, size_t len), void *arg)
{
	const char *p = re, *end = re + len;
	auto_buf struct buf s = BUF_INIT;
	int count = 0, rc;

	buf_init(&s, len + 1);
	if (p < end && *p == '^')
		p++;
	if (ends_in_dollar(p, end))
		end--;
	if (one_group(p, end)) {
		p++;
		end--;
		if (end - p >= 2 && p[0] == '?' && p[1] == ':')
			p += 2;
	}
	for (;; p++) {
		if (p < end && *p != '|') {
			char c = *p;

			if (strchr("()[]{}*+?.^$", c) || !c)
				return -EINVAL;
			if (c == '\\') {
				/* an escaped letter or digit means something else */
				if (++p >= end || is_literal_alnum(*p) ||
				    (unsigned char)*p >= 0x80)
					return -EINVAL;
				c = *p;
			}
			buf_putc(&s, c);
			continue;
		}
		if (buf_error(&s))
			return buf_error(&s);
		rc = each(arg, s.data ? s.data : "", s.len);
		if (rc < 0)
			return rc;
		count++;
		buf_reset(&s);
		if (p >= end)
			return count;
	}
}
