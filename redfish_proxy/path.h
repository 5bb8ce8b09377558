/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_PATH_H
#define CEEMS_REDFISH_PROXY_PATH_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* What may be read from a BMC. Each resource has one canonical path, which is compared
 * with the allow-list, used as the cache's key and sent to the BMC. */

#define PATH_BYTES_MAX 512

/* The canonical path of a request target, in ret (PATH_BYTES_MAX). Escapes are decoded
 * once; decoded characters are checked like all others, and only blanks and '#' are
 * escaped again. -EINVAL: a query or fragment, an empty segment (except the last), "."
 * or "..", any of ; \ % or anything but printable ASCII, escaped or not; -ENAMETOOLONG.
 * Accepts any text. */
int path_clean(const char *target, char *ret);

/* Extended regular expressions, each compared with the whole path. */
struct path_allow {
	regex_t *list;
	size_t count;
};
#define PATH_ALLOW_MAX 256

/* Power, energy and sensor resources, and those that lead to them. */
extern const char *const path_allow_default[];

/* -EINVAL: not an extended regular expression (escapes like \d are Perl's), or too
 * many. */
int path_allow_add(struct path_allow *a, const char *pattern, struct err *err);
/* Thread safe. Without patterns nothing is allowed. */
bool path_allowed(const struct path_allow *a, const char *path);
void path_allow_done(struct path_allow *a);

#endif
