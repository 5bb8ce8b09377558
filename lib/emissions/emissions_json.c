/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses providers' JSON: strict, bounded, and with the documented types. */
#include "lib/emissions/emissions_json.h"

#include <errno.h>
#include <string.h>

#include "lib/emissions/emissions.h"
#include "lib/rfc3339.h"

int emissions_json_object(const char *text, size_t len, struct json_object **ret,
			  struct err *err)
{
	static const struct http_json_limits limits = {
		.bytes_max = EMISSIONS_BODY_MAX, .depth_max = 16, .strict = true};

	return http_json_object(text, len, &limits, ret, err);
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
	const char *text = http_json_as_text(v);
	if (!text)
		return err_set(err, -EBADMSG, "\"%s\" has a NUL in it", key);
	*ret = text;
	return 0;
}

int emissions_json_number(struct json_object *object, const char *key, double *ret,
			  struct err *err)
{
	int rc = http_json_number(object, key, ret);

	if (rc == -ENOENT)
		return err_set(err, -EBADMSG, "no \"%s\" in it", key);
	return rc < 0 ? err_set(err, -EBADMSG, "\"%s\" is not a number", key) : 0;
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
