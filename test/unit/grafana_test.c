/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Grafana says of a team, and what it never should. */
#include "aggregator/grafana_members.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

static struct err err;
static struct buf out;

static int members(const char *text)
{
	buf_reset(&out);
	return grafana_members(text, strlen(text), &out, &err);
}

static int done(void **state)
{
	(void)state;
	buf_done(&out);
	return 0;
}

static void logins_of_members_are_a_list(void **state)
{
	(void)state;
	assert_int_equal(members("[{\"teamId\": 7, \"login\": \"gina\"}, "
				 "{\"login\": \"h.ugo-2\", \"email\": \"h@x\"}]"),
			 2);
	assert_string_equal(out.data, ",\"gina\",\"h.ugo-2\"");
	assert_int_equal(members(" [] "), 0);
	assert_int_equal(out.len, 0);
}

static void what_is_no_login_is_left_out(void **state)
{
	(void)state;
	assert_int_equal(members("[{\"login\": \"a b\"}, {\"login\": \"\"}, "
				 "{\"login\": \"root\\u0000x\"}, "
				 "{\"login\": \"x';--\"}, {\"login\": \"good\"}]"),
			 1);
	assert_string_equal(out.data, ",\"good\"");
}

static void what_is_no_list_of_members_is_refused(void **state)
{
	static const char *const bad[] = {"",
					  "{}",
					  "{\"message\": \"Permission denied\"}",
					  "[1]",
					  "[null]",
					  "[{}]",
					  "[{\"login\": 1}]",
					  "[{\"login\": \"a\"}",
					  "<html>",
					  "[{\"login\": \"a\"}] x",
					  "null"};
	(void)state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(members(bad[i]), -EBADMSG);
}

static void too_many_members_are_refused(void **state)
{
	auto_buf struct buf b = BUF_INIT;
	(void)state;

	for (int i = 0; i < 10001; i++)
		buf_puts(&b, i ? ",{\"login\":\"a\"}" : "[{\"login\":\"a\"}");
	buf_puts(&b, "]");
	assert_int_equal(members(b.data), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logins_of_members_are_a_list),
		cmocka_unit_test(what_is_no_login_is_left_out),
		cmocka_unit_test(what_is_no_list_of_members_is_refused),
		cmocka_unit_test(too_many_members_are_refused),
	};
	return cmocka_run_group_tests_name("grafana", tests, NULL, done);
}
