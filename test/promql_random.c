/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The generator of random queries. */
#include "test/promql_random.h"

#include <string.h>

#define PICK(r, list) (list)[random_below(r, sizeof(list) / sizeof((list)[0]))]

uint32_t random_below(struct promql_random *r, uint32_t n)
{
	/* xorshift64* */
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (uint32_t)((r->state * 0x2545f4914f6cdd1dull) >> 33) % n;
}

/* true in so many of a hundred cases */
static bool chance(struct promql_random *r, unsigned percent)
{
	return random_below(r, 100) < percent;
}

static const char *const numbers[] = {
	"1",     "0",   "2.5", ".5",   "1.",  "1e3",  "1E-3", "0x1f", "0X1F",
	"017",   "Inf", "NaN", "+1",   "-2",  "-Inf", "1e+2", "08",   "42",
	"0.001", "100", "3",   "1e10", "007", "0xff", "12.5", "9",    "1e-400",
};
static const char *const odd_numbers[] = {
	"0x",
	"1e",
	"1_000",
	"1e400",
	"9223372036854775808",
	"0xffffffffffffffff",
	"1.5.2",
	"0x1.8",
	"00",
	"1__0",
	"1_",
	"0b1",
	"0o7",
	"1e5e",
	".5.",
	"5m",
	"1h30m",
	"0777777777777777777777777",
	"0x_1",
	"2_3.4",
	"1e1_0",
	"1 2",
	"--1",
	"0.1e+5",
};
static const char *const durations[] = {
	"5m",  "1h",    "30s",   "1d",   "2w", "1y", "1h30m",          "10m",
	"90s", "100ms", "1m30s", "010m", "2h", "7d", "1y2w3d4h5m6s7ms"};
static const char *const odd_durations[] = {
	"5s5m", "0s",  "5",   "1.5h", "300y",  "1hs",     "ms5",
	"1m1m", "",    "-5m", "y2w",  "1h 5m", "106751d", "99999999999999999999s",
	"5mm",  "300", "1e3"};
static const char *const metrics[] = {
	"foo",    "bar",
	"up",     "node:x:rate",
	"sum",    "by",
	"Count",  "without",
	"offset", "start",
	"end",    "and",
	"or",     "a1_b",
	"x",      "group",
	"unless", ":a",
	"_",      "topk",
	"limitk", "ceems_compute_unit_cpu_user_seconds_total",
	"avg",
};
static const char *const odd_metrics[] = {"inf",   "on",         "bool",
					  "ATAN2", "group_left", "ignoring",
					  "1a",    "a.b",        "\xc3\xa9"};
static const char *const labels[] = {
	"a",  "b",      "uuid",  "instance", "le",    "__name__", "by",  "sum",
	"on", "offset", "start", "and",      "atan2", "manager",  "job", "group_left"};
static const char *const odd_labels[] = {"c:d", "inf", "without", "1", "a b", ""};
static const char *const texts[] = {
	"\"\"",
	"\"a\"",
	"'mine'",
	"`x`",
	"\"12|34\"",
	"\"(a|b)\"",
	"'x.y'",
	"\".+\"",
	"\".*\"",
	"\"[a-z]+\"",
	"`\\d+`",
	"\"a b\"",
	"\"\\x41\"",
	"\"\\101\"",
	"'\\u00e9'",
	"\"\\U0001F600\"",
	"\"\xc3\xa9\"",
	"'\\''",
	"\"\\\"\"",
	"\"\\n\\t\\\\\"",
	"`^a$`",
	"\"a?\"",
	"`(?i)x`",
	"`\\Qa|b\\E`",
	"\"[[:alpha:]]\"",
	"`(?:a|b)c`",
	"`\\pN+`",
	"'a{2,3}'",
	"\"{\"",
	"`[]a]`",
	"\"a#b\"",
	"`(?P<n>a)`",
	"\"\\ufffd\"",
	"`a\nb`",
	"\"\\x01\\x7f\"",
	"`x*?`",
	"`\\b`",
	"`(a|b|)`",
	"`a|`",
	"'5'",
};
static const char *const odd_texts[] = {
	"\"open",
	"\"\\z\"",
	"\"\\ud800\"",
	"\"\\400\"",
	"\"\n\"",
	"'a\\\"'",
	"\"\\x4\"",
	"\"\\xff\"",
	"`a**`",
	"`(`",
	"`a{1001}`",
	"`(a{500}){3}`",
	"`[z-a]`",
	"`\\1`",
	"`a{2,1}`",
	"`*`",
	"`(?z)`",
	"`)(`",
	"`\\C`",
	"`a|*`",
	"`[[:foo:]]`",
	"`\\Qa`",
	"`(?-)`",
	"`x*?*`",
	"\"\xef\xbf\xbd\"",
	"\"\\U00110000\"",
	"`(?<n>a)`",
	"`\\`",
	"`[a`",
	"`\\x{110000}`",
};

#define ODD(r, usual, odd) (!(r)->clean && chance(r, 4) ? PICK(r, odd) : PICK(r, usual))

static void gap(struct promql_random *r, struct buf *out)
{
	static const char *const gaps[] = {" ",      "  ",      "\n", "\t",
					   " # c\n", "#\"x{\r", " "};

	if (chance(r, 12))
		buf_puts(out, PICK(r, gaps));
}

static void put_text(struct promql_random *r, struct buf *out)
{
	buf_puts(out, ODD(r, texts, odd_texts));
}

static void put_label(struct promql_random *r, struct buf *out)
{
	if (r->dialect != PROMQL_2 && chance(r, 15))
		put_text(r, out);
	else
		buf_puts(out, ODD(r, labels, odd_labels));
}

static void put_labels(struct promql_random *r, struct buf *out)
{
	uint32_t n = random_below(r, 4);

	buf_putc(out, '(');
	for (uint32_t i = 0; i < n; i++) {
		gap(r, out);
		put_label(r, out);
		if (i + 1 < n || chance(r, 10))
			buf_putc(out, ',');
	}
	buf_putc(out, ')');
}

static bool is_newest(const struct promql_random *r)
{
	return r->dialect == PROMQL_NEWEST;
}

/* one that is an expression */
static void put_computed(struct promql_random *r, struct buf *out, unsigned depth)
{
	static const char *const leaves[] = {"5m",     "30",       "2",        "1h",
					     "step()", "range ()", "STEP ( )", "1.5"};
	static const char *const ops[] = {"+", "*", "-", "/", "%", "^", "+", " * "};

	switch (depth ? random_below(r, 6) : 0) {
	case 1:
		buf_putc(out, '(');
		put_computed(r, out, depth - 1);
		buf_putc(out, ')');
		break;
	case 2:
		buf_puts(out, chance(r, 70) ? "-" : "+");
		put_computed(r, out, depth - 1);
		break;
	case 3:
		buf_puts(out, chance(r, 50) ? "max_of(" : "min_of(");
		put_computed(r, out, depth - 1);
		buf_puts(out, ", ");
		put_computed(r, out, depth - 1);
		buf_putc(out, ')');
		break;
	case 4:
	case 5:
		put_computed(r, out, depth - 1);
		buf_puts(out, PICK(r, ops));
		put_computed(r, out, depth - 1);
		break;
	default:
		buf_puts(out, PICK(r, leaves));
	}
}

static void put_duration(struct promql_random *r, struct buf *out)
{
	gap(r, out);
	if (is_newest(r) && chance(r, 30))
		put_computed(r, out, 3);
	else
		buf_puts(out, ODD(r, durations, odd_durations));
	gap(r, out);
}

static void put_extent(struct promql_random *r, struct buf *out)
{
	if (is_newest(r) && chance(r, 8))
		buf_puts(out, chance(r, 50) ? " anchored" : " smoothed");
}

static void put_selector(struct promql_random *r, struct buf *out)
{
	static const char *const matches[] = {"=", "!=", "=~", "!~", "=", "=~"};
	static const char *const odd_matches[] = {"==", "~", "<", ""};
	bool named = chance(r, 85);
	uint32_t n = named ? random_below(r, 4) : 1 + random_below(r, 2);

	if (r->selector) {
		r->selector(r->arg, r, out);
		return;
	}
	if (named)
		buf_puts(out, ODD(r, metrics, odd_metrics));
	if (named && chance(r, 40))
		return;
	gap(r, out);
	buf_putc(out, '{');
	for (uint32_t i = 0; i < n; i++) {
		gap(r, out);
		put_label(r, out);
		gap(r, out);
		buf_puts(out, ODD(r, matches, odd_matches));
		gap(r, out);
		put_text(r, out);
		if (i + 1 < n || chance(r, 10))
			buf_putc(out, ',');
	}
	buf_putc(out, '}');
}

static void put_times(struct promql_random *r, struct buf *out)
{
	static const char *const ats[] = {"1",       "1.5",        "-3",
					  "start()", "end()",      "+2",
					  "end ( )", "1609746000", "1e9"};
	static const char *const odd_ats[] = {"Inf", "5m", "start", "1e19", "NaN", "x"};

	if (chance(r, 12)) {
		buf_puts(out, chance(r, 25) ? " offset -" : " offset ");
		if (is_newest(r) && chance(r, 30))
			put_computed(r, out, 3);
		else
			buf_puts(out, ODD(r, durations, odd_durations));
	}
	if (chance(r, 12)) {
		buf_puts(out, " @ ");
		buf_puts(out, ODD(r, ats, odd_ats));
	}
	if (!r->clean && chance(r, 2))
		buf_puts(out, " offset 1m");
}

static void put_expr(struct promql_random *r, struct buf *out, unsigned depth,
		     char type);

static void put_leaf(struct promql_random *r, struct buf *out, char type)
{
	if (type == 's') {
		buf_puts(out, ODD(r, numbers, odd_numbers));
	} else if (type == 't') {
		put_text(r, out);
	} else {
		put_selector(r, out);
		if (type == 'm') {
			gap(r, out);
			buf_putc(out, '[');
			put_duration(r, out);
			buf_putc(out, ']');
		}
		put_extent(r, out);
		put_times(r, out);
	}
}

static void put_subquery(struct promql_random *r, struct buf *out, unsigned depth)
{
	put_expr(r, out, depth - 1, 'v');
	buf_putc(out, '[');
	put_duration(r, out);
	buf_putc(out, ':');
	if (chance(r, 60))
		put_duration(r, out);
	buf_putc(out, ']');
	put_times(r, out);
}

static void put_fill(struct promql_random *r, struct buf *out)
{
	switch (is_newest(r) ? random_below(r, 12) : 0) {
	case 1:
		buf_puts(out, " fill (-1.5)");
		break;
	case 2:
		buf_puts(out, " fill_left(5m)");
		break;
	case 3:
		buf_puts(out, " fill_right (0) fill_left (+Inf)");
		break;
	default:
		break;
	}
}

static void put_binary(struct promql_random *r, struct buf *out, unsigned depth,
		       char type)
{
	static const char *const ops[] = {"+", "-", "*", "/", "%",    "^",
					  "+", "-", "*", "/", "atan2"};
	static const char *const comparisons[] = {"==", "!=", "<", ">", "<=", ">="};
	static const char *const sets[] = {"and", "or", "unless", "AND"};
	static const char *const odd_ops[] = {"=", "!", "&", "=~", "</", "and and"};
	char left = type, right = type;
	uint32_t kind = random_below(r, 10);
	bool comparison = kind >= 7 && kind < 9, set = kind == 9 && type == 'v';

	if (type == 'v' && !set && chance(r, 30)) {
		if (chance(r, 50))
			left = 's';
		else
			right = 's';
	}
	put_expr(r, out, depth - 1, left);
	buf_putc(out, ' ');
	if (!r->clean && chance(r, 1))
		buf_puts(out, PICK(r, odd_ops));
	else if (set)
		buf_puts(out, PICK(r, sets));
	else if (is_newest(r) && chance(r, 10))
		buf_puts(out, chance(r, 50) ? "</" : ">/");
	else
		buf_puts(out, comparison ? PICK(r, comparisons) : PICK(r, ops));
	if (comparison ? type == 's' || chance(r, 40) : !r->clean && chance(r, 1))
		buf_puts(out, " bool");
	if (left == 'v' && right == 'v' && chance(r, 30)) {
		buf_puts(out, chance(r, 50) ? " on" : " ignoring");
		put_labels(r, out);
		if (!set && chance(r, 40)) {
			buf_puts(out, chance(r, 50) ? " group_left" : " group_right");
			if (chance(r, 70))
				put_labels(r, out);
		}
	}
	if (left == 'v' && right == 'v' && !set)
		put_fill(r, out);
	buf_putc(out, ' ');
	put_expr(r, out, depth - 1, right);
}

static void put_grouping(struct promql_random *r, struct buf *out)
{
	buf_puts(out, chance(r, 50) ? " by " : " without");
	put_labels(r, out);
	gap(r, out);
}

static void put_aggregate(struct promql_random *r, struct buf *out, unsigned depth)
{
	static const struct {
		const char *name;
		char param;
	} ops[] = {
		{"sum", 0},       {"avg", 0},        {"count", 0},
		{"min", 0},       {"max", 0},        {"group", 0},
		{"stddev", 0},    {"stdvar", 0},     {"topk", 's'},
		{"bottomk", 's'}, {"quantile", 's'}, {"count_values", 't'},
		{"SUM", 0},       {"limitk", 's'},   {"limit_ratio", 's'},
	};
	size_t most = sizeof(ops) / sizeof(ops[0]) - (r->dialect != PROMQL_2 ? 0 : 2);
	size_t i = random_below(r, (uint32_t)most);
	uint32_t where = random_below(r, 3);

	buf_puts(out, ops[i].name);
	if (where == 1)
		put_grouping(r, out);
	buf_putc(out, '(');
	if (ops[i].param && (r->clean || !chance(r, 2))) {
		put_leaf(r, out, ops[i].param);
		buf_puts(out, ", ");
	}
	put_expr(r, out, depth - 1, 'v');
	buf_putc(out, ')');
	if (where == 2)
		put_grouping(r, out);
}

static void put_call(struct promql_random *r, struct buf *out, unsigned depth,
		     char type)
{
	static const struct {
		const char *name, *args;
	} scalars[] = {{"time", ""}, {"pi", ""}, {"scalar", "v"}},
	  vectors[] =
		  {
			  {"abs", "v"},
			  {"absent", "v"},
			  {"clamp", "vss"},
			  {"clamp_max", "vs"},
			  {"round", "v"},
			  {"round", "vs"},
			  {"rate", "m"},
			  {"irate", "m"},
			  {"increase", "m"},
			  {"max_over_time", "m"},
			  {"quantile_over_time", "sm"},
			  {"predict_linear", "ms"},
			  {"histogram_quantile", "sv"},
			  {"label_replace", "vtttt"},
			  {"label_join", "vttt"},
			  {"label_join", "vtttt"},
			  {"label_join", "vtt"},
			  {"hour", ""},
			  {"hour", "v"},
			  {"vector", "s"},
			  {"sort_desc", "v"},
			  {"timestamp", "v"},
			  {"last_over_time", "m"},
			  {"absent_over_time", "m"},
			  {"histogram_fraction", "ssv"},
		  },
	  newest[] = {{"start", ""}, {"end", ""},      {"step", ""},
		      {"range", ""}, {"max_of", "ss"}, {"min_of", "ss"}},
	  newest_vectors[] = {{"first_over_time", "m"}, {"histogram_quantiles", "vts"},
			      {"integral", "m"},        {"start_timestamp", "v"},
			      {"sort_by_label", "vt"},  {"mad_over_time", "m"}},
	  odd[] = {{"nosuch", "v"},         {"rate", "v"}, {"abs", ""},   {"time", "s"},
		   {"holt_winters", "mss"}, {"info", "v"}, {"hour", "vv"}};
	const char *name, *args;

	if (!r->clean && chance(r, 4)) {
		size_t i = random_below(r, sizeof(odd) / sizeof(odd[0]));

		name = odd[i].name;
		args = odd[i].args;
	} else if (is_newest(r) && chance(r, 20)) {
		size_t i = random_below(r, 6);

		name = type == 's' ? newest[i].name : newest_vectors[i].name;
		args = type == 's' ? newest[i].args : newest_vectors[i].args;
	} else if (type == 's') {
		size_t i = random_below(r, 3);

		name = scalars[i].name;
		args = scalars[i].args;
	} else {
		size_t i = random_below(r, sizeof(vectors) / sizeof(vectors[0]));

		name = vectors[i].name;
		args = vectors[i].args;
	}
	buf_puts(out, name);
	gap(r, out);
	buf_putc(out, '(');
	for (; *args; args++) {
		gap(r, out);
		put_expr(r, out, depth - 1, *args);
		if (args[1])
			buf_puts(out, ", ");
	}
	if (!r->clean && chance(r, 1))
		buf_putc(out, ',');
	buf_putc(out, ')');
}

static void put_expr(struct promql_random *r, struct buf *out, unsigned depth,
		     char type)
{
	uint32_t kind = random_below(r, 100);

	if (!depth || type == 't') {
		put_leaf(r, out, type);
	} else if (type == 'm') {
		if (kind < 60)
			put_leaf(r, out, 'm');
		else
			put_subquery(r, out, depth);
	} else if (kind < 12) {
		buf_putc(out, '(');
		gap(r, out);
		put_expr(r, out, depth - 1, type);
		gap(r, out);
		buf_putc(out, ')');
	} else if (kind < 18) {
		buf_puts(out, chance(r, 70) ? "-" : "+");
		gap(r, out);
		put_expr(r, out, depth - 1, type);
	} else if (kind < 50) {
		put_binary(r, out, depth, type);
	} else if (kind < 70 && type == 'v') {
		put_aggregate(r, out, depth);
	} else {
		put_call(r, out, depth, type);
	}
}

/* A byte more, less or other */
static void spoil(struct promql_random *r, struct buf *out)
{
	static const char signs[] = "(){}[],:\"'`#@+-*/^=!~<>. a0_\n\\";
	size_t at = random_below(r, (uint32_t)out->len);
	char c = signs[random_below(r, sizeof(signs) - 1)];

	switch (random_below(r, 3)) {
	case 0:
		memmove(out->data + at, out->data + at + 1, out->len - at);
		buf_truncate(out, out->len - 1);
		break;
	case 1:
		buf_putc(out, ' ');
		memmove(out->data + at + 1, out->data + at, out->len - at - 1);
		out->data[at] = c;
		break;
	default:
		out->data[at] = c;
	}
}

void promql_random(struct promql_random *r, struct buf *out)
{
	static const char types[] = "vvvvvvsmt";

	buf_reset(out);
	gap(r, out);
	put_expr(r, out, random_below(r, 5), types[random_below(r, sizeof(types) - 1)]);
	gap(r, out);
	if (!r->clean && out->len && chance(r, 15))
		spoil(r, out);
}
