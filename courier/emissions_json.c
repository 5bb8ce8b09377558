/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of providers: strict, bounded, and with words that tell an operator what came
 * instead (a login page, half an answer) without repeating it. */
#include "courier/emissions_json.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "courier/emissions.h"
#include "lib/rfc3339.h"

#define DEPTH 16

int emissions_json_object(const char *text, size_t len, struct json_object **ret,
			  struct err *err)
{
	size_t blank = 0;

	if (len > EMISSIONS_BODY_MAX || len > INT_MAX)
		return err_set(err, -EBADMSG, "%zu bytes are too many", len);
	while (blank < len && strchr(" \t\r\n", text[blank]) && text[blank])
		blank++;
	if (blank == len)
		return err_set(err, -EBADMSG, "an empty answer");
	if (text[blank] == '<')
		return err_set(err, -EBADMSG, "a web page, not JSON");

	struct json_tokener *t = json_tokener_new_ex(DEPTH);
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	auto_json struct json_object *j = json_tokener_parse_ex(t, text, (int)len);
	enum json_tokener_error e = json_tokener_get_error(t);
	json_tokener_free(t);
	if (e == json_tokener_continue)
		return err_set(err, -EBADMSG, "JSON that ends too soon");
	if (e != json_tokener_success)
		return err_set(err, -EBADMSG, "not JSON: %s",
			       json_tokener_error_desc(e));
	if (!json_object_is_type(j, json_type_object))
		return err_set(err, -EBADMSG, "not a JSON object");
	*ret = j;
	j = NULL;
	return 0;
}

int emissions_json_get(struct json_object *object, const char *key, enum json_type type,
		       struct json_object **ret, struct err *err)
{
	struct json_object *v;

	if (!json_object_object_get_ex(object, key, &v))
		return err_set(err, -EBADMSG, "no \"%s\" in it", key);
	if (!json_object_is_type(v, type))
		return err_set(err, -EBADMSG, "\"%s\" is not of type %s", key,
			       json_type_to_name(type));
	*ret = v;
	return 0;
}

int emissions_json_text(struct json_object *object, const char *key, const char **ret,
			struct err *err)
{
	struct json_object *v;
	int rc = emissions_json_get(object, key, json_type_string, &v, err);

	if (rc < 0)
		return rc;
	const char *text = json_object_get_string(v);
	if (strlen(text) != (size_t)json_object_get_string_len(v))
		return err_set(err, -EBADMSG, "\"%s\" has a NUL in it", key);
	*ret = text;
	return 0;
}

int emissions_json_number(struct json_object *object, const char *key, double *ret,
			  struct err *err)
{
	struct json_object *v;

	if (!json_object_object_get_ex(object, key, &v))
		return err_set(err, -EBADMSG, "no \"%s\" in it", key);
	if (!json_object_is_type(v, json_type_int) &&
	    !json_object_is_type(v, json_type_double))
		return err_set(err, -EBADMSG, "\"%s\" is not a number", key);
	*ret = json_object_get_double(v);
	return 0;
}

int emissions_json_time(struct json_object *object, const char *key, uint64_t *ret_s,
			struct err *err)
{
	const char *text;
	int rc = emissions_json_text(object, key, &text, err);

	if (rc < 0)
		return rc;
	if (rfc3339_parse(text, ret_s) < 0)
		return err_set(err, -EBADMSG, "\"%s\" is not a time with a zone", key);
	return 0;
}
