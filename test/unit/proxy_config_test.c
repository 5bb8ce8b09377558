/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "redfish_proxy/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

static struct config c;
static struct err err;

static int parse(const char *text, bool expand)
{
	return config_parse(text, strlen(text), "p.yaml", expand, &c, &err);
}

static int done(void **state)
{
	(void)state;
	config_done(&c);
	return 0;
}

static void file_of_the_peer_is_taken(void **state)
{
	(void)state;
	assert_int_equal(parse("redfish_config:\n"
			       "  insecure_skip_verify: true\n"
			       "  follow_redirects: true\n"
			       "  enable_http2: true\n"
			       "  targets:\n"
			       "    - host_ip_addrs:\n"
			       "        - 192.168.1.1\n"
			       "        - 192.168.1.2\n"
			       "      url: http://172.16.0.1:5000\n"
			       "  allowed_api_resources:\n"
			       "    - ^/redfish/v1/$\n"
			       "    - ^/redfish/v1/Chassis/[a-zA-Z0-9-]+/Power$\n",
			       false),
			 0);
	assert_int_equal(c.target_count, 1);
	assert_int_equal(c.targets[0].addr_count, 2);
	assert_string_equal(c.targets[0].url, "http://172.16.0.1:5000");
	assert_true(c.tls.insecure);
	assert_int_equal(c.allow.count, 2);
	assert_int_equal(c.identity, IDENTITY_ADDRESS);
	assert_non_null(strstr(c.notes.data, "redfish_config: old name"));
	assert_non_null(
		strstr(c.notes.data, "follow_redirects: redirects are never followed"));
}

static void verification_is_on_unless_it_is_said(void **state)
{
	(void)state;
	assert_int_equal(parse("redfish_proxy: {}", false), 0);
	assert_false(c.tls.insecure);
	assert_int_equal(c.login.how, LOGIN_NONE);
	assert_int_equal(c.identity, IDENTITY_ADDRESS);
	assert_int_equal(c.target_count, 0);
	assert_true(c.allow.count > 5);
	assert_true(c.munge_check_origin);
	assert_true(c.munge_unbound);
}

static void login_is_a_session_unless_it_is_said(void **state)
{
	(void)state;
	assert_int_equal(parse("redfish_proxy:\n"
			       "  basic_auth: {username: a, password: b}\n"
			       "  targets:\n"
			       "    - {url: 'http://x', login: basic,"
			       " basic_auth: {username: c, password_file: /f}}\n"
			       "    - {url: 'http://y'}\n",
			       false),
			 0);
	assert_int_equal(c.login.how, LOGIN_SESSION);
	assert_true(c.has_secrets);
	assert_true(c.targets[0].own_login);
	assert_int_equal(c.targets[0].login.how, LOGIN_BASIC);
	assert_false(c.targets[1].own_login);
}

static void files_are_relative_to_the_folder_of_the_configuration(void **state)
{
	static const char text[] = "redfish_proxy:\n"
				   "  basic_auth: {username: a, password_file: pw}\n"
				   "  tls_config: {ca_file: d/ca, cert_file: /c, "
				   "key_file: ../k}\n";

	(void)state;
	assert_int_equal(
		config_parse(text, strlen(text), "/etc/x/p.yaml", false, &c, &err), 0);
	assert_string_equal(c.login.password_file, "/etc/x/pw");
	assert_string_equal(c.tls.ca_file, "/etc/x/d/ca");
	assert_string_equal(c.tls.cert_file, "/c");
	assert_string_equal(c.tls.key_file, "/etc/x/../k");
}

static void variables_are_expanded_in_values_only(void **state)
{
	(void)state;
	setenv("PROXY_TEST", "a: b\n#'\"", 1);
	assert_int_equal(parse("redfish_proxy:\n"
			       "  basic_auth: {username: $$x, password: "
			       "\"${PROXY_TEST}$PROXY_TEST\"}\n",
			       true),
			 0);
	assert_string_equal(c.login.user, "$x");
	assert_string_equal(c.login.password, "a: b\n#'\"a: b\n#'\"");
	config_done(&c);
	assert_int_equal(parse("redfish_proxy: {basic_auth: {username: $x}}", false),
			 0);
	assert_string_equal(c.login.user, "$x");
}

static void what_is_wrong_is_named_by_line(void **state)
{
	(void)state;
	static const char *const bad[][2] = {
		{"redfish_proxy: 1", "p.yaml:1: redfish_proxy: must be a mapping"},
		{"redfish_proxi: {}", "unknown key: redfish_proxi"},
		{"redfish_proxy: {}\nredfish_config: {}", "both redfish_proxy"},
		{"redfish_proxy:\n  target: []", ":2: unknown key: target"},
		{"redfish_proxy:\n  targets: {}", "must be a list"},
		{"redfish_proxy:\n  targets:\n    - {url: 'http://x/y'}",
		 ":3: not http"},
		{"redfish_proxy:\n  targets:\n    - {host_ip_addrs: [1.2.3.4]}",
		 ":3: a target needs a url"},
		{"redfish_proxy:\n  targets:\n    - {host_ip_addrs: [1.2.3], url: "
		 "'http://x'}",
		 ":3: not an IP address: 1.2.3"},
		{"redfish_proxy:\n  target_url: https://bmc", "{node} or {fqdn}"},
		{"redfish_proxy:\n  identity: [dns]", "address, tls or munge"},
		{"redfish_proxy:\n  trusted_proxies: [10.0.0.1/8]",
		 "not an address or range: 10.0.0.1/8"},
		{"redfish_proxy:\n  named_clients: [10.0.0.300]",
		 "not an address, range or node"},
		{"redfish_proxy:\n  allowed_api_resources: ['/a\\d+']",
		 "not a POSIX extended"},
		{"redfish_proxy:\n  oauth2: {}", "not supported: oauth2"},
		{"redfish_proxy:\n  proxy_url: http://x", "not supported: proxy_url"},
		{"redfish_proxy:\n  tls_config: {server_name: x}",
		 "not supported: server_name"},
		{"redfish_proxy:\n  tls_config: {cert_file: x}", "go together"},
		{"redfish_proxy:\n  basic_auth: {password: x}", "needs a username"},
		{"redfish_proxy:\n  basic_auth: {username: x, password: y, "
		 "password_file: z}",
		 "exclude each other"},
		{"redfish_proxy:\n  login: token", "none, basic or session"},
		{"redfish_proxy:\n  limits: {rate: 0}", "must be from 1 to"},
		{"redfish_proxy:\n  limits: {cache: 5}", "not a duration"},
		{"redfish_proxy:\n  limits: {caches: 5s}", "unknown key: caches"},
		{"redfish_proxy:\n  munge_users: [no-such-user-here]", "no such user"},
		{"redfish_proxy:\n  munge_hosts: ['a b']", "not HOST or HOST:PORT"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		if (parse(bad[i][0], false) == 0 || !strstr(err.text, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.text);
	}
}

static void variables_that_are_not_set_are_errors_everywhere(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"redfish_proxy: {named_clients: [$]}",
		"redfish_proxy: {trusted_proxies: ['${NOT_SET_HERE}']}",
		"redfish_proxy: {allowed_api_resources: [/a$]}",
		"redfish_proxy: {targets: [{host_ip_addrs: [$]}]}",
		"redfish_proxy: {munge_users: ['${x']}",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], true), -EINVAL);
}

static void messages_hold_no_password(void **state)
{
	(void)state;
	setenv("PROXY_TEST", "planted-secret", 1);
	static const char *const bad[] = {
		"redfish_proxy: {basic_auth: {password: planted-secret}}",
		"redfish_proxy: {basic_auth: {username: a, password: "
		"[planted-secret]}}",
		"redfish_proxy: {authorization: {type: planted-secret}}",
		"redfish_proxy: {basic_auth: {username: a, password: $PROXY_TEST,"
		" password_file: x}}",
		"redfish_proxy: {basic_auth: {username: a, password: "
		"'planted-secret${NOT_SET_HERE}'}}",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(parse(bad[i], true) < 0);
		assert_null(strstr(err.text, "planted-secret"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(file_of_the_peer_is_taken, done),
		cmocka_unit_test_teardown(verification_is_on_unless_it_is_said, done),
		cmocka_unit_test_teardown(login_is_a_session_unless_it_is_said, done),
		cmocka_unit_test_teardown(
			files_are_relative_to_the_folder_of_the_configuration, done),
		cmocka_unit_test_teardown(variables_are_expanded_in_values_only, done),
		cmocka_unit_test_teardown(what_is_wrong_is_named_by_line, done),
		cmocka_unit_test_teardown(
			variables_that_are_not_set_are_errors_everywhere, done),
		cmocka_unit_test_teardown(messages_hold_no_password, done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
