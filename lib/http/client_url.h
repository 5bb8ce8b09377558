/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_CLIENT_URL_H
#define CEEMS_LIB_HTTP_CLIENT_URL_H

#include <stdbool.h>

#include "lib/err.h"

/* Absolute http or https URL with a host, without user, password, fragment and control
 * characters, at most 4 KiB: 0, else -EINVAL. */
int http_url_check(const char *url, struct err *err);

/* Do both have the same scheme, host and port? */
bool http_url_same_origin(const char *a, const char *b);

#endif
