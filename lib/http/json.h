/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_JSON_H
#define CEEMS_LIB_HTTP_JSON_H

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/err.h"

/* The body of an HTTP answer that should be a single JSON object or list; it is not
 * trusted. A program that uses this lists json-c in _PKGS. */

#define HTTP_JSON_DEPTH_MAX 256 /* of nesting, where strict or picked from */

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

#define HTTP_JSON_PICK_TEXT_MAX 4096

/* Members of an object that are wanted; the last one has no name. */
struct http_json_pick {
	const char *name;                   /* as it stands in the text, unescaped */
	const struct http_json_pick *inner; /* of the object that it is */
	unsigned items_max; /* not 0: it is a list of objects; the first of them */
};

/* Appends an object with nothing but these members: what is built of it is small,
 * however large or hostile the text is. Values keep their types: an object or a list
 * that is not looked into is empty, and so is a text longer than
 * HTTP_JSON_PICK_TEXT_MAX. -EBADMSG: it is no JSON object to the letter; -EFBIG: ret
 * has a limit; -ENOMEM. */
int http_json_pick(const char *text, size_t len, const struct http_json_pick *wants,
		   struct buf *ret, struct err *err);

/* A member of this type of an object; NULL: there is none, or o is not an object. o may
 * be NULL. Borrowed. */
static inline struct json_object *http_json_get(struct json_object *o, const char *name,
						enum json_type type)
{
	struct json_object *v = NULL;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, name, &v) || !json_object_is_type(v, type))
		return NULL;
	return v;
}

/* The same, of any type but null. */
static inline struct json_object *http_json_get_any(struct json_object *o,
						    const char *name)
{
	struct json_object *v = NULL;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, name, &v))
		return NULL;
	return v;
}

/* A value that is a text without NULs; NULL: something else. Borrowed. */
static inline const char *http_json_as_text(struct json_object *v)
{
	const char *s = json_object_is_type(v, json_type_string)
				? json_object_get_string(v)
				: NULL;

	return s && strlen(s) == (size_t)json_object_get_string_len(v) ? s : NULL;
}

static inline const char *http_json_text(struct json_object *o, const char *name)
{
	return http_json_as_text(http_json_get(o, name, json_type_string));
}

/* A number, whole or not, never a text that looks like one. -ENOENT: no such member;
 * -EINVAL: something else, null too. */
static inline int http_json_number(struct json_object *o, const char *name, double *ret)
{
	struct json_object *v = NULL;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, name, &v))
		return -ENOENT;
	if (!json_object_is_type(v, json_type_int) &&
	    !json_object_is_type(v, json_type_double))
		return -EINVAL;
	*ret = json_object_get_double(v);
	return 0;
}

/* A whole number from 0 to max. -ENOENT, -EINVAL: the same; -ERANGE. */
static inline int http_json_u64(struct json_object *o, const char *name, uint64_t max,
				uint64_t *ret)
{
	struct json_object *v = NULL;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, name, &v))
		return -ENOENT;
	if (!json_object_is_type(v, json_type_int))
		return -EINVAL;
	int64_t n = json_object_get_int64(v);
	if (n < 0 || (uint64_t)n > max)
		return -ERANGE;
	*ret = (uint64_t)n;
	return 0;
}

static inline void cleanup_json(struct json_object **j)
{
	if (*j)
		json_object_put(*j);
}
#define auto_json __attribute__((cleanup(cleanup_json)))

#endif
