/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_CLIENT_URL_H
#define CEEMS_LIB_HTTP_CLIENT_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* Absolute http or https URL with a host, without user, password, fragment and control
 * characters, at most 4 KiB: 0, else -EINVAL. */
int http_url_check(const char *url, struct err *err);

/* The parts of one that names a server: host is a name or an address without brackets,
 * port the scheme's own where none is said, path without a slash at its end. */
struct http_url_parts {
	bool tls;
	uint16_t port;
	char host[256], path[512];
};

/* -EINVAL: not http_url_check(), or it has a query, or a part is too long or has other
 * characters than names, addresses and plain paths have. */
int http_url_split(const char *url, struct http_url_parts *ret, struct err *err);

/* Do both have the same scheme, host and port? */
bool http_url_same_origin(const char *a, const char *b);

#endif
