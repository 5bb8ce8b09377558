/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_CLIENT_URL_H
#define CEEMS_LIB_HTTP_CLIENT_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Checks for an absolute http or https URL with a host and without user, password,
 * fragment and control characters, at most 4 KiB: 0, else -EINVAL. */
int http_url_check(const char *url, struct err *err);

/* The parts of a URL that names a server: host is a name or an address without
 * brackets, port the scheme's default if the URL has none, path has no trailing
 * slash. */
struct http_url_parts {
	bool tls;
	uint16_t port;
	char host[256], path[512];
};

/* -EINVAL: http_url_check() fails, it has a query, or a part is too long or has
 * characters beyond those of names, addresses and plain paths. */
int http_url_split(const char *url, struct http_url_parts *ret, struct err *err);

/* Whether both have the same scheme, host and port. */
bool http_url_same_origin(const char *a, const char *b);

/* Appends text, escaped for a segment of a path or for a query's value. */
void http_url_put_escaped(struct buf *target, const char *text);

#endif
