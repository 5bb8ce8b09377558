/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_TARGET_H
#define CEEMS_LIB_HTTP_TARGET_H

#include <stddef.h>

/* The path of a request target (RFC 9112, 3.2.1: origin-form), without its query, with
 * percent-escapes decoded. Accepts any text. 0, or -EINVAL: it does not begin with '/',
 * has a fragment or a broken escape, an escape that is not needed ("%71uery", "%2F",
 * "%25"), or holds a blank, a control character (%00 included) or bytes beyond ASCII;
 * -ENAMETOOLONG: longer than size - 1. Nothing is normalised: "//metrics" and
 * "/./metrics" are not "/metrics". */
int target_path(const char *target, char *ret, size_t size);

#endif
