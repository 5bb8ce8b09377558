/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/promql/promql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/promql_random.h"
#include "test/unit/unit.h"

static int parse(const char *text, enum promql_dialect d, struct promql **ret,
		 struct err *err)
{
	return promql_parse(text, strlen(text), d, NULL, ret, err);
}

/* What it prints as; "" when it is refused */
static void printed(const char *text, enum promql_dialect d, struct buf *out)
{
	auto_promql struct promql *q = NULL;
	struct err err;

	buf_reset(out);
	if (!parse(text, d, &q, &err))
		promql_print(q, out);
	else
		buf_puts(out, "");
}

struct row {
	const char *text, *print;
};

static void check_rows(const struct row *rows, size_t n, enum promql_dialect d)
{
	auto_buf struct buf out = BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		const char *want = rows[i].print ? rows[i].print : rows[i].text;

		printed(rows[i].text, d, &out);
		if (!out.data || strcmp(out.data, want))
			fail_msg("%s\n  as %s\n  not %s", rows[i].text,
				 out.data ? out.data : "", want);
		printed(want, d, &out);
		assert_string_equal(out.data, want);
	}
}

#define ROWS(rows, d) check_rows(rows, sizeof(rows) / sizeof((rows)[0]), d)

static void every_form_is_read_and_printed(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"foo", NULL},
		{"foo{}", "foo"},
		{"foo{a=\"b\",c!=\"d\",e=~\"f\",g!~\"h\"}", NULL},
		{"{a='b',}", "{a=\"b\"}"},
		{"{__name__=~`a.*`}", "{__name__=~\"a.*\"}"},
		{"node:x:rate", NULL},
		{"sum", NULL},
		{"by{x=\"y\"}", NULL},
		{"foo[5m]", NULL},
		{"foo [ 1h30m ] offset 1d", "foo[1h30m] offset 1d"},
		{"foo offset -5m @ 1609746000.123", "foo @ 1609746000.123 offset -5m"},
		{"foo @ start ( )", "foo @ start()"},
		{"foo[5m] @ end()", NULL},
		{"(foo + bar)[1h:5m] offset 1w", "(foo + bar)[1h:5m] offset 7d"},
		{"rate(foo[1m])[30m:] @ 5", "rate(foo[1m])[30m:] @ 5.000"},
		{"-foo", NULL},
		{"+ -1", "-1"},
		{"1 + 2 * 3", NULL},
		{"foo AND bar", "foo and bar"},
		{"foo == bool on (a, b) group_left (c) bar", NULL},
		{"foo * ignoring(a,)group_right bar",
		 "foo * ignoring (a) group_right () bar"},
		{"foo unless on () bar", NULL},
		{"foo atan2 bar", NULL},
		{"sum by(a,b)(foo)", "sum by (a, b) (foo)"},
		{"sum(foo)without(a)", "sum without (a) (foo)"},
		{"sum by () (foo)", NULL},
		{"topk(5, foo)", NULL},
		{"count_values(\"v\", foo)", NULL},
		{"quantile(0.9, foo)", NULL},
		{"label_replace(foo, \"a\", \"$1\", \"b\", \"(.*)\")", NULL},
		{"label_join(foo, \"a\", \",\", \"b\", \"c\", \"d\")", NULL},
		{"time() - hour()", NULL},
		{"vector(1) or on (a) foo", NULL},
		{"\"text\"", NULL},
		{"1 # the rest is no query } \"", "1"},
		{"foo{ # inside\n a = \"b\" }", "foo{a=\"b\"}"},
		{"absent_over_time(foo[5m:1m])", NULL},
		{"1 == bool 1", NULL},
	};

	ROWS(rows, PROMQL_2);
	ROWS(rows, PROMQL_3);
}

static void operators_bind_as_documented(void **state)
{
	(void)state;
	/* the tree, with a bracket around each operation */
	static const struct {
		const char *text;
		enum promql_op top, left, right; /* PROMQL_OPS: no operation there */
	} rows[] = {
		{"1 + 2 * 3", PROMQL_ADD, PROMQL_OPS, PROMQL_MUL},
		{"1 * 2 + 3", PROMQL_ADD, PROMQL_MUL, PROMQL_OPS},
		{"1 - 2 - 3", PROMQL_SUB, PROMQL_SUB, PROMQL_OPS},
		{"2 ^ 3 ^ 4", PROMQL_POW, PROMQL_OPS, PROMQL_POW},
		{"2 / 3 % 4", PROMQL_MOD, PROMQL_DIV, PROMQL_OPS},
		{"2 atan2 3 * 4", PROMQL_MUL, PROMQL_ATAN2, PROMQL_OPS},
		{"a or b and c", PROMQL_OR, PROMQL_OPS, PROMQL_AND},
		{"a and b unless c", PROMQL_UNLESS, PROMQL_AND, PROMQL_OPS},
		{"a == b + c", PROMQL_EQL, PROMQL_OPS, PROMQL_ADD},
		{"a > b == c", PROMQL_EQL, PROMQL_GTR, PROMQL_OPS},
		{"-a * b", PROMQL_MUL, PROMQL_SUB, PROMQL_OPS},
		{"a and b == c", PROMQL_AND, PROMQL_OPS, PROMQL_EQL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_promql struct promql *q = NULL;
		struct err err;
		struct promql_node *n;

		assert_int_equal(parse(rows[i].text, PROMQL_2, &q, &err), 0);
		n = promql_root(q);
		if (n->op != rows[i].top)
			fail_msg("%s", rows[i].text);
		if (rows[i].left != PROMQL_OPS)
			assert_int_equal(n->expr->op, rows[i].left);
		else
			assert_true(n->expr->kind != PROMQL_BINARY);
		if (rows[i].right != PROMQL_OPS)
			assert_int_equal(n->right->op, rows[i].right);
		else
			assert_true(n->right->kind != PROMQL_BINARY);
	}
}

static void minus_binds_like_a_multiplication(void **state)
{
	(void)state;
	auto_promql struct promql *q = NULL;
	struct err err;

	assert_int_equal(parse("-1 ^ 2", PROMQL_2, &q, &err), 0);
	assert_int_equal(promql_root(q)->kind, PROMQL_UNARY);
	assert_int_equal(promql_root(q)->expr->op, PROMQL_POW);
}

static void numbers_are_read_as_go_reads_them(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0x1F", "31"},   {"017", "15"},   {"08", "8"},      {"1.", "1"},
		{".5", "0.5"},    {"1e3", "1000"}, {"0x1e5", "485"}, {"Inf", "Inf"},
		{"-iNf", "-Inf"}, {"NaN", "NaN"},  {"-NaN", "NaN"},  {"1e-400", "0"},
	};
	static const char *const bad[] = {
		"0x",  "1e",    "1e400", "1_000", "0b1",
		"0o7", "0x1.8", "1.2.3", "5m",    "0xffffffffffffffff"};
	auto_buf struct buf out = BUF_INIT;

	ROWS(rows, PROMQL_2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		printed(bad[i], PROMQL_2, &out);
		if (out.len)
			fail_msg("accepted: %s", bad[i]);
	}
}

static void strings_have_three_forms_and_all_escapes(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"'a\"b'", "\"a\\\"b\""},
		{"`a\\n\"`", "\"a\\\\n\\\"\""},
		{"\"\\x41\\101\\u00e9\\U0001F600\"", "\"AA\xc3\xa9\xf0\x9f\x98\x80\""},
		{"\"\\a\\b\\f\\n\\r\\t\\v\\\\\\\"\"",
		 "\"\\x07\\x08\\x0c\\x0a\\x0d\\x09\\x0b\\\\\\\"\""},
		{"'\\''", "\"'\""},
		{"\"\\xff\\000\"", "\"\\xff\\x00\""},
		{"\"\\ufffd\"", "\"\\ufffd\""},
	};
	static const char *const bad[] = {
		"\"a",       "\"\n\"",           "\"\\'\"",
		"'\\\"'",    "\"\\z\"",          "\"\\x4\"",
		"\"\\400\"", "\"\\ud800\"",      "\"\\U00110000\"",
		"\"\xff\"",  "\"\xef\xbf\xbd\"", "`a"};
	auto_buf struct buf out = BUF_INIT;

	ROWS(rows, PROMQL_2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		printed(bad[i], PROMQL_2, &out);
		if (out.len)
			fail_msg("accepted: %s", bad[i]);
	}
}

static void what_prometheus_refuses_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"   ",
		"# only a comment",
		"foo bar",
		"(foo",
		"foo)",
		"foo{",
		"foo}",
		"foo{a}",
		"foo{a=b}",
		"foo{a=\"b\" c=\"d\"}",
		"foo{,}",
		"foo{a=\"b\",,}",
		"foo{a==\"b\"}",
		"{}",
		"{a=\"\"}",
		"{a=~\".*\"}",
		"{a!=\"b\",c=~\"(\"}",
		"foo{a=~\"b**\"}",
		"foo{__name__=\"bar\"}",
		"foo[5m",
		"foo[]",
		"foo[5]",
		"foo[0s]",
		"foo[5m5m]",
		"foo[5m][5m]",
		"(foo)[5m]",
		"1[5m:]",
		"foo offset 5m [5m]",
		"foo @ 1 [5m]",
		"foo offset",
		"foo offset 5m offset 5m",
		"foo @ 1 @ 2",
		"foo @ x",
		"foo @ Inf",
		"foo @ start",
		"1 offset 5m",
		"foo[300y]",
		"foo[5m:1m:1m]",
		"foo[5m::]",
		"rate(foo)",
		"abs(foo[5m])",
		"abs()",
		"abs(foo, bar)",
		"nosuch(foo)",
		"abs(foo,)",
		"round(foo, 1, 2)",
		"label_join(foo)",
		"sum()",
		"sum(foo, bar)",
		"topk(foo)",
		"topk(\"a\", foo)",
		"count_values(1, foo)",
		"sum(1)",
		"sum by a (foo)",
		"sum by (1) (foo)",
		"sum by (a b) (foo)",
		"sum by (a,,) (foo)",
		"by (a) (foo)",
		"sum by (without) (foo)",
		"1 + \"a\"",
		"foo + foo[5m]",
		"1 == 2",
		"foo + bool bar",
		"1 and foo",
		"foo and 1",
		"1 + on(a) foo",
		"foo + group_left bar",
		"foo and on(a) group_left bar",
		"foo + on(a) group_left(a) bar",
		"-\"a\"",
		"-foo[5m]",
		"foo = bar",
		"foo =~ bar",
		"foo ! bar",
		"a.b",
		"foo & bar",
		"foo + ",
		"* foo",
		"on",
		"bool",
		"inf{}",
		"foo{a=\"b\"}{c=\"d\"}",
		"{\"foo\"}",
		"foo{\"a\"=\"b\"}",
		"info(foo)",
		"limitk(1, foo)",
		"foo[5m] anchored",
		"foo + fill(0) bar",
		"sum by (\"a\") (foo)",
		"sum() by (a) by (b)",
	};
	auto_buf struct buf out = BUF_INIT;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		printed(bad[i], PROMQL_2, &out);
		if (out.len)
			fail_msg("accepted: %s as %s", bad[i], out.data);
	}
}

static void prometheus_3_says_more(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"{\"a.b\", \"c d\"=\"e\"}", "{__name__=\"a.b\",\"c d\"=\"e\"}"},
		{"sum by (\"a.b\", c) (foo)", NULL},
		{"foo[300]", "foo[5m]"},
		{"foo offset -1.5", "foo offset -1s500ms"},
		{"1_000", "1000"},
		{"0x_ff", "255"},
		{"5m", NULL},
		{"foo > 1h30m", NULL},
		{"-5m", NULL},
		{"info(foo, {a=~\".*\"})", NULL},
		{"limitk(2, foo)", NULL},
		{"limit_ratio(0.5, foo)", NULL},
		{"double_exponential_smoothing(foo[5m], 0.5, 0.5)", NULL},
		{"foo{a=~\"(?<n>b)\"}", NULL},
	};
	static const char *const bad[] = {"foo[5m*step()]",
					  "1__0",
					  "1_",
					  "foo[-5m]",
					  "foo[0]",
					  "info(foo, bar)",
					  "holt_winters(foo[5m], 1, 1)",
					  "foo[5m] smoothed",
					  "sum by (\"\") (foo)"};
	auto_buf struct buf out = BUF_INIT;

	ROWS(rows, PROMQL_3);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		printed(bad[i], PROMQL_3, &out);
		if (out.len)
			fail_msg("accepted: %s as %s", bad[i], out.data);
	}
}

static void errors_say_line_and_column(void **state)
{
	(void)state;
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"foo{a=b}", "1:7: parse error: unexpected \"b\" in label matching"},
		{"topk(\n  2,\n  rate(bar))", "3:8: parse error: expected type range"},
		{"1 +", "1:4: parse error: unexpected end of input"},
		{"nosuch(foo)", "1:1: parse error: unknown function"},
		{"foo{a=\"", "1:7: parse error: unterminated"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_promql struct promql *q = NULL;
		struct err err;

		assert_int_equal(parse(rows[i].text, PROMQL_2, &q, &err), -EINVAL);
		if (strncmp(err.text, rows[i].error, strlen(rows[i].error)))
			fail_msg("%s: %s", rows[i].text, err.text);
	}
}

static void repeat(struct buf *b, const char *s, unsigned n)
{
	while (n--)
		buf_puts(b, s);
}

static int parse_buf(const struct buf *b)
{
	auto_promql struct promql *q = NULL;
	struct err err;

	return promql_parse(b->data, b->len, PROMQL_2, NULL, &q, &err);
}

static void no_input_is_too_deep_too_long_or_too_much(void **state)
{
	(void)state;
	static const char *const chains[] = {"(",  "-",     "a+",      "2^",    "sum(",
					     "a{", "a or ", "a[5m:][", "abs(-", "a\n"};
	auto_buf struct buf b = BUF_INIT;

	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		buf_reset(&b);
		repeat(&b, chains[i], 10000);
		buf_putc(&b, 'a');
		assert_true(parse_buf(&b) < 0);
	}
	buf_reset(&b); /* many operands, but a flat tree of the right kind */
	repeat(&b, "a + ", 200);
	buf_putc(&b, 'a');
	assert_int_equal(parse_buf(&b), 0);
	buf_reset(&b);
	repeat(&b, "a + ", 300);
	buf_putc(&b, 'a');
	assert_int_equal(parse_buf(&b), -E2BIG);
	buf_reset(&b); /* 1 MB of string */
	buf_putc(&b, '"');
	repeat(&b, "0123456789", 100000);
	buf_putc(&b, '"');
	assert_int_equal(parse_buf(&b), -E2BIG);
	buf_reset(&b);
	buf_puts(&b, "a{");
	repeat(&b, "b=\"\",", 5000);
	buf_putc(&b, '}');
	assert_int_equal(parse_buf(&b), -E2BIG);
}

static void zeros_and_broken_utf8_are_no_query(void **state)
{
	(void)state;
	static const char zero[] = "foo\0", inside[] = "foo{a=\"b\0c\"}",
			  tail[] = "foo # \0 comment";
	auto_promql struct promql *q = NULL;
	struct err err;

	assert_int_equal(promql_parse(zero, 4, PROMQL_2, NULL, &q, &err), -EINVAL);
	assert_int_equal(promql_parse("\xc3", 1, PROMQL_2, NULL, &q, &err), -EINVAL);
	assert_int_equal(promql_parse("\xff{a=\"b\"}", 8, PROMQL_3, NULL, &q, &err),
			 -EINVAL);
	/* a zero in a string is a byte of it, as for Prometheus, and printed visibly */
	assert_int_equal(
		promql_parse(inside, sizeof(inside) - 1, PROMQL_2, NULL, &q, &err), 0);
	auto_buf struct buf out = BUF_INIT;
	promql_print(q, &out);
	assert_string_equal(out.data, "foo{a=\"b\\x00c\"}");
	promql_free(q);
	q = NULL;
	assert_int_equal(promql_parse(tail, sizeof(tail) - 1, PROMQL_2, NULL, &q, &err),
			 0);
}

static void all_selectors_are_found(void **state)
{
	(void)state;
	auto_promql struct promql *q = NULL;
	struct err err;
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
	size_t i = 0;

	assert_int_equal(
		parse("label_replace(topk(scalar(a), b), \"x\", \"\", \"\", \"\") "
		      "* on (x) group_left rate(c[5m]) unless (max_over_time(d[1h:5m] "
		      "offset 1d) or count_values(\"v\", -e)) and (f @ end() > bool g)",
		      PROMQL_2, &q, &err),
		0);
	for (struct promql_node *n = promql_selectors(q); n; n = n->next_selector)
		assert_true(str_eq(n->name, names[i++]));
	assert_int_equal(i, 7);
}

static void a_matcher_can_be_added(void **state)
{
	(void)state;
	auto_promql struct promql *q = NULL;
	auto_buf struct buf out = BUF_INIT;
	struct err err;

	assert_int_equal(
		parse("foo / bar{a=\"b\"}[5m:] + {c=\"d\"}", PROMQL_2, &q, &err),
		-EINVAL);
	assert_int_equal(parse("foo / bar{a=\"b\"} + {c=\"d\"}", PROMQL_2, &q, &err),
			 0);
	for (struct promql_node *n = promql_selectors(q); n; n = n->next_selector)
		assert_int_equal(promql_add_matcher(q, n, MATCH_EQUAL, "id", "x\"y", 3),
				 0);
	promql_print(q, &out);
	assert_string_equal(out.data,
			    "foo{id=\"x\\\"y\"} / bar{a=\"b\",id=\"x\\\"y\"} + "
			    "{c=\"d\",id=\"x\\\"y\"}");
}

static void a_selector_alone_is_what_match_takes(void **state)
{
	(void)state;
	static const char *const good[] = {"foo", "foo{a=\"b\"}", "{a=~\"b|c\"}", "sum",
					   " {a=\"b\"} # c"},
				 *const bad[] = {"foo[5m]", "foo offset 5m", "1",
						 "(foo)",   "foo + bar",     "{}",
						 "\"foo\"", "sum(foo)",      "-foo"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		auto_promql struct promql *q = NULL;
		struct err err;

		assert_int_equal(promql_parse_selector(good[i], strlen(good[i]),
						       PROMQL_2, NULL, &q, &err),
				 0);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_promql struct promql *q = NULL;
		struct err err;

		assert_int_equal(promql_parse_selector(bad[i], strlen(bad[i]), PROMQL_2,
						       NULL, &q, &err),
				 -EINVAL);
	}
}

/* ---- trees ----------------------------------------------------------------------- */

static bool same(const struct promql_node *a, const struct promql_node *b);

static bool same_labels(const struct promql_label *a, const struct promql_label *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (!str_same(a->name, b->name))
			return false;
	return !a && !b;
}

static bool same_matchers(const struct promql_matcher *a,
			  const struct promql_matcher *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (a->match != b->match || !str_same(a->name, b->name) ||
		    !str_same(a->value, b->value))
			return false;
	return !a && !b;
}

static bool same_number(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0 || (a != a && b != b);
}

static bool same(const struct promql_node *a, const struct promql_node *b)
{
	if (!a || !b)
		return a == b;
	return a->kind == b->kind && a->type == b->type && a->op == b->op &&
	       same(a->expr, b->expr) && same(a->right, b->right) &&
	       same(a->param, b->param) && same(a->next, b->next) &&
	       a->function == b->function && same_number(a->number, b->number) &&
	       a->is_duration == b->is_duration && str_same(a->string, b->string) &&
	       str_same(a->name, b->name) && same_matchers(a->matchers, b->matchers) &&
	       a->at == b->at && same_number(a->at_s, b->at_s) &&
	       a->offset_ns == b->offset_ns && a->range_ns == b->range_ns &&
	       a->step_ns == b->step_ns && same(a->range_expr, b->range_expr) &&
	       same(a->step_expr, b->step_expr) &&
	       same(a->offset_expr, b->offset_expr) && a->extent == b->extent &&
	       same(a->fill_left, b->fill_left) && same(a->fill_right, b->fill_right) &&
	       a->grouped == b->grouped && a->without == b->without && a->on == b->on &&
	       same_labels(a->labels, b->labels) && a->return_bool == b->return_bool &&
	       a->card == b->card && same_labels(a->include, b->include);
}

static void round_trip(enum promql_dialect d, unsigned count)
{
	struct promql_random r = {.state = 20261122 + d, .dialect = d};
	auto_buf struct buf text = BUF_INIT, again = BUF_INIT;
	unsigned accepted = 0;

	for (unsigned i = 0; i < count; i++) {
		auto_promql struct promql *a = NULL, *b = NULL;
		struct err err;

		promql_random(&r, &text);
		if (promql_parse(text.data ? text.data : "", text.len, d, NULL, &a,
				 &err))
			continue;
		accepted++;
		buf_reset(&again);
		promql_print(a, &again);
		assert_int_equal(buf_error(&again), 0);
		if (promql_parse(again.data, again.len, d, NULL, &b, &err))
			fail_msg("%s\n as %s\n is refused: %s", text.data, again.data,
				 err.text);
		if (!same(promql_root(a), promql_root(b)))
			fail_msg("%s\n is not %s", text.data, again.data);
	}
	assert_true(accepted > count / 3);
}

static void parse_of_print_of_parse_is_parse(void **state)
{
	(void)state;
	round_trip(PROMQL_2, 100000);
	round_trip(PROMQL_3, 50000);
	round_trip(PROMQL_NEWEST, 50000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_is_read_and_printed),
		cmocka_unit_test(operators_bind_as_documented),
		cmocka_unit_test(minus_binds_like_a_multiplication),
		cmocka_unit_test(numbers_are_read_as_go_reads_them),
		cmocka_unit_test(strings_have_three_forms_and_all_escapes),
		cmocka_unit_test(what_prometheus_refuses_is_refused),
		cmocka_unit_test(prometheus_3_says_more),
		cmocka_unit_test(errors_say_line_and_column),
		cmocka_unit_test(no_input_is_too_deep_too_long_or_too_much),
		cmocka_unit_test(zeros_and_broken_utf8_are_no_query),
		cmocka_unit_test(all_selectors_are_found),
		cmocka_unit_test(a_matcher_can_be_added),
		cmocka_unit_test(a_selector_alone_is_what_match_takes),
		cmocka_unit_test(parse_of_print_of_parse_is_parse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
