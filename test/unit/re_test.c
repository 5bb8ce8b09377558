/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/promql/re.h"

#include <errno.h>
#include <string.h>

#include "lib/buf.h"
#include "test/unit/unit.h"

static int check(const char *re, bool *ret_empty)
{
	struct err err;

	return re_check(re, strlen(re), false, ret_empty, NULL, &err);
}

static void the_syntax_of_re2_is_known(void **state)
{
	(void)state;
	static const char *const good[] = {
		"",
		"a",
		".*",
		"a|b",
		"(a|b)?c+",
		"[a-z]",
		"[^]a]",
		"[]a]",
		"[a-]",
		"[[:alpha:]]",
		"[[:^digit:]x]",
		"\\d\\w\\s\\D",
		"\\x41\\x{10ffff}",
		"\\Qa.b\\E",
		"\\101",
		"\\0",
		"\\.\\-\\_",
		"(?i)a",
		"(?im-s:x)",
		"(?P<n1>a)",
		"a{2}",
		"a{2,}",
		"a{2,5}?",
		"a{",
		"a{,2}",
		"a{x}",
		"{",
		"a*?",
		"^a$",
		"\\Aa\\z",
		"\\bx\\B",
		"\\pL\\p{Greek}\\P{^Lu}",
		"(a{10}){100}",
		"()",
		"|",
		"(?:)",
		"a|",
		"\xc3\xa9+",
		"[\xc3\xa0-\xc3\xbf]",
		"x*?",
	};
	bool empty;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (check(good[i], &empty))
			fail_msg("refused: %s", good[i]);
}

static void what_is_no_expression_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"(",
		")",
		"a)",
		"a)(b",
		"[",
		"[a",
		"[]",
		"[z-a]",
		"*",
		"+a",
		"a**",
		"a+*",
		"a??"
		"?",
		"|*",
		"(*a)",
		"a{1001}",
		"a{2,1}",
		"(a{500}){3}",
		"\\",
		"\\1",
		"\\8",
		"\\y",
		"\\C",
		"\\x4",
		"\\x{110000}",
		"\\x{}",
		"(?z)",
		"(?-)",
		"(?P<>a)",
		"(?P<1-2>a)",
		"(?P=n)",
		"(?=a)",
		"(?<n>a)",
		"[[:foo:]]",
		"\\Qa",
		"\\p{",
		"\\pQ",
		"a\xff",
		"\xc3",
		"(?i",
		"{2}",
	};
	bool empty = true;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (check(bad[i], &empty) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
	assert_true(empty);
}

static void the_empty_string_is_known_to_match(void **state)
{
	(void)state;
	static const struct {
		const char *re;
		bool empty;
	} rows[] = {
		{"", true},         {"a", false},         {"a?", true},
		{"a*", true},       {"a+", false},        {"(a*)+", true},
		{"a|", true},       {"a|b", false},       {"a{0,3}", true},
		{"a{2}", false},    {"^$", true},         {"\\b", false},
		{"\\B", true},      {"(?i)", true},       {"\\Q\\E", true},
		{"\\Qa\\E", false}, {".", false},         {".*x?", true},
		{"[a]?", true},     {"(a|b*)(c|)", true}, {"(a)(|b)", false},
		{"()", true},       {"a{", false},        {"\\pL", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool empty = !rows[i].empty;

		if (check(rows[i].re, &empty) || empty != rows[i].empty)
			fail_msg("%s", rows[i].re);
	}
}

static void groups_have_a_depth(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	bool empty;

	for (unsigned i = 0; i < RE_DEPTH_MAX; i++)
		buf_putc(&b, '(');
	for (unsigned i = 0; i < RE_DEPTH_MAX; i++)
		buf_putc(&b, ')');
	assert_int_equal(check(b.data, &empty), 0);
	buf_reset(&b);
	for (unsigned i = 0; i < 100000; i++)
		buf_putc(&b, '(');
	assert_int_equal(check(b.data, &empty), -E2BIG);
}

static int collect(void *arg, const char *s, size_t len)
{
	struct buf *b = arg;

	buf_put(b, s, len);
	buf_putc(b, ';');
	return 0;
}

static void literals_are_told_one_by_one(void **state)
{
	(void)state;
	static const struct {
		const char *re, *set;
	} rows[] = {
		{"12", "12;"},
		{"12|34|56", "12;34;56;"},
		{"(12|34)", "12;34;"},
		{"(?:12|34)", "12;34;"},
		{"^(?:12|34)$", "12;34;"},
		{"^12|34$", "12;34;"},
		{"a\\.b|c\\-d", "a.b;c-d;"},
		{"a\\|b", "a|b;"},
		{"a\\$", "a$;"},
		{"a\\\\$", "a\\;"},
		{"", ";"},
		{"a|", "a;;"},
		{"6a1b-22", "6a1b-22;"},
		{"(\\)|\\()", ");(;"},
	};
	static const char *const others[] = {
		"1.",     "1*",      "1+",      "[12]",  "(1)(2)",     "(1|2)3",
		"1{2}",   "(?i)a",   "\\d",     "\\x41", "\\Qa\\E",    "a^b",
		"a$b",    "((a|b))", "(a)|(b)", "a|^b",  "(?P<n>a|b)", "\\1",
		"(?i:a)", "\\pL",    "a?",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_buf struct buf b = BUF_INIT;
		int n = re_literals(rows[i].re, strlen(rows[i].re), collect, &b);

		if (n < 1 || strcmp(b.data, rows[i].set))
			fail_msg("%s: %d %s", rows[i].re, n, b.data ? b.data : "");
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		auto_buf struct buf b = BUF_INIT;

		if (re_literals(others[i], strlen(others[i]), collect, &b) != -EINVAL)
			fail_msg("taken for literals: %s", others[i]);
	}
}

static int enough(void *arg, const char *s, size_t len)
{
	(void)s;
	(void)len;
	return ++*(int *)arg > 2 ? -E2BIG : 0;
}

static void who_counts_them_can_stop(void **state)
{
	(void)state;
	int n = 0;

	assert_int_equal(re_literals("a|b|c|d", 7, enough, &n), -E2BIG);
	assert_int_equal(n, 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_syntax_of_re2_is_known),
		cmocka_unit_test(what_is_no_expression_is_refused),
		cmocka_unit_test(the_empty_string_is_known_to_match),
		cmocka_unit_test(groups_have_a_depth),
		cmocka_unit_test(literals_are_told_one_by_one),
		cmocka_unit_test(who_counts_them_can_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
