/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the text of a request costs, counted in steps and never in time: no text costs
 * much more than the dearest benign one of its length, and twice the text costs about
 * twice as much. Known worst cases, and a search for others (CHECK_LONG=1: longer). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/access.h"
#include "lb/promql/promql.h"
#include "lb/promql/steps.h"
#include "lb/pyroscope/pyro_message.h"
#include "test/unit/unit.h"

#define LENGTH 6000u
#define DEARER 5.0
#define DOUBLED 2.3

/* As many as a site has with all of its exporters */
static const struct access_family families[] = {
	{"cpu", "uuid", false}, {"memory", "uuid", false}, {"gpu_*", "uuid", false},
	{"f1_*", NULL, false},  {"f2_*", NULL, false},     {"f3_*", NULL, false},
	{"f4_*", NULL, false},  {"f5_*", NULL, false},     {"up", NULL, false},
};
static const struct access_policy policy = {
	.families = families,
	.family_count = sizeof(families) / sizeof(families[0]),
	.cluster_label = "cluster",
	.cluster = "alpha",
};

/* A text is begin, as many of part as there is room for, middle, part again, end. A "#"
 * in part is the number of the part, so that no two are the same. */
struct shape {
	const char *name, *begin, *part, *middle, *end;
};

static void put_parts(struct buf *out, const char *part, size_t len)
{
	for (unsigned i = 0; *part && out->len < len; i++)
		for (const char *p = part; *p; p++) {
			if (*p == '#')
				buf_printf(out, "%u", i);
			else
				buf_putc(out, *p);
		}
}

static void put_shape(struct buf *out, const struct shape *s, size_t len)
{
	buf_reset(out);
	buf_puts(out, s->begin);
	put_parts(out, s->part, s->middle ? len / 2 : len);
	if (s->middle) {
		buf_puts(out, s->middle);
		put_parts(out, s->part, len);
	}
	buf_puts(out, s->end);
}

static const uint64_t endless = UINT64_MAX;

static uint64_t steps_of_query(const struct buf *text, enum promql_dialect d)
{
	struct steps steps = {.most = endless};
	const struct promql_limits limits = {.steps = &steps};
	auto_promql struct promql *q = NULL;
	struct access_plan *plan = NULL;
	struct err err;

	if (promql_parse(text->data, text->len, d, &limits, &q, &err))
		return steps.used;
	assert_int_equal(access_plan_new(&policy, &plan), 0);
	(void)!access_plan_add(plan, q, 1000000, 2000000, &err);
	access_plan_free(plan);
	return steps.used;
}

static uint64_t steps_of(const struct shape *s, size_t len)
{
	auto_buf struct buf text = BUF_INIT;
	uint64_t a, b;

	put_shape(&text, s, len);
	assert_int_equal(buf_error(&text), 0);
	a = steps_of_query(&text, PROMQL_2);
	b = steps_of_query(&text, PROMQL_NEWEST);
	return a > b ? a : b;
}

static const struct shape benign[] = {
	{"units", "cpu{uuid=~\"4711", "|#", NULL, "\"}"},
	{"panels", "0", " or sum by (host) (rate(cpu{uuid=\"4711\"}[5m])) / 2", NULL,
	 ""},
	{"sums", "cpu{uuid=\"1\"}", " + cpu{uuid=\"#\"}", NULL, ""},
	{"labels", "sum by (a", ",l#", NULL, ") (cpu{uuid=\"1\"})"},
	{"matchers", "cpu{uuid=\"1\"", ",l#=\"x\"", NULL, "}"},
	{"metrics", "{uuid=\"1\",__name__=~\"cpu", "|gpu_#", NULL, "\"}"},
};

static uint64_t dearest(size_t len)
{
	uint64_t most = 0;

	for (size_t i = 0; i < sizeof(benign) / sizeof(benign[0]); i++) {
		uint64_t n = steps_of(&benign[i], len);

		most = n > most ? n : most;
	}
	return most;
}

static void benign_queries_are_far_from_the_limit(void **state)
{
	(void)state;
	for (size_t len = 100; len <= 60000; len *= 3)
		assert_true(dearest(len) * 3 < steps_for(len).most);
}

#define RE "cpu{uuid=\"1\",b=~`"
static const struct shape hostile[] = {
	{"names of classes without end", RE "[", "[:", NULL, "`}"},
	{"classes with such names", RE, "[[:]", NULL, "`}"},
	{"repetitions that are none", RE "a", "{1", NULL, "`}"},
	{"repetitions of many digits", RE "a{", "1", NULL, "`}"},
	{"pairs that are none", RE "a", "{1,1", NULL, "`}"},
	{"names of scripts", RE, "\\p{a", NULL, "`}"},
	{"quotes", RE, "\\Qa", NULL, "\\E`}"},
	{"flags", RE, "(?i)", NULL, "`}"},
	{"alternatives of nothing", RE, "|", NULL, "`}"},
	{"groups", RE, "(a)", NULL, "`}"},
	{"classes of ranges", RE "[", "a-b", NULL, "]`}"},
	{"labels on both sides", "a * on(x", ",l#", ") group_left(y", ") b"},
	{"the same label on both sides", "a * on(x", ",l", ") group_left(y", ") b"},
	{"names without a comma", "cpu{uuid=\"1\"", ",a=~\"x|y\"", NULL, "}"},
	{"metrics by name, again and again", "{uuid=\"1\"", ",__name__=~\"a.\"", NULL,
	 "}"},
	{"many metrics", "{uuid=\"1\",__name__=~\"up", "|a", NULL, "\"}"},
	{"units again and again", "cpu{uuid=~\"1.\"", ",uuid=~\"a.\"", NULL, "}"},
	{"one unit many times", "cpu{uuid=~\"1", "|1", NULL, "\"}"},
	{"words", "a", " or a", NULL, ""},
	{"comments", "a", "#\n", NULL, ""},
	{"a long word", "a", "a", NULL, ""},
	{"blanks behind words", "a", " ", NULL, "or b"},
	{"a string behind a word", "a \"", "x", NULL, "\""},
	{"signs", "", "-", NULL, "1"},
	{"brackets", "", "(", NULL, "1"},
	{"calls", "", "abs(", NULL, "a"},
	{"numbers", "1", "+1", NULL, ""},
	{"a long number", "1", "1", NULL, ""},
	{"a long duration", "a[1", "1", NULL, "m]"},
	{"subqueries", "a", "[1m:]", NULL, ""},
	{"offsets", "a", " offset 1m", NULL, ""},
	{"escapes", "a{b=\"", "\\x41", NULL, "\"}"},
	{"joined labels", "label_join(a,\"b\"", ",\"c\"", NULL, ")"},
};

static void no_known_text_costs_much_more_than_a_benign_one(void **state)
{
	uint64_t most = dearest(LENGTH);

	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		uint64_t n = steps_of(&hostile[i], LENGTH);
		uint64_t twice = steps_of(&hostile[i], 2 * LENGTH);

		if ((double)n > DEARER * (double)most)
			fail_msg("%s: %llu steps, the dearest benign one %llu",
				 hostile[i].name, (unsigned long long)n,
				 (unsigned long long)most);
		if ((double)twice > DOUBLED * (double)n)
			fail_msg("%s: %llu steps, %llu for twice the length",
				 hostile[i].name, (unsigned long long)n,
				 (unsigned long long)twice);
	}
}

/* ---- others than PromQL ---------------------------------------------------------- */

static uint64_t steps_of_message(bool json, size_t fields)
{
	struct steps steps = {.most = endless};
	struct pyro_arena a = {.steps = &steps};
	auto_buf struct buf b = BUF_INIT;
	struct pyro_message *m;
	struct err err;

	if (json) {
		buf_puts(&b, "{\"matchers\":[\"a\"");
		for (size_t i = 1; i < fields; i++)
			buf_puts(&b, ",\"a\"");
		buf_puts(&b, "]}");
		assert_int_equal(
			pyro_read_json(&a, &pyro_series, b.data, b.len, &m, &err), 0);
	} else {
		/* two lists, a value of each in turn */
		for (size_t i = 0; i < fields; i++) {
			buf_put(&b, i % 2 ? "\x0a\x01" : "\x12\x01", 2);
			buf_putc(&b, 'a');
		}
		assert_int_equal(
			pyro_read_proto(&a, &pyro_series, b.data, b.len, &m, &err), 0);
	}
	pyro_arena_done(&a);
	return steps.used;
}

static void messages_cost_as_much_as_they_are_long(void **state)
{
	(void)state;
	for (int json = 0; json < 2; json++)
		assert_true((double)steps_of_message(json, 1000) <
			    DOUBLED * (double)steps_of_message(json, 500));
}

/* Values of two lists in turn stand by field, then as they came. */
static void values_of_lists_keep_their_order(void **state)
{
	static const char bytes[] = "\x12\x01"
				    "1\x0a\x01"
				    "2\x12\x01"
				    "3\x0a\x01"
				    "4";
	struct pyro_arena a = {0};
	struct pyro_message *m;
	char order[8] = "";
	struct err err;
	size_t n = 0;

	(void)state;
	assert_int_equal(
		pyro_read_proto(&a, &pyro_series, bytes, sizeof(bytes) - 1, &m, &err),
		0);
	for (const struct pyro_value *v = m->values; v && n < 7; v = v->next)
		order[n++] = v->string.p[0];
	assert_string_equal(order, "2413");
	pyro_arena_done(&a);
}

/* ---- when they are spent --------------------------------------------------------- */

static void spent_steps_refuse_and_say_so(void **state)
{
	static const char text[] = "cpu{uuid=~\"1|2|3|4|5|6|7|8\"}";
	auto_buf struct buf again = BUF_INIT;
	struct promql *q = NULL;
	struct access_plan *plan;
	struct err err;
	uint64_t parsed, all;

	(void)state;
	buf_puts(&again, text);
	all = steps_of_query(&again, PROMQL_2);
	for (uint64_t most = 0; most < all; most++) {
		struct steps steps = {.most = most};
		const struct promql_limits limits = {.steps = &steps};
		int rc;

		err.text[0] = '\0';
		rc = promql_parse(text, sizeof(text) - 1, PROMQL_2, &limits, &q, &err);
		parsed = steps.used;
		if (!rc) {
			assert_int_equal(access_plan_new(&policy, &plan), 0);
			rc = access_plan_add(plan, q, 1000000, 2000000, &err);
			access_plan_free(plan);
			promql_free(q);
			assert_true(parsed <= most);
		}
		assert_int_equal(rc, -E2BIG);
		assert_non_null(strstr(err.text, "too much work"));
	}
}

/* ---- a search -------------------------------------------------------------------- */

static const char *const fragments[] = {
	"a",
	"b",
	"cpu",
	"up",
	"1",
	"5m",
	"\"",
	"`",
	"{",
	"}",
	"[",
	"]",
	"(",
	")",
	",",
	"=",
	"=~",
	"!~",
	"!=",
	"|",
	"\\",
	"[:",
	":]",
	"[:a",
	"^",
	"-",
	"+",
	" ",
	"\n",
	"# ",
	"#",
	"*",
	"?",
	"{1",
	"{1,2}",
	"\\p{",
	"\\Q",
	"(?i)",
	"(?:",
	".",
	"uuid",
	"uuid=~\"1|2\"",
	"__name__=~\"a|b\"",
	" on(",
	" by (",
	" group_left(",
	" or ",
	" and ",
	"sum(",
	"rate(",
	"abs(",
	"offset 1m",
	" @ 1",
	"[1m:]",
	"\\x41",
	"\xc3\xa9",
	"cpu{uuid=~\"",
	"a{b=~`",
	"a * on(x",
	") group_left(y",
	",l#",
	"1e",
	"0x",
	"'",
};
#define FRAGMENTS (sizeof(fragments) / sizeof(fragments[0]))
#define GENES 20u /* begin, part, middle, end: five each */

struct random {
	uint64_t x;
};

static unsigned next_random(struct random *r, unsigned below)
{
	r->x ^= r->x << 13;
	r->x ^= r->x >> 7;
	r->x ^= r->x << 17;
	return (unsigned)((r->x >> 11) % below);
}

static void put_genes(const unsigned *genes, char *out, size_t size)
{
	out[0] = '\0';
	for (unsigned i = 0; i < GENES / 4; i++) {
		size_t n = strlen(out);

		if (genes[i] < FRAGMENTS)
			snprintf(out + n, size - n, "%s", fragments[genes[i]]);
	}
}

static uint64_t steps_of_genes(const unsigned *genes, size_t len)
{
	char text[4][128];
	struct shape s = {"found", text[0], text[1], text[2], text[3]};

	for (unsigned i = 0; i < 4; i++)
		put_genes(genes + i * (GENES / 4), text[i], sizeof(text[i]));
	return steps_of(&s, len);
}

/* A text is changed a little, again and again, and kept when it costs no less. */
static void climb(uint64_t seed, unsigned rounds)
{
	struct random r = {seed * 0x9e3779b97f4a7c15ull};
	unsigned genes[GENES], tried[GENES];
	const size_t len = 1500;
	uint64_t best = 0, twice;

	for (unsigned i = 0; i < GENES; i++)
		genes[i] = next_random(&r, 2 * FRAGMENTS); /* half of them empty */
	for (unsigned i = 0; i < rounds; i++) {
		unsigned changes = 1 + next_random(&r, 4);
		uint64_t n;

		memcpy(tried, genes, sizeof(tried));
		while (changes--)
			tried[next_random(&r, GENES)] = next_random(&r, 2 * FRAGMENTS);
		n = steps_of_genes(tried, len);
		if (n < best)
			continue;
		best = n;
		memcpy(genes, tried, sizeof(genes));
	}
	twice = steps_of_genes(genes, 2 * len);
	if ((double)best > DEARER * (double)dearest(len) ||
	    (double)twice > DOUBLED * (double)best) {
		for (unsigned i = 0; i < GENES; i++)
			print_message("%s%s", i % (GENES / 4) ? "" : " ~ ",
				      genes[i] < FRAGMENTS ? fragments[genes[i]] : "");
		fail_msg("%llu steps, %llu for twice the length; the dearest benign "
			 "one %llu",
			 (unsigned long long)best, (unsigned long long)twice,
			 (unsigned long long)dearest(len));
	}
}

static void a_search_finds_nothing_dearer(void **state)
{
	bool is_long = getenv("CHECK_LONG") != NULL;

	(void)state;
	for (uint64_t seed = 1; seed <= (is_long ? 40 : 4); seed++)
		climb(seed, is_long ? 20000 : 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(benign_queries_are_far_from_the_limit),
		cmocka_unit_test(no_known_text_costs_much_more_than_a_benign_one),
		cmocka_unit_test(messages_cost_as_much_as_they_are_long),
		cmocka_unit_test(values_of_lists_keep_their_order),
		cmocka_unit_test(spent_steps_refuse_and_say_so),
		cmocka_unit_test(a_search_finds_nothing_dearer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
