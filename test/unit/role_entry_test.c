/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom an entry of a list of roles means. */
#include "lib/identity/role_entry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/unit/unit.h"

static enum role_match match_entry(const char *entry, const char *login, int64_t uid)
{
	struct identity_who who = {.has_uid = uid >= 0, .uid = (uint32_t)uid};

	snprintf(who.login, sizeof(who.login), "%s", login);
	return role_entry_match(entry, strlen(entry), &who);
}

static void an_entry_with_a_number_is_for_who_proved_it(void **state)
{
	(void)state;
	assert_int_equal(match_entry("ann:1005", "ann", 1005), ROLE_MATCH_YES);
	assert_int_equal(match_entry("ann:1005", "ann", 1006), ROLE_MATCH_NO);
	assert_int_equal(match_entry("ann:1005", "bob", 1005), ROLE_MATCH_NO);
	assert_int_equal(match_entry("ann:1005", "ann", -1), ROLE_MATCH_NO);
}

static void a_bare_login_is_this_hosts_account(void **state)
{
	struct identity_who who = {.login = "root", .has_uid = true};

	(void)state;
	assert_int_equal(match_entry("ann", "ann", -1), ROLE_MATCH_YES);
	assert_int_equal(match_entry("ann", "ann", 1005), ROLE_MATCH_ACCOUNT);
	assert_int_equal(match_entry("ann", "anna", -1), ROLE_MATCH_NO);
	assert_true(role_entry_is_account(&who));
	who.uid = 1;
	assert_false(role_entry_is_account(&who));
	who = (struct identity_who){.login = "root"};
	assert_false(role_entry_is_account(&who));
}

static void what_is_no_entry_is_refused(void **state)
{
	static const char *const bad[] = {
		"",        ":",   "ann:", ":5", "ann:x", "ann:-1", "ann:4294967295",
		"ann:5:6", "a b", "ann/x"};
	struct role_entry e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(role_entry_parse(bad[i], strlen(bad[i]), &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_with_a_number_is_for_who_proved_it),
		cmocka_unit_test(a_bare_login_is_this_hosts_account),
		cmocka_unit_test(what_is_no_entry_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
