/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_PATH_H
#define CEEMS_REDFISH_PROXY_PATH_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* What may be read of a BMC. There is one canonical text for each resource: it is what
 * the allow-list is compared with, what the cache is keyed by and what is sent on. */

#define PATH_BYTES_MAX 512

/* The canonical path of a request target as it came, in ret, of PATH_BYTES_MAX.
 * Escapes are decoded once; what they stood for is checked like any other character,
 * and only blanks and '#' are escaped again. -EINVAL: a query or fragment, a segment
 * that is empty (but the last), "." or "..", any of ; \ % and of what is not printable
 * ASCII, escaped or not; -ENAMETOOLONG. Total on any text. */
int path_clean(const char *target, char *ret);

/* Extended regular expressions, each compared with the whole path. */
struct path_allow {
	regex_t *list;
	size_t count;
};
#define PATH_ALLOW_MAX 256

/* Read-only power, energy and sensor resources, and what leads to them. */
extern const char *const path_allow_default[];

/* -EINVAL: not an extended regular expression (escapes like \d are Perl's), or too
 * many. */
int path_allow_add(struct path_allow *a, const char *pattern, struct err *err);
/* Thread safe. No pattern allows nothing. */
bool path_allowed(const struct path_allow *a, const char *path);
void path_allow_done(struct path_allow *a);

#endif
