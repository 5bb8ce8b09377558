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
		struct json_object *login = http_json_get(
			json_object_array_get_idx(list, i), "login", json_type_string);
		if (!login)
			return err_set(err, -EBADMSG, "a member has no login");
		const char *s = http_json_as_text(login);
		if (!s || !identity_is_login(s))
			continue;
		buf_putc(ret, ',');
		buf_put_json(ret, s, strlen(s));
		found++;
	}
	return found;
}
