/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "courier/redfish_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fs.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

static struct err err;

static int parse(const char *text, struct redfish_config *c)
{
	err.text[0] = '\0';
	return redfish_config_parse(text, strlen(text), "/etc/ceems/f.yaml", c, &err);
}

static void the_peers_keys_are_taken(void **state)
{
	(void)state;
	struct redfish_config c;
	assert_int_equal(
		parse("redfish_web_config:\n"
		      "  protocol: http\n"
		      "  hostname: \"{hostname}-bmc\"\n"
		      "  port: 8443\n"
		      "  username: u\n"
		      "  password: p\n"
		      "  use_session_token: false\n"
		      "  timeout: 7000\n"
		      "  external_url: https://proxy:5000\n"
		      "  insecure_skip_verify: true\n"
		      "  tls_config: {ca_file: ca.pem, cert_file: /c, key_file: k, "
		      "min_version: TLS13}\n"
		      "  http_headers: {X-A: {values: [a, b], secrets: [s], files: "
		      "[f]}}\n"
		      "  enable_http2: true\n"
		      "  follow_redirects: false\n",
		      &c),
		0);
	assert_true(c.old_name && c.has_secret && c.insecure);
	assert_false(c.use_session_token || c.follow_redirects);
	assert_int_equal(c.timeout_ms, 7000);
	assert_int_equal(c.tls_min, 13);
	/* paths begin at the folder of the file */
	assert_string_equal(c.ca_file, "/etc/ceems/ca.pem");
	assert_string_equal(c.cert_file, "/c");
	assert_int_equal(c.header_count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(c.headers[i].name, "X-A");
	assert_string_equal(c.headers[1].value, "b");
	assert_string_equal(c.headers[3].file, "/etc/ceems/f");
	redfish_config_done(&c);
	assert_int_equal(parse("redfish_collector: {hostname: h}", &c), 0);
	assert_true(c.use_session_token && c.follow_redirects);
	assert_false(c.insecure || c.old_name || c.has_secret);
	assert_int_equal(c.timeout_ms, 5000);
	redfish_config_done(&c);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "no redfish_collector in it"},
		{"other: 1", "f.yaml:1: unknown key: other"},
		{"redfish_collector:\n  pasword: x", "f.yaml:2: unknown key: pasword"},
		{"redfish_collector: []", "must be a mapping"},
		{"redfish_collector: {}\nredfish_web_config: {}", "f.yaml:2: "},
		{"redfish_collector:\n  port: 65536", "f.yaml:2: port"},
		{"redfish_collector:\n  port: x", "f.yaml:2: port"},
		{"redfish_collector:\n  timeout: 0", "f.yaml:2: timeout"},
		{"redfish_collector:\n  timeout: 2h", "f.yaml:2: timeout"},
		{"redfish_collector:\n  protocol: ftp", "f.yaml:2: protocol"},
		{"redfish_collector:\n  oauth2: {}", "not supported: oauth2"},
		{"redfish_collector:\n  tls_config:\n    server_name: x",
		 "f.yaml:3: not supported: server_name"},
		{"redfish_collector:\n  tls_config: {min_version: SSL3}", "TLS10"},
		{"redfish_collector: {external_url: file:///x}", "external_url"},
		{"redfish_collector: {external_url: 'http://u:pw@h'}", "external_url"},
		{"redfish_collector: {password: a, password_file: b}", "exclude"},
		{"redfish_collector: {basic_auth: {username: a}, authorization: "
		 "{credentials: b}}",
		 "exclude"},
		{"redfish_collector: {username: a, use_session_token: false, "
		 "basic_auth: {username: b}}",
		 "Authorization"},
		{"redfish_collector: {", "f.yaml:"},
		{"redfish_collector: {http_headers: [a]}", "must be a mapping"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct redfish_config c;
		if (parse(cases[i].text, &c) != -EINVAL)
			fail_msg("%s was taken", cases[i].text);
		if (!strstr(err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

static void url_is(const char *text, const char *address, const char *wanted)
{
	struct redfish_config c;
	char *url = NULL;
	assert_int_equal(parse(text, &c), 0);
	int rc = redfish_config_url(&c, "node7", address, &url, &err);
	if (wanted) {
		assert_int_equal(rc, 0);
		assert_string_equal(url, wanted);
	} else {
		assert_int_equal(rc, -EINVAL);
	}
	free(url);
	redfish_config_done(&c);
}

static void the_bmc_is_found_by_name_or_address(void **state)
{
	(void)state;
	url_is("redfish_collector: {hostname: '{hostname}-bmc'}", "",
	       "https://node7-bmc");
	url_is("redfish_collector: {hostname: 'b.{hostname}.{hostname}', port: 444}",
	       "", "https://b.node7.node7:444");
	url_is("redfish_collector: {hostname: '2001:db8::1', protocol: http}", "",
	       "http://[2001:db8::1]");
	/* as IPMI says, where nothing is configured */
	url_is("redfish_collector: {}", "192.0.2.7", "https://192.0.2.7");
	url_is("redfish_collector: {hostname: h}", "192.0.2.7", "https://h");
	url_is("redfish_collector: {}", "", NULL);
	/* a name that holds more than a name */
	url_is("redfish_collector: {hostname: 'evil/x'}", "", NULL);
	url_is("redfish_collector: {hostname: 'evil?x'}", "", NULL);
	url_is("redfish_collector: {hostname: 'u@evil'}", "", NULL);
	url_is("redfish_collector: {hostname: 'a b'}", "", NULL);
}

static void only_variables_in_braces_are_replaced(void **state)
{
	(void)state;
	char *text = NULL;
	setenv("BMC_PW", "s3c$ret", 1);
	unsetenv("BMC_NONE");
	static const char in[] = "a: ${BMC_PW} $BMC_PW $ ${ ${} ${a-b} $${BMC_PW}";
	assert_int_equal(redfish_config_expand(in, strlen(in), &text, &err), 0);
	assert_string_equal(text, "a: s3c$ret $BMC_PW $ ${ ${} ${a-b} $s3c$ret");
	free(text);
	assert_int_equal(redfish_config_expand("${BMC_NONE}", 11, &text, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "BMC_NONE"));
	unsetenv("BMC_PW");
}

static void the_environment_wins(void **state)
{
	(void)state;
	struct redfish_config c;
	char dir[SCRATCH_PATH], file[SCRATCH_PATH + 16];
	static const char text[] =
		"redfish_collector: {hostname: h, username: a, password_file: b}";
	scratch_make(dir);
	snprintf(file, sizeof(file), "%s/f.yaml", dir);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, file, text, strlen(text), 0644, NULL), 0);
	setenv("REDFISH_WEB_USERNAME", "x", 1);
	setenv("REDFISH_WEB_PASSWORD", "y", 1);
	assert_int_equal(redfish_config_load(file, false, &c, &err), 0);
	assert_string_equal(c.username, "x");
	assert_string_equal(c.password, "y");
	assert_null(c.password_file);
	redfish_config_done(&c);
	unsetenv("REDFISH_WEB_USERNAME");
	unsetenv("REDFISH_WEB_PASSWORD");
	scratch_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peers_keys_are_taken),
		cmocka_unit_test(what_is_wrong_is_named_with_its_line),
		cmocka_unit_test(the_bmc_is_found_by_name_or_address),
		cmocka_unit_test(only_variables_in_braces_are_replaced),
		cmocka_unit_test(the_environment_wins),
	};
	return cmocka_run_group_tests_name("redfish_config_test", tests, NULL, NULL);
}
