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

static int store_nothing(void *arg, const struct buf *rows, struct err *err)
{
	(void)arg;
	(void)rows;
	(void)err;
	return 0;
}

/* However the answer is cut into pieces, the same comes out; and nothing that is not
 * one JSON object. */
static void check_roles(const char *text, size_t len, const struct cloud *cloud)
{
	struct keystone_roles r[2] = {{.cloud = cloud, .store = store_nothing},
				      {.cloud = cloud, .store = store_nothing}};
	const struct http_json_limits limits = {
		.bytes_max = 1u << 30, .depth_max = 20, .strict = true};
	auto_json struct json_object *whole = NULL;
	int rc[2] = {0, 0};

	for (size_t i = 0; i < len && rc[0] == 0; i++)
		rc[0] = keystone_roles_feed(&r[0], text + i, 1, NULL);
	rc[1] = keystone_roles_feed(&r[1], text, len, NULL);
	for (int i = 0; i < 2; i++)
		rc[i] = rc[i] ? rc[i] : keystone_roles_end(&r[i], NULL);
	if (rc[0] != rc[1] || (rc[0] == 0 && r[0].count != r[1].count))
		abort();
	if (rc[0] == 0) {
		if (http_json_object(text, len, &limits, &whole, NULL) < 0)
			abort();
		if (r[0].rows.len < KEYSTONE_ROWS_BYTES)
			check_rows(&r[0].rows, r[0].count);
	}
	keystone_roles_done(&r[0]);
	keystone_roles_done(&r[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *domains[] = {"Default"};
	const struct cloud cloud = {.login_domains = domains, .login_domain_count = 1};
	auto_buf struct buf b = {.max = 1u << 24};
	struct nova_page page = {.servers = 0};
	struct keystone_token token;
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
	if (data[0] == 'r')
		check_roles(text, len, &cloud);
	free(text);
	return 0;
}
