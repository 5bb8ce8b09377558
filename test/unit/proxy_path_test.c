/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "redfish_proxy/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/netaddr.h"
#include "redfish_proxy/url.h"
#include "test/unit/unit.h"

static const char *clean(const char *target)
{
	static char out[PATH_BYTES_MAX];
	return path_clean(target, out) == 0 ? out : "refused";
}

static void plain_paths_are_themselves(void **state)
{
	(void)state;
	static const char *const good[] = {
		"/redfish",
		"/redfish/",
		"/redfish/v1/",
		"/redfish/v1/Chassis/System.Embedded.1/Power",
		"/redfish/v1/Chassis/a-b_c~d:e@f(g)+,=/Sensors/1",
		"/redfish/v1/Chassis/...",
		"/redfish/v1/Chassis/.hidden/..a",
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_string_equal(clean(good[i]), good[i]);
}

static void escapes_have_one_form(void **state)
{
	(void)state;
	assert_string_equal(clean("/redfish/v1/Ch%61ssis"), "/redfish/v1/Chassis");
	assert_string_equal(clean("/%72edfish/v1"), "refused");
	assert_string_equal(clean("/redfish/v1/Temp%201"), "/redfish/v1/Temp%201");
	assert_string_equal(clean("/redfish/v1/a%23b"), "/redfish/v1/a%23b");
	assert_string_equal(clean("/redfish/v1/%7E"), "/redfish/v1/~");
}

static void paths_that_readers_may_take_for_others_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"*",
		"redfish/v1",
		"http://bmc/redfish/v1",
		"//redfish/v1",
		"/redfishx/v1",
		"/REDFISH/v1",
		"/other",
		"/redfish//v1",
		"/redfish/v1//",
		"/redfish/./v1",
		"/redfish/v1/.",
		"/redfish/v1/..",
		"/redfish/v1/../v1",
		"/redfish/../etc/passwd",
		"/redfish/v1/%2e%2e/x",
		"/redfish/v1/%2E./x",
		"/redfish/v1/.%2e",
		"/redfish/v1/%2e",
		"/redfish/v1/a%2fb",
		"/redfish/v1/a%2Fb",
		"/redfish/v1/a%5cb",
		"/redfish/v1/a\\b",
		"/redfish/v1/..;/x",
		"/redfish/v1/a;b=c",
		"/redfish/v1/a%3bb",
		"/redfish/v1/%00",
		"/redfish/v1/a%00b",
		"/redfish/v1/%252e%252e",
		"/redfish/v1/%25",
		"/redfish/v1/a%",
		"/redfish/v1/a%2",
		"/redfish/v1/a%zz",
		"/redfish/v1/a%0d%0aX:",
		"/redfish/v1/a%09",
		"/redfish/v1/a\r\n",
		"/redfish/v1/a b",
		"/redfish/v1/a?$expand=*",
		"/redfish/v1/a%3f",
		"/redfish/v1/a#b",
		"/redfish/v1/a\x80",
		"/redfish/v1/a%c0%ae%c0%ae",
		"/redfish/v1/a%ff",
		"/redfish/v1/a\"b",
		"/redfish/v1/a<b",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (strcmp(clean(bad[i]), "refused") != 0)
			fail_msg("%s was taken", bad[i]);
	}
}

static void path_of_any_length_is_bounded(void **state)
{
	(void)state;
	char target[2 * PATH_BYTES_MAX], out[PATH_BYTES_MAX];

	for (size_t n = 1; n < sizeof(target) - 20; n++) {
		int at = snprintf(target, sizeof(target), "/redfish/");
		memset(target + at, n % 2 ? 'a' : '~', n);
		target[(size_t)at + n] = '\0';
		int rc = path_clean(target, out);
		if (rc == 0)
			assert_true(strlen(out) < sizeof(out));
		else
			assert_int_equal(rc, -ENAMETOOLONG);
	}
}

static void cleaning_twice_changes_nothing(void **state)
{
	(void)state;
	const char *target = "/redfish/v1/a%20b%23c%41/%7e/";
	char once[PATH_BYTES_MAX], twice[PATH_BYTES_MAX];

	assert_int_equal(path_clean(target, once), 0);
	assert_int_equal(path_clean(once, twice), 0);
	assert_string_equal(once, twice);
}

static void patterns_are_for_the_whole_path(void **state)
{
	(void)state;
	struct path_allow a = {0};
	struct err err;

	assert_false(path_allowed(&a, "/redfish/v1/"));
	assert_int_equal(path_allow_add(&a, "/redfish/v1/Chassis|/redfish/v1/Ch", &err),
			 0);
	assert_true(path_allowed(&a, "/redfish/v1/Chassis"));
	assert_true(path_allowed(&a, "/redfish/v1/Ch"));
	assert_false(path_allowed(&a, "/redfish/v1/Chassis/1"));
	assert_false(path_allowed(&a, "/redfish/v1/Cha"));
	assert_false(path_allowed(&a, "/x/redfish/v1/Chassis"));
	/* the peer's way of writing them */
	assert_int_equal(path_allow_add(&a, "^/redfish/v1/Systems$", &err), 0);
	assert_true(path_allowed(&a, "/redfish/v1/Systems"));
	assert_false(path_allowed(&a, "/redfish/v1/Systems\n"));
	path_allow_done(&a);
}

static void patterns_of_other_dialects_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"",       "/a/\\d+", "(?:a)", "(a)\\1",
					  "\\w",    "a\\",     "(",     "[a",
					  "a{2,1}", "\\<a",    "\\'"};
	struct path_allow a = {0};
	struct err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (path_allow_add(&a, bad[i], &err) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
	}
	assert_int_equal(a.count, 0);
	assert_int_equal(path_allow_add(&a, "/a\\.b", &err), 0);
	path_allow_done(&a);
}

static void default_list_reads_power_and_no_accounts(void **state)
{
	(void)state;
	struct path_allow a = {0};
	static const char *const good[] = {
		"/redfish/v1/",
		"/redfish/v1/Chassis",
		"/redfish/v1/Chassis/System.Embedded.1",
		"/redfish/v1/Chassis/1/Power",
		"/redfish/v1/Chassis/1/EnvironmentMetrics",
		"/redfish/v1/Chassis/1/PowerSubsystem/PowerSupplies/PS1/Metrics",
		"/redfish/v1/Chassis/1/Sensors/Total%20Power",
	};
	static const char *const bad[] = {
		"/redfish/v1/SessionService/Sessions",
		"/redfish/v1/AccountService/Accounts/1",
		"/redfish/v1/Managers/1",
		"/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
		"/redfish/v1/Chassis/1/Power/x",
		"/redfish/v1/Chassis/1/Oem",
	};
	for (size_t i = 0; path_allow_default[i]; i++)
		assert_int_equal(path_allow_add(&a, path_allow_default[i], NULL), 0);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (!path_allowed(&a, good[i]))
			fail_msg("%s is not allowed", good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (path_allowed(&a, bad[i]))
			fail_msg("%s is allowed", bad[i]);
	}
	path_allow_done(&a);
}

static void urls_have_one_form(void **state)
{
	(void)state;
	static const char *const good[][2] = {
		{"https://bmc-1", "https://bmc-1"},
		{"HTTPS://BMC-1:443/", "https://bmc-1"},
		{"http://bmc:80", "http://bmc"},
		{"http://bmc:443", "http://bmc:443"},
		{"https://10.0.0.1:8443/", "https://10.0.0.1:8443"},
		{"https://[FD00::0:1]:443", "https://[fd00::1]"},
	};
	static const char *const bad[] = {
		"",
		"bmc",
		"ftp://bmc",
		"https:///",
		"https://",
		"https://user@bmc",
		"https://user:pw@bmc",
		"https://bmc/x",
		"https://bmc//",
		"https://bmc?x",
		"https://bmc#x",
		"https://bmc:0",
		"https://bmc:65536",
		"https://bmc:",
		"https://bmc:1:2",
		"https://a..b",
		"https://-a",
		"https://a b",
		"https://bmc\\@evil",
		"https://bmc%2eevil",
		"https://[fd00::1",
		"https://[fe80::1%25eth0]",
		"https://[]",
		"https://fd00::1",
		"https://bmc\r\nX: y",
		"file:///etc/passwd",
		"gopher://bmc",
	};
	char out[URL_BYTES_MAX];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (url_clean(good[i][0], out) < 0 || strcmp(out, good[i][1]) != 0)
			fail_msg("%s", good[i][0]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (url_clean(bad[i], out) == 0)
			fail_msg("%s was taken", bad[i]);
	}
}

static void node_goes_into_the_template(void **state)
{
	(void)state;
	char out[URL_BYTES_MAX];

	assert_int_equal(url_of_node("https://{node}-bmc", "n1.cluster.org", out), 0);
	assert_string_equal(out, "https://n1-bmc");
	assert_int_equal(url_of_node("https://bmc.{fqdn}:8443", "n1.org", out), 0);
	assert_string_equal(out, "https://bmc.n1.org:8443");
	assert_true(url_of_node("https://{node}/x", "n1", out) < 0);
}

static void addresses_of_both_families_compare(void **state)
{
	(void)state;
	struct netaddr a, b;
	struct netrange r;
	static const char *const bad[] = {"10.0.0.1/33", "10.0.0.1/24",  "10.0.0",
					  "::/129",      "10.0.0.1/",    "x",
					  "10.0.0.1 ",   "fe80::1%eth0", ""};

	assert_int_equal(netaddr_parse("10.0.0.1", &a), 0);
	assert_int_equal(netaddr_parse("::ffff:10.0.0.1", &b), 0);
	assert_true(netaddr_equal(&a, &b));
	assert_int_equal(netrange_parse("10.0.0.0/24", &r), 0);
	assert_true(netrange_has(&r, &b));
	assert_int_equal(netaddr_parse("10.0.1.1", &b), 0);
	assert_false(netrange_has(&r, &b));
	assert_int_equal(netrange_parse("0.0.0.0/0", &r), 0);
	assert_true(netrange_has(&r, &b));
	assert_int_equal(netaddr_parse("fd00::1", &b), 0);
	assert_false(netrange_has(&r, &b));
	assert_int_equal(netrange_parse("fd00::/9", &r), 0);
	assert_true(netrange_has(&r, &b));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (netrange_parse(bad[i], &r) == 0)
			fail_msg("%s was taken", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_paths_are_themselves),
		cmocka_unit_test(escapes_have_one_form),
		cmocka_unit_test(paths_that_readers_may_take_for_others_are_refused),
		cmocka_unit_test(path_of_any_length_is_bounded),
		cmocka_unit_test(cleaning_twice_changes_nothing),
		cmocka_unit_test(patterns_are_for_the_whole_path),
		cmocka_unit_test(patterns_of_other_dialects_are_refused),
		cmocka_unit_test(default_list_reads_power_and_no_accounts),
		cmocka_unit_test(urls_have_one_form),
		cmocka_unit_test(node_goes_into_the_template),
		cmocka_unit_test(addresses_of_both_families_compare),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
