/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of a team as Grafana, or what pretends to be it, says them: a list of logins
 * comes out that can be read, or an error. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/grafana_members.h"
#include "lib/http/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* identity.c has the rule, and half of the program with it. */
bool identity_is_login(const char *s)
{
	return *s && strlen(s) < 64;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct http_json_limits limits = {
		.bytes_max = GRAFANA_BYTES_MAX, .depth_max = 4, .strict = true};
	auto_buf struct buf b = {.max = GRAFANA_BYTES_MAX};
	auto_json struct json_object *list = NULL;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	buf_puts(&b, "[\"\"");
	int n = grafana_members(text, size, &b, NULL);
	free(text);
	buf_putc(&b, ']');
	if (n < 0 || buf_error(&b))
		return 0;
	if (http_json_array(b.data, b.len, &limits, &list, NULL) < 0 ||
	    json_object_array_length(list) != (size_t)n + 1)
		abort();
	return 0;
}
