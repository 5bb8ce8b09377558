/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "redfish_proxy/session.h"

#include <errno.h>

#include "redfish_proxy/bmc.h"
#include "test/unit/http_script.h"

/* A BMC that does as it is told, and what it was asked. */
struct world {
	struct http_script server;
	struct session *s;
	char asked[1024];
	const char *login, *login_body; /* headers, status line apart */
	unsigned login_status;
	unsigned refuse; /* so many GETs with a token are 401 */
};

static bool answer(void *arg, const char *request, struct buf *out)
{
	struct world *w = arg;
	size_t n = strlen(w->asked), len = strcspn(request, " ");

	assert_true(n + len + 2 <= sizeof(w->asked));
	memcpy(w->asked + n, request, len);
	memcpy(w->asked + n + len, " ", 2);
	if (strncmp(request, "POST", 4) == 0) {
		assert_non_null(strstr(request, "/redfish/v1/SessionService/Sessions"));
		assert_non_null(strstr(request, "\"UserName\":\"admin\""));
		assert_non_null(strstr(request, "\"Password\":\"planted \\\"pw\\\"\""));
		http_script_put(out, w->login_status, w->login, "{}");
	} else if (strncmp(request, "GET", 3) == 0 && w->refuse) {
		w->refuse--;
		http_script_put(out, 401, "", "{}");
	} else {
		http_script_put(out, 200, "Content-Type: application/json\r\n",
				"{\"a\":1}");
	}
	return true;
}

static const struct http_auth auth = {.user = "admin", .password = "planted \"pw\""};

static struct world w;

static int setup(void **state)
{
	const struct http_client_config config = {.timeout_ms = 5000};
	struct err err = {""};

	(void)state;
	memset(&w, 0, sizeof(w));
	w.login_status = 201;
	w.login = "X-Auth-Token: t0k3n\r\n"
		  "Location: /redfish/v1/SessionService/Sessions/7\r\n";
	http_script_start(&w.server, answer, &w);
	assert_int_equal(
		session_new(w.server.url, &config, REDFISH_SESSION, &auth, &w.s, &err),
		0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	session_free(w.s);
	http_script_stop(&w.server);
	return 0;
}

/* The result, without a secret in its text. */
static int get(void)
{
	auto_http_response struct http_response r = {0};
	struct err err = {""};
	int rc = session_get(w.s, "/redfish/v1/", &r, NULL, &err);

	assert_null(strstr(err.text, "planted"));
	assert_null(strstr(err.text, "t0k3n"));
	if (rc == 0 && r.status == 200)
		assert_string_equal(r.body.data, "{\"a\":1}");
	return rc;
}

static void session_is_made_once_and_deleted(void **state)
{
	(void)state;
	assert_int_equal(get(), 0);
	assert_int_equal(get(), 0);
	session_logout(w.s, 2000);
	assert_string_equal(w.asked, "POST GET GET DELETE ");
	session_logout(w.s, 2000);
	assert_string_equal(w.asked, "POST GET GET DELETE ");
	assert_int_equal(atomic_load(&w.server.connections), 1);
}

static void forgotten_session_is_made_anew_once(void **state)
{
	(void)state;
	assert_int_equal(get(), 0);
	w.refuse = 1;
	assert_int_equal(get(), 0);
	assert_string_equal(w.asked, "POST GET GET POST GET ");
}

static void refusal_of_a_fresh_session_ends_it(void **state)
{
	(void)state;
	w.refuse = 1000;
	assert_int_equal(get(), -EACCES);
	assert_string_equal(w.asked, "POST GET ");
	assert_int_equal(get(), -EACCES);
	assert_string_equal(w.asked, "POST GET ");
}

static void refused_login_is_not_tried_again_at_once(void **state)
{
	(void)state;
	w.login_status = 401;
	for (int i = 0; i < 5; i++)
		assert_int_equal(get(), -EACCES);
	assert_string_equal(w.asked, "POST ");
}

static void login_without_a_good_token_is_none(void **state)
{
	(void)state;
	static char huge[4096];
	w.login = "Location: /x\r\n";
	assert_int_equal(get(), -EBADMSG);
	snprintf(huge, sizeof(huge), "X-Auth-Token: %03000d\r\n", 0);
	teardown(NULL);
	setup(NULL);
	w.login = huge;
	assert_int_equal(get(), -EBADMSG);
	teardown(NULL);
	setup(NULL);
	w.login = "X-Auth-Token: a b\r\n";
	assert_int_equal(get(), -EBADMSG);
}

static void session_elsewhere_is_not_deleted_there(void **state)
{
	(void)state;
	static const char *const elsewhere[] = {
		"X-Auth-Token: t\r\nLocation: http://127.0.0.1:1/x\r\n",
		"X-Auth-Token: t\r\nLocation: //evil/x\r\n",
		"X-Auth-Token: t\r\nLocation: file:///x\r\n", "X-Auth-Token: t\r\n"};
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		w.login = elsewhere[i];
		assert_int_equal(get(), 0);
		session_logout(w.s, 2000);
		assert_null(strstr(w.asked, "DELETE"));
	}
}

static void basic_login_is_held_back_after_a_refusal(void **state)
{
	const struct http_client_config config = {.timeout_ms = 5000};

	(void)state;
	session_free(w.s);
	assert_int_equal(
		session_new(w.server.url, &config, REDFISH_AUTH, &auth, &w.s, NULL), 0);
	assert_int_equal(get(), 0);
	w.refuse = 1;
	assert_int_equal(get(), -EACCES);
	assert_int_equal(get(), -EACCES);
	assert_string_equal(w.asked, "GET GET ");
}

static void tokens_come_back_at_the_rate(void **state)
{
	(void)state;
	struct config c = {.limits = {.rate = 2, .burst = 3}};
	uint64_t s = 1000000000ull, now = 5 * s;
	struct bmc *b = bmc_new("http://x", &c, NULL, NULL, now);

	for (int i = 0; i < 3; i++)
		assert_true(bmc_take_token(b, &c.limits, now));
	assert_false(bmc_take_token(b, &c.limits, now));
	assert_false(bmc_take_token(b, &c.limits, now + s / 2 - 1000));
	assert_true(bmc_take_token(b, &c.limits, now + s / 2));
	assert_false(bmc_take_token(b, &c.limits, now + s / 2));
	now += 1000000 * s;
	for (int i = 0; i < 3; i++)
		assert_true(bmc_take_token(b, &c.limits, now));
	assert_false(bmc_take_token(b, &c.limits, now));
	bmc_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(session_is_made_once_and_deleted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(forgotten_session_is_made_anew_once,
						setup, teardown),
		cmocka_unit_test_setup_teardown(refusal_of_a_fresh_session_ends_it,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			refused_login_is_not_tried_again_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(login_without_a_good_token_is_none,
						setup, teardown),
		cmocka_unit_test_setup_teardown(session_elsewhere_is_not_deleted_there,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			basic_login_is_held_back_after_a_refusal, setup, teardown),
		cmocka_unit_test(tokens_come_back_at_the_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
