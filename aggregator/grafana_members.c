/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Grafana says of a team. */
#include <errno.h>
#include <string.h>

#include "aggregator/grafana_members.h"
#include "lib/http/json.h"
#include "lib/identity/identity.h"

#define MEMBERS_MAX 10000u

int grafana_members(const char *text, size_t len, struct buf *ret, struct err *err)
{
	const struct http_json_limits limits = {
		.bytes_max = GRAFANA_BYTES_MAX, .depth_max = 8, .strict = true};
	auto_json struct json_object *list = NULL;
	int found = 0;
	int rc = http_json_array(text, len, &limits, &list, err);

	if (rc < 0)
		return rc;
	size_t n = json_object_array_length(list);
	if (n > MEMBERS_MAX)
		return err_set(err, -EBADMSG, "%zu members are too many", n);
	for (size_t i = 0; i < n; i++) {
		struct json_object *one = json_object_array_get_idx(list, i), *login;
		if (!json_object_is_type(one, json_type_object) ||
		    !json_object_object_get_ex(one, "login", &login) ||
		    !json_object_is_type(login, json_type_string))
			return err_set(err, -EBADMSG, "a member has no login");
		const char *s = json_object_get_string(login);
		if ((size_t)json_object_get_string_len(login) != strlen(s) ||
		    !identity_is_login(s))
			continue;
		buf_putc(ret, ',');
		buf_put_json(ret, s, strlen(s));
		found++;
	}
	return found;
}
