/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of strangers: bounded in size and depth before anything is believed of it. */
#include "lib/http/json.h"

#include <errno.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 30) /* json-c counts in int */

static size_t blanks(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] && strchr(" \t\r\n", text[n]))
		n++;
	return n;
}

static int parse(const char *text, size_t len, const struct http_json_limits *l,
		 enum json_type type, struct json_object **ret, struct err *err)
{
	size_t begin = blanks(text, len);

	if (len > l->bytes_max || len > BYTES_MAX)
		return err_set(err, -EBADMSG, "%zu bytes are too many", len);
	if (begin == len)
		return err_set(err, -EBADMSG, "an empty answer");
	if (text[begin] == '<')
		return err_set(err, -EBADMSG, "a web page, not JSON");

	struct json_tokener *t = json_tokener_new_ex(l->depth_max);
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	json_tokener_set_flags(
		t, l->strict ? JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8 : 0);
	auto_json struct json_object *j = json_tokener_parse_ex(t, text, (int)len);
	enum json_tokener_error e = json_tokener_get_error(t);
	size_t end = json_tokener_get_parse_end(t);
	json_tokener_free(t);
	if (e == json_tokener_continue)
		return err_set(err, -EBADMSG, "JSON that ends too soon");
	if (e != json_tokener_success)
		return err_set(err, -EBADMSG, "not JSON: %s",
			       json_tokener_error_desc(e));
	if (end + blanks(text + end, len - end) < len)
		return err_set(err, -EBADMSG, "not JSON: more behind its end");
	if (!json_object_is_type(j, type))
		return err_set(err, -EBADMSG, "not a JSON %s", json_type_to_name(type));
	*ret = j;
	j = NULL;
	return 0;
}

int http_json_object(const char *text, size_t len, const struct http_json_limits *l,
		     struct json_object **ret, struct err *err)
{
	return parse(text, len, l, json_type_object, ret, err);
}

int http_json_array(const char *text, size_t len, const struct http_json_limits *l,
		    struct json_object **ret, struct err *err)
{
	return parse(text, len, l, json_type_array, ret, err);
}
