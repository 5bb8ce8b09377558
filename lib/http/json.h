/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_JSON_H
#define CEEMS_LIB_HTTP_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* The body of an HTTP answer that should be a single JSON object or list; it is not
 * trusted. A program that uses this lists json-c in _PKGS. */

#define HTTP_JSON_DEPTH_MAX 64 /* of nesting, where strict */

struct http_json_limits {
	size_t bytes_max; /* at most 1 GiB */
	int depth_max;    /* of nesting */
	bool strict;      /* strict UTF-8 and RFC 8259, whatever json-c's release */
};

/* The whole text must be one object, surrounding blanks apart. -EBADMSG describes what
 * came instead (a web page, half an answer) without quoting it; -ENOMEM. Free with
 * json_object_put(). */
int http_json_object(const char *text, size_t len, const struct http_json_limits *l,
		     struct json_object **ret, struct err *err);
/* The same for a list. */
int http_json_array(const char *text, size_t len, const struct http_json_limits *l,
		    struct json_object **ret, struct err *err);

static inline void cleanup_json(struct json_object **j)
{
	if (*j)
		json_object_put(*j);
}
#define auto_json __attribute__((cleanup(cleanup_json)))

#endif
