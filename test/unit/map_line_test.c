/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/map_line.h"

#include <stdio.h>

#include "test/unit/unit.h"

static bool parse_line(const char *text, struct map_line *ret)
{
	static char line[256];

	(void)snprintf(line, sizeof(line), "%s", text);
	return map_line_parse(line, ret);
}

static void only_the_kernel_names_its_code(void **state)
{
	struct map_line l;
	(void)state;

	assert_true(parse_line("10000-12000 r-xp 00000000 00:00 0    [vdso]\n", &l));
	assert_true(map_line_is_vdso(&l));
	assert_true(
		parse_line("10000-12000 r-xp 00000000 00:31 7    /tmp/[vdso]\n", &l));
	assert_false(map_line_is_vdso(&l));
	assert_string_equal(l.path, "/tmp/[vdso]");
}

static void what_has_a_slash_is_not_yet_a_file(void **state)
{
	struct map_line l;
	(void)state;

	assert_true(parse_line("10000-12000 r-xp 00001000 00:31 7    /a b (deleted)\n",
			       &l));
	assert_string_equal(l.path, "/a b (deleted)");
	assert_int_equal(l.offset, 0x1000);
	assert_false(parse_line("10000-12000 r-xp 00000000 00:31 7    anon:/a\n", &l));
	assert_false(
		parse_line("10000-12000 r-xp 00000000 00:00 0    [anon:a/b]\n", &l));
	assert_false(parse_line("10000-12000 r-xp 00000000 00:00 0 \n", &l));
	assert_false(parse_line("10000-12000 r-xp 00000000 00:31\n", &l));
	assert_false(parse_line("12000-10000 r-xp 00000000 00:31 7    /a\n", &l));
	assert_false(parse_line("\n", &l));
	assert_false(parse_line("10000-12000 r-xp 00000000 00:-1 7    /a\n", &l));
	assert_false(parse_line("10000-12000 r-xp 00000000 ffffffff:ffffffff 1    /a\n",
				&l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_kernel_names_its_code),
		cmocka_unit_test(what_has_a_slash_is_not_yet_a_file),
	};
	return cmocka_run_group_tests_name("map_line_test", tests, NULL, NULL);
}
