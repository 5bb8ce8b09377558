/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of Nova and Keystone, or of what pretends to be them: rows come out that are
 * valid JSON and text, or an error. The first byte chooses the kind. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/openstack/keystone_json.h"
#include "aggregator/openstack/nova_json.h"
#include "lib/http/client.h"
#include "lib/http/json.h"
#include "lib/identity/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* identity.c has the rule, and half of the program with it. */
bool identity_is_login(const char *s)
{
	return *s && strlen(s) < 64;
}

static void check_rows(const struct buf *b, size_t n)
{
	const struct http_json_limits limits = {
		.bytes_max = 1u << 24, .depth_max = 4, .strict = true};
	auto_json struct json_object *list = NULL;

	if (!utf8_is_text(b->data, b->len) ||
	    http_json_array(b->data, b->len, &limits, &list, NULL) < 0 ||
	    json_object_array_length(list) != n)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *domains[] = {"Default"};
	const struct cloud cloud = {.login_domains = domains, .login_domain_count = 1};
	auto_buf struct buf b = {.max = 1u << 24};
	struct nova_page page = {.servers = 0};
	struct keystone_token token;
	size_t n = 0;
	unsigned minor;

	if (!size)
		return 0;
	char *text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	size_t len = size - 1;
	if (data[0] == 's' && nova_page_rows(text, len, &b, &page, NULL) == 0) {
		check_rows(&b, page.servers);
		if (page.more && strlen(page.last) != 36)
			abort();
	}
	if (data[0] == 'o' && nova_server_row(text, len, &b, &page, NULL) == 0)
		check_rows(&b, 1);
	if (data[0] == 'v')
		(void)nova_version(text, len, &minor, NULL);
	if (data[0] == 't' && keystone_token(text, len, &cloud, &token, NULL) == 0 &&
	    !token.lifetime_s)
		abort();
	if (data[0] == 'r' && keystone_roles(text, len, &cloud, &b, &n, NULL) == 0)
		check_rows(&b, n);
	free(text);
	return 0;
}
