/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Keystone is asked, and what it says. */
#include "aggregator/openstack/keystone_json.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

static struct err err;
static struct buf out;
static const char *domains[] = {"Default"};
static struct cloud cloud = {.login_domains = domains, .login_domain_count = 1};

static int done(void **state)
{
	(void)state;
	buf_done(&out);
	return 0;
}

#define ROLE(user, domain, role)                                                       \
	"{\"user\": {\"id\": \"" user "-id\", \"name\": \"" user                       \
	"\", \"domain\": {\"id\": \"d\", \"name\": \"" domain "\"}}, "                 \
	"\"scope\": {\"project\": {\"id\": \"p\", \"name\": \"web\", \"domain\": "     \
	"{\"id\": \"default\", \"name\": \"Default\"}}}, \"role\": {\"name\": \"" role \
	"\"}}"

static unsigned stored;

/* All rows together, as one list. */
static int store_rows(void *arg, const struct buf *rows, struct err *e)
{
	(void)arg;
	(void)e;
	assert_in_range(rows->len, KEYSTONE_ROWS_BYTES, KEYSTONE_ROWS_BYTES + 8192);
	assert_true(rows->data[0] == '[' && rows->data[rows->len - 1] == ']');
	stored++;
	return 0;
}

static int roles(const char *text, size_t *n)
{
	struct keystone_roles r = {.cloud = &cloud, .store = store_rows};
	int rc = 0;

	buf_reset(&out);
	for (const char *p = text; *p && rc == 0; p++) /* in pieces of a byte */
		rc = keystone_roles_feed(&r, p, 1, &err);
	rc = rc ? rc : keystone_roles_end(&r, &err);
	if (rc == 0) {
		buf_put(&out, r.rows.data, r.rows.len);
		*n = r.count;
	}
	keystone_roles_done(&r);
	return rc;
}

static void names_of_some_domains_are_logins(void **state)
{
	size_t n = 0;

	(void)state;
	assert_int_equal(
		roles("{\"role_assignments\": [" ROLE(
			      "alice", "Default", "member") "," ROLE("alice", "other",
								     "member") "]}",
		      &n),
		0);
	assert_int_equal(n, 2);
	assert_string_equal(
		out.data,
		"[{\"role\":\"member\",\"user\":\"alice-id\",\"user_name\":\"alice\","
		"\"user_domain\":\"Default\",\"login\":\"alice\",\"project\":\"p\","
		"\"project_name\":\"web\",\"project_domain\":\"Default\"},"
		"{\"role\":\"member\",\"user\":\"alice-id\",\"user_name\":\"alice\","
		"\"user_domain\":\"other\",\"project\":\"p\","
		"\"project_name\":\"web\",\"project_domain\":\"Default\"}]");
}

static void a_name_that_is_no_login_is_none(void **state)
{
	size_t n = 0;

	(void)state;
	assert_int_equal(
		roles("{\"role_assignments\": [" ROLE("a b", "Default", "member") "]}",
		      &n),
		0);
	assert_null(strstr(out.data, "login"));
}

static void the_site_says_which_roles_count(void **state)
{
	static const char *admins[] = {"boss"}, *members[] = {"member"};
	size_t n = 0;
	const char *text = "{\"role_assignments\": [" ROLE("a", "x", "boss") "," ROLE(
		"b", "x", "member") "," ROLE("c", "x", "reader") "]}";

	(void)state;
	assert_int_equal(roles(text, &n), 0);
	assert_int_equal(n, 3);
	assert_null(strstr(out.data, "\"admin\""));
	cloud.admin_roles = admins;
	cloud.member_roles = members;
	cloud.admin_role_count = cloud.member_role_count = 1;
	assert_int_equal(roles(text, &n), 0);
	assert_int_equal(n, 2);
	assert_non_null(strstr(out.data, "{\"role\":\"admin\",\"user\":\"a-id\""));
	assert_null(strstr(out.data, "c-id"));
	cloud.admin_role_count = cloud.member_role_count = 0;
}

static void a_list_that_would_end_all_rights_is_not_believed(void **state)
{
	size_t n = 9;

	(void)state;
	assert_int_equal(roles("{\"role_assignments\": []}", &n), -EBADMSG);
	assert_int_equal(roles("{\"role_assignments\": [{}, {\"user\": 5}]}", &n),
			 -EBADMSG);
	assert_int_equal(
		roles("{\"role_assignments\": [1, " ROLE("a", "x", "member") "]}", &n),
		-EBADMSG);
	assert_int_equal(roles("{}", &n), -EBADMSG);
	assert_int_equal(roles("{\"truncated\": true, \"role_assignments\": [" ROLE(
				       "a", "x", "member") "]}",
			       &n),
			 -EBADMSG);
	assert_int_equal(n, 9);
}

static int refuse_rows(void *arg, const struct buf *rows, struct err *e)
{
	(void)arg;
	(void)rows;
	return err_set(e, -EIO, "the database is gone");
}

/* 64 MiB, more than what was ever read whole, through one of the size of an element */
static void a_list_of_any_length_is_stored_in_parts(void **state)
{
	static const char one[] = ROLE("alice", "Default", "member") ",\n";
	struct keystone_roles r = {.cloud = &cloud, .store = store_rows}, bad;
	size_t n = ((size_t)64 << 20) / (sizeof(one) - 1) + 1;

	(void)state;
	stored = 0;
	bad = (struct keystone_roles){.cloud = &cloud, .store = refuse_rows};
	assert_int_equal(keystone_roles_feed(&r, "{\"role_assignments\": [", 22, &err),
			 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(keystone_roles_feed(&r, one, sizeof(one) - 1, &err),
				 0);
	/* cut here it would be no answer */
	assert_int_equal(keystone_roles_end(&r, &err), -EBADMSG);
	assert_int_equal(keystone_roles_feed(&r, one, sizeof(one) - 3, &err), 0);
	assert_int_equal(keystone_roles_feed(&r, "]}", 2, &err), 0);
	assert_int_equal(keystone_roles_end(&r, &err), 0);
	assert_int_equal(r.count, n + 1);
	assert_in_range(stored, 20, 64);
	assert_true(r.rows.cap <= 2 * KEYSTONE_ROWS_BYTES);
	assert_true(r.list.text.cap + r.list.rest.cap < 4096);
	keystone_roles_done(&r);

	int rc = keystone_roles_feed(&bad, "{\"role_assignments\": [", 22, &err);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = keystone_roles_feed(&bad, one, sizeof(one) - 1, &err);
	assert_int_equal(rc, -EIO);
	assert_string_equal(err.text, "the database is gone");
	keystone_roles_done(&bad);
}

#define TOKEN(times) "{\"token\": {" times ", \"catalog\": [" CATALOGUE "]}}"
#define CATALOGUE                                                                      \
	"{\"type\": \"image\", \"endpoints\": [{\"interface\": \"public\", "           \
	"\"region_id\": \"R1\", \"url\": \"http://image\"}]}, {\"type\": "             \
	"\"compute\", "                                                                \
	"\"endpoints\": [{\"interface\": \"admin\", \"region_id\": \"R1\", \"url\": "  \
	"\"http://a/v2.1\"}, {\"interface\": \"public\", \"region_id\": \"R1\", "      \
	"\"url\": \"http://r1/v2.1\"}, {\"interface\": \"public\", \"region_id\": "    \
	"\"R2\", \"url\": \"http://r2/v2.1\"}]}"
#define TIMES                                                                          \
	"\"issued_at\": \"2026-11-23T23:31:09.000000Z\", \"expires_at\": "             \
	"\"2026-11-24T00:31:09.000000Z\""

static void a_token_lasts_by_its_own_clock(void **state)
{
	const char *good = TOKEN(TIMES),
		   *never = TOKEN("\"issued_at\": \"2026-11-23T23:31:09Z\", "
				  "\"expires_at\": \"2026-11-23T23:31:09Z\"");
	struct keystone_token t;

	(void)state;
	assert_int_equal(keystone_token(good, strlen(good), &cloud, &t, &err), 0);
	assert_int_equal(t.lifetime_s, 3600);
	assert_string_equal(t.compute, "http://r1/v2.1");
	assert_int_equal(keystone_token(never, strlen(never), &cloud, &t, &err),
			 -EBADMSG);
}

static void the_region_and_the_interface_choose_the_endpoint(void **state)
{
	const char *good = TOKEN(TIMES);
	struct keystone_token t;

	(void)state;
	cloud.region = "R2";
	assert_int_equal(keystone_token(good, strlen(good), &cloud, &t, &err), 0);
	assert_string_equal(t.compute, "http://r2/v2.1");
	cloud.interface = CLOUD_ADMIN;
	assert_int_equal(keystone_token(good, strlen(good), &cloud, &t, &err), 0);
	assert_string_equal(t.compute, "");
	cloud.region = NULL;
	assert_int_equal(keystone_token(good, strlen(good), &cloud, &t, &err), 0);
	assert_string_equal(t.compute, "http://a/v2.1");
	cloud.interface = CLOUD_PUBLIC;
}

static void keystone_is_asked_as_it_wants(void **state)
{
	struct cloud_auth a = {.user = {.name = "ceems",
					.password = "se\"cret",
					.domain = {.name = "Default"}},
			       .scope = {.project_name = "admin",
					 .project_domain = {.id = "default"}}};
	struct cloud_auth b = {.application = {.id = "x", .secret = "y"},
			       .application_line = 3};

	(void)state;
	buf_reset(&out);
	assert_int_equal(keystone_auth_body(&a, &out, &err), 0);
	assert_string_equal(
		out.data,
		"{\"auth\":{\"identity\":{\"methods\":[\"password\"],\"password\":{"
		"\"user\":{\"name\":\"ceems\",\"domain\":{\"name\":\"Default\"},"
		"\"password\":\"se\\\"cret\"}}},\"scope\":{\"project\":{\"name\":"
		"\"admin\",\"domain\":{\"id\":\"default\"}}}}}");
	buf_reset(&out);
	assert_int_equal(keystone_auth_body(&b, &out, &err), 0);
	assert_string_equal(out.data,
			    "{\"auth\":{\"identity\":{\"methods\":[\"application_"
			    "credential\"],\"application_credential\":{\"id\":\"x\","
			    "\"secret\":\"y\"}}}}");
	a.user.password_file = "/nonexistent/password";
	assert_int_equal(keystone_auth_body(&a, &out, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_some_domains_are_logins),
		cmocka_unit_test(a_name_that_is_no_login_is_none),
		cmocka_unit_test(the_site_says_which_roles_count),
		cmocka_unit_test(a_list_that_would_end_all_rights_is_not_believed),
		cmocka_unit_test(a_list_of_any_length_is_stored_in_parts),
		cmocka_unit_test(a_token_lasts_by_its_own_clock),
		cmocka_unit_test(the_region_and_the_interface_choose_the_endpoint),
		cmocka_unit_test(keystone_is_asked_as_it_wants),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
