/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/tool/migrate_unit.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"
#include "test/unit/unit.h"

static void assert_words(const char *unit, const char *env, const char *wanted)
{
	struct unit_file u = {.exec = NULL};
	auto_buf struct buf got = {.max = 4096};
	struct err err = {""};

	assert_int_equal(unit_read(&u, unit, strlen(unit), &err), 0);
	assert_int_equal(unit_read_environment(&u, env, strlen(env), &err), 0);
	assert_int_equal(unit_expand(&u, &err), 0);
	for (size_t i = 0; i < u.argv.count; i++)
		buf_printf(&got, "[%s]", u.argv.items[i]);
	buf_putc(&got, '\0');
	assert_string_equal(got.data, wanted);
	unit_done(&u);
}

static void lines_that_go_on_are_one(void **state)
{
	(void)state;
	assert_words("[Service]\nExecStart=/usr/bin/x \\\n    --a=1 \\\n  --b\n", "",
		     "[/usr/bin/x][--a=1][--b]");
	assert_words("ExecStart=/x --a", "", "[/x][--a]");
}

static void quotes_and_backslashes_are_taken_off(void **state)
{
	(void)state;
	assert_words("ExecStart=/x '--a=b c' --d=\"e'f\" g\\ h \"\"\n", "",
		     "[/x][--a=b c][--d=e'f][g h][]");
	assert_words("ExecStart=/x '--a=b\\.c' 5%%\n", "", "[/x][--a=b\\.c][5%]");
}

static void variables_come_in_place(void **state)
{
	(void)state;
	assert_words(
		"Environment=\"O=--a --b=c d\" P=1\nExecStart=/x $O --p=${P} $NONE "
		"$$y ${Q\n",
		"", "[/x][--a][--b=c][d][--p=1][$y][${Q]");
	assert_words("ExecStart=/x $O\n", "# c\nO=\"--a --b\"\nnonsense\n",
		     "[/x][--a][--b]");
}

static void the_last_command_counts(void **state)
{
	(void)state;
	assert_words("ExecStart=/x --a\nExecStart=\nExecStart=-/y --b\n#ExecStart=/z\n",
		     "", "[/y][--b]");
	assert_words("Environment=O=1\nEnvironment=\nExecStart=/x $O\n", "", "[/x]");
}

static void what_is_no_command_is_refused(void **state)
{
	struct unit_file u = {.exec = NULL};
	struct err err = {""};

	(void)state;
	assert_int_equal(unit_read(&u, "[Unit]\n", 7, &err), 0);
	assert_int_equal(unit_expand(&u, &err), -EINVAL);
	assert_string_equal(err.text, "no ExecStart= in it");
	unit_done(&u);
	assert_int_equal(unit_read(&u, "ExecStart=/x 'a\n", 16, &err), 0);
	assert_int_equal(unit_expand(&u, &err), -EINVAL);
	unit_done(&u);
}

static void a_command_without_end_is_refused(void **state)
{
	auto_buf struct buf text = {.max = 1 << 20};
	struct unit_file u = {.exec = NULL};
	struct err err = {""};

	(void)state;
	buf_puts(&text, "ExecStart=");
	for (int i = 0; i < 1000; i++)
		buf_puts(&text, "/x ");
	assert_int_equal(unit_read(&u, text.data, text.len, &err), 0);
	assert_int_equal(unit_expand(&u, &err), -E2BIG);
	unit_done(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_that_go_on_are_one),
		cmocka_unit_test(quotes_and_backslashes_are_taken_off),
		cmocka_unit_test(variables_come_in_place),
		cmocka_unit_test(the_last_command_counts),
		cmocka_unit_test(what_is_no_command_is_refused),
		cmocka_unit_test(a_command_without_end_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
