/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes of HTTP's header lines. */
#include "lib/http_text.h"

enum { VALUE = 1, TOKEN = 3 }; /* token characters are value characters too */

static const unsigned char kinds[256] = {
	['\t'] = VALUE,          [' '] = VALUE,
	['!'] = TOKEN,           ['"'] = VALUE,
	['#' ... '\''] = TOKEN,  ['(' ... ')'] = VALUE,
	['*' ... '+'] = TOKEN,   [','] = VALUE,
	['-' ... '.'] = TOKEN,   ['/'] = VALUE,
	['0' ... '9'] = TOKEN,   [':' ... '@'] = VALUE,
	['A' ... 'Z'] = TOKEN,   ['[' ... ']'] = VALUE,
	['^' ... 'z'] = TOKEN, /* ^ _ ` and letters */
	['{'] = VALUE,           ['|'] = TOKEN,
	['}'] = VALUE,           ['~'] = TOKEN,
	[0x80 ... 0xff] = VALUE,
};

static bool are_all(const char *s, size_t len, unsigned char kind)
{
	unsigned char all = kind;

	for (size_t i = 0; i < len; i++)
		all &= kinds[(unsigned char)s[i]];
	return all == kind;
}

bool http_text_is_token(const char *s, size_t len)
{
	return len > 0 && are_all(s, len, TOKEN);
}

bool http_text_is_value(const char *s, size_t len)
{
	return are_all(s, len, VALUE);
}
