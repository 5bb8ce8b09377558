/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Request targets: one canonical path each, so that what is compared is what was
 * requested. */
#include "lib/http/target.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/parse.h"

/* Characters with the same meaning escaped or not (RFC 3986, 2.3), and those that would
 * change the path: two parsers would compare different texts. */
static bool needs_no_escape(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~/\\%", c));
}

int target_path(const char *target, char *ret, size_t size)
{
	size_t n = 0;

	/* a fragment belongs to the browser: parsers would disagree about where the
	 * path or the query ends */
	if (target[0] != '/' || strchr(target, '#'))
		return -EINVAL;
	for (const char *p = target; *p && *p != '?'; p++) {
		int c = (unsigned char)*p;
		if (c == ' ')
			return -EINVAL;
		if (c == '%') {
			int high = parse_hex_digit(p[1]);
			int low = high < 0 ? -1 : parse_hex_digit(p[2]);
			if (low < 0)
				return -EINVAL;
			c = high * 16 + low;
			if (needs_no_escape(c))
				return -EINVAL;
			p += 2;
		}
		if (c < 0x20 || c >= 0x7f)
			return -EINVAL;
		if (n + 1 >= size)
			return -ENAMETOOLONG;
		ret[n++] = (char)c;
	}
	ret[n] = '\0';
	return 0;
}
