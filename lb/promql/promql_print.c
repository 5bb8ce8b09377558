/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints a tree as text that parses to the same tree. */
#include <math.h>
#include <string.h>

#include "lb/promql/promql_impl.h"

static void print_node(const struct promql_node *n, struct buf *out);

const char *promql_op_name(enum promql_op op)
{
	static const char *const names[PROMQL_OPS] = {
		[PROMQL_OR] = "or",
		[PROMQL_AND] = "and",
		[PROMQL_UNLESS] = "unless",
		[PROMQL_EQL] = "==",
		[PROMQL_NEQ] = "!=",
		[PROMQL_LTE] = "<=",
		[PROMQL_LSS] = "<",
		[PROMQL_GTE] = ">=",
		[PROMQL_GTR] = ">",
		[PROMQL_TRIM_UPPER] = "</",
		[PROMQL_TRIM_LOWER] = ">/",
		[PROMQL_ADD] = "+",
		[PROMQL_SUB] = "-",
		[PROMQL_MUL] = "*",
		[PROMQL_DIV] = "/",
		[PROMQL_MOD] = "%",
		[PROMQL_ATAN2] = "atan2",
		[PROMQL_POW] = "^",
		[PROMQL_SUM] = "sum",
		[PROMQL_AVG] = "avg",
		[PROMQL_COUNT] = "count",
		[PROMQL_MIN] = "min",
		[PROMQL_MAX] = "max",
		[PROMQL_GROUP] = "group",
		[PROMQL_STDDEV] = "stddev",
		[PROMQL_STDVAR] = "stdvar",
		[PROMQL_TOPK] = "topk",
		[PROMQL_BOTTOMK] = "bottomk",
		[PROMQL_COUNT_VALUES] = "count_values",
		[PROMQL_QUANTILE] = "quantile",
		[PROMQL_LIMITK] = "limitk",
		[PROMQL_LIMIT_RATIO] = "limit_ratio",
		[PROMQL_STEP] = "step",
		[PROMQL_QUERY_RANGE] = "range",
		[PROMQL_MIN_OF] = "min_of",
		[PROMQL_MAX_OF] = "max_of",
	};

	return names[op];
}

static void put_string(struct buf *out, struct str s)
{
	buf_putc(out, '"');
	for (uint32_t i = 0; i < s.len;) {
		unsigned char c = (unsigned char)s.p[i];
		size_t n = utf8_len(s.p + i, s.len - i);

		if (n == 3 && memcmp(s.p + i, "\xef\xbf\xbd", 3) == 0) {
			buf_puts(out, "\\ufffd"); /* refused when it is parsed there */
		} else if (!n || c < 0x20 || c == 0x7f) {
			buf_printf(out, "\\x%02x", c);
			n = 1;
		} else {
			if (c == '"' || c == '\\')
				buf_putc(out, '\\');
			buf_put(out, s.p + i, n);
		}
		i += (uint32_t)n;
	}
	buf_putc(out, '"');
}

static void put_name(struct buf *out, struct str name)
{
	if (promql_plain_label(name))
		buf_put(out, name.p, name.len);
	else
		put_string(out, name);
}

static void put_labels(struct buf *out, const struct promql_label *l)
{
	buf_puts(out, " (");
	for (; l; l = l->next) {
		put_name(out, l->name);
		if (l->next)
			buf_puts(out, ", ");
	}
	buf_puts(out, ")");
}

/* Largest unit that divides it, then smaller ones */
static void put_duration(struct buf *out, int64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {
		{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
	};
	uint64_t ms;

	if (!ns)
		buf_puts(out, "0s");
	if (ns < 0) {
		buf_putc(out, '-');
		ns = -ns;
	}
	ms = (uint64_t)ns / 1000000;
	if ((uint64_t)ns % 1000000) { /* PROMQL_3 alone has such */
		buf_put_scaled(out, (uint64_t)ns, 9);
		return;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (ms < units[i].ms)
			continue;
		buf_put_u64(out, ms / units[i].ms);
		buf_puts(out, units[i].name);
		ms %= units[i].ms;
	}
}

static void put_length(struct buf *out, const struct promql_node *expr, int64_t ns)
{
	if (expr)
		print_node(expr, out);
	else
		put_duration(out, ns);
}

static void put_at(const struct promql_node *n, struct buf *out)
{
	if (n->extent)
		buf_puts(out, n->extent == EXTENT_ANCHORED ? " anchored" : " smoothed");
	if (n->at == AT_TIME)
		buf_printf(out, " @ %.3f", n->at_s);
	else if (n->at)
		buf_puts(out, n->at == AT_START ? " @ start()" : " @ end()");
}

static void put_offset(const struct promql_node *n, struct buf *out)
{
	if (!n->offset_ns && !n->offset_expr)
		return;
	buf_puts(out, " offset ");
	/* the bracket ends it, whatever follows */
	if (n->offset_expr && n->offset_expr->kind == PROMQL_PAREN)
		buf_putc(out, '+');
	put_length(out, n->offset_expr, n->offset_ns);
}

/* An operator after an offset expression would be parsed as part of it; where there is
 * one, an @ or modifier separated them. */
static void put_time_modifiers(const struct promql_node *n, struct buf *out)
{
	bool first = n->offset_expr && n->offset_expr->kind == PROMQL_BINARY;

	if (first)
		put_offset(n, out);
	put_at(n, out);
	if (!first)
		put_offset(n, out);
}

static void put_selector(const struct promql_node *n, struct buf *out)
{
	static const char *const matches[] = {"=", "!=", "=~", "!~"};

	buf_put(out, n->name.p, n->name.len);
	if (!n->matchers && n->name.len)
		return;
	buf_putc(out, '{');
	for (const struct promql_matcher *m = n->matchers; m; m = m->next) {
		put_name(out, m->name);
		buf_puts(out, matches[m->match]);
		put_string(out, m->value);
		if (m->next)
			buf_putc(out, ',');
	}
	buf_putc(out, '}');
}

static void put_query_number(const struct promql_node *n, struct buf *out)
{
	double v = n->number;

	if (signbit(v) && !isnan(v)) {
		buf_putc(out, '-');
		v = -v;
	}
	if (n->is_duration)
		put_duration(out, n->range_ns);
	else if (isinf(v))
		buf_puts(out, "Inf");
	else
		buf_put_f64(out, v);
}

static void put_fill(const struct promql_node *n, struct buf *out)
{
	static const char *const names[] = {" fill (", " fill_left (", " fill_right ("};
	bool both = n->fill_left && n->fill_left == n->fill_right;
	const struct promql_node *values[] = {both ? n->fill_left : NULL,
					      both ? NULL : n->fill_left,
					      both ? NULL : n->fill_right};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!values[i])
			continue;
		buf_puts(out, names[i]);
		put_query_number(values[i], out);
		buf_putc(out, ')');
	}
}

static void put_binary(const struct promql_node *n, struct buf *out)
{
	print_node(n->expr, out);
	buf_putc(out, ' ');
	buf_puts(out, promql_op_name(n->op));
	if (n->return_bool)
		buf_puts(out, " bool");
	if (n->grouped) {
		buf_puts(out, n->on ? " on" : " ignoring");
		put_labels(out, n->labels);
	}
	if (n->card != CARD_ONE_TO_ONE) {
		buf_puts(out,
			 n->card == CARD_GROUP_LEFT ? " group_left" : " group_right");
		put_labels(out, n->include);
	}
	put_fill(n, out);
	buf_putc(out, ' ');
	print_node(n->right, out);
}

static void put_aggregate(const struct promql_node *n, struct buf *out)
{
	buf_puts(out, promql_op_name(n->op));
	if (n->grouped) {
		buf_puts(out, n->without ? " without" : " by");
		put_labels(out, n->labels);
		buf_putc(out, ' ');
	}
	buf_putc(out, '(');
	if (n->param) {
		print_node(n->param, out);
		buf_puts(out, ", ");
	}
	print_node(n->expr, out);
	buf_putc(out, ')');
}

static void put_call(const struct promql_node *n, struct buf *out)
{
	buf_puts(out, promql_function_name(n->function));
	buf_putc(out, '(');
	for (const struct promql_node *a = n->expr; a; a = a->next) {
		print_node(a, out);
		if (a->next)
			buf_puts(out, ", ");
	}
	buf_putc(out, ')');
}

static void put_duration_call(const struct promql_node *n, struct buf *out)
{
	buf_puts(out, promql_op_name(n->op));
	buf_putc(out, '(');
	if (n->expr) {
		print_node(n->expr, out);
		buf_puts(out, ", ");
		print_node(n->right, out);
	}
	buf_putc(out, ')');
}

static void put_brackets(const struct promql_node *n, struct buf *out)
{
	buf_putc(out, '[');
	put_length(out, n->range_expr, n->range_ns);
	if (n->kind == PROMQL_SUBQUERY)
		buf_putc(out, ':');
	if (n->step_ns || n->step_expr)
		put_length(out, n->step_expr, n->step_ns);
	buf_putc(out, ']');
}

static void print_node(const struct promql_node *n, struct buf *out)
{
	switch (n->kind) {
	case PROMQL_NUMBER_LITERAL:
		put_query_number(n, out);
		break;
	case PROMQL_STRING_LITERAL:
		put_string(out, n->string);
		break;
	case PROMQL_SELECTOR:
		put_selector(n, out);
		put_time_modifiers(n, out);
		break;
	case PROMQL_RANGE:
		put_selector(n->expr, out);
		put_brackets(n, out);
		put_time_modifiers(n->expr, out);
		break;
	case PROMQL_SUBQUERY:
		print_node(n->expr, out);
		put_brackets(n, out);
		put_time_modifiers(n, out);
		break;
	case PROMQL_PAREN:
		buf_putc(out, '(');
		print_node(n->expr, out);
		buf_putc(out, ')');
		break;
	case PROMQL_UNARY:
		buf_puts(out, promql_op_name(n->op));
		print_node(n->expr, out);
		break;
	case PROMQL_BINARY:
		put_binary(n, out);
		break;
	case PROMQL_AGGREGATE:
		put_aggregate(n, out);
		break;
	case PROMQL_CALL:
		put_call(n, out);
		break;
	case PROMQL_DURATION_CALL:
		put_duration_call(n, out);
		break;
	}
}

void promql_print(const struct promql *q, struct buf *out)
{
	print_node(q->root, out);
}
