/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operands: literals, selectors, calls, aggregations, and lists of labels. */
#include <errno.h>
#include <string.h>

#include "lb/promql/promql_impl.h"

bool promql_plain_label(struct str name)
{
	if (!name.len || !is_alpha(name.p[0]))
		return false;
	for (uint32_t i = 1; i < name.len; i++)
		if (!is_alnum(name.p[i]))
			return false;
	return true;
}

static bool all_utf8(struct str s)
{
	for (uint32_t i = 0; i < s.len;) {
		size_t n = utf8_len(s.p + i, s.len - i);

		if (!n)
			return false;
		i += (uint32_t)n;
	}
	return true;
}

static int one_label(struct parser *p, struct str *ret)
{
	switch (p->now.type) {
	case T_STRING:
		if (!promql_has(p->q->dialect, FEATURE_QUOTED_LABELS))
			return parser_lacks(p, FEATURE_QUOTED_LABELS);
		if (parser_unquote(p, ret))
			return -EINVAL;
		if (!ret->len || !all_utf8(*ret))
			break;
		if (!promql_plain_label(*ret) &&
		    !promql_has(p->q->dialect, FEATURE_UTF8))
			return parser_lacks(p, FEATURE_UTF8);
		return 0;
	case T_OP: /* and, or, unless, atan2 */
	case T_AGGREGATOR:
	case T_IDENTIFIER:
	case T_METRIC_IDENTIFIER:
	case T_BOOL:
	case T_BY:
	case T_GROUP_LEFT:
	case T_GROUP_RIGHT:
	case T_IGNORING:
	case T_OFFSET:
	case T_ON:
	case T_START:
	case T_END:
	case T_STEP:
	case T_RANGE:
	case T_MAX_OF:
	case T_MIN_OF:
	case T_ANCHORED:
	case T_SMOOTHED:
	case T_FILL:
	case T_FILL_LEFT:
	case T_FILL_RIGHT:
		if (!promql_plain_label(p->now.text) &&
		    (p->now.type != T_METRIC_IDENTIFIER ||
		     !promql_has(p->q->dialect, FEATURE_UTF8)))
			break;
		return parser_keep(p, p->now.text, ret);
	default:
		break;
	}
	return parser_unexpected(p, "grouping opts, expected label");
}

/* "(" label, ... ")" */
int parser_labels(struct parser *p, struct promql_label **end)
{
	int rc = parser_expect(p, T_LEFT_PAREN, "grouping opts, expected \"(\"");

	while (!rc && p->now.type != T_RIGHT_PAREN) {
		struct promql_label *l = parser_piece(p, sizeof(*l), &rc);

		if (!l)
			return rc;
		rc = one_label(p, &l->name);
		if (rc)
			return rc;
		*end = l;
		end = &l->next;
		rc = parser_advance(p);
		if (rc || p->now.type == T_RIGHT_PAREN)
			break;
		rc = parser_expect(p, T_COMMA,
				   "grouping opts, expected \",\" or \")\"");
	}
	return rc ? rc : parser_advance(p);
}

/* ---- selectors */

static int parse_matcher(struct parser *p, struct promql_matcher *m)
{
	bool quoted = p->now.type == T_STRING;
	int rc;

	if (quoted && !promql_has(p->q->dialect, FEATURE_QUOTED_NAMES))
		rc = parser_lacks(p, FEATURE_QUOTED_NAMES);
	else if (quoted)
		rc = parser_unquote(p, &m->name);
	else if (p->now.type == T_IDENTIFIER)
		rc = parser_keep(p, p->now.text, &m->name);
	else
		rc = parser_unexpected(p,
				       "label matching, expected identifier or \"}\"");
	rc = rc ? rc : parser_advance(p);
	if (rc)
		return rc;
	if (quoted && (p->now.type == T_COMMA || p->now.type == T_RIGHT_BRACE)) {
		/* the metric's name */
		m->value = m->name;
		m->name = (struct str){"__name__", 8};
		m->match = MATCH_EQUAL;
		return 0;
	}
	if (p->now.type == T_EQL)
		m->match = MATCH_EQUAL;
	else if (p->now.type == T_OP && p->now.op == PROMQL_NEQ)
		m->match = MATCH_NOT_EQUAL;
	else if (p->now.type == T_EQL_REGEX)
		m->match = MATCH_REGEX;
	else if (p->now.type == T_NEQ_REGEX)
		m->match = MATCH_NOT_REGEX;
	else
		return parser_unexpected(
			p, "label matching, expected label matching operator");
	rc = parser_advance(p);
	if (rc)
		return rc;
	if (p->now.type != T_STRING)
		return parser_unexpected(p, "label matching, expected string");
	rc = parser_unquote(p, &m->value);
	return rc ? rc : parser_advance(p);
}

static int parse_selector(struct parser *p, bool named, struct promql_node **ret)
{
	int rc = 0;
	struct promql_node *n = parser_node(p, PROMQL_SELECTOR, p->now.at, &rc);
	struct promql_matcher **end;

	if (!n)
		return rc;
	end = &n->matchers;
	if (named) {
		rc = parser_keep(p, p->now.text, &n->name);
		rc = rc ? rc : parser_advance(p);
	}
	if (!rc && p->now.type == T_LEFT_BRACE) {
		rc = parser_advance(p);
		while (!rc && p->now.type != T_RIGHT_BRACE) {
			struct promql_matcher *m = parser_piece(p, sizeof(*m), &rc);

			if (!m)
				return rc;
			rc = parse_matcher(p, m);
			*end = m;
			end = &m->next;
			if (rc || p->now.type == T_RIGHT_BRACE)
				break;
			rc = parser_expect(p, T_COMMA,
					   "label matching, expected \",\" or \"}\"");
		}
		rc = rc ? rc : parser_advance(p);
	}
	if (rc)
		return rc;
	*p->q->selectors_end = n;
	p->q->selectors_end = &n->next_selector;
	*ret = n;
	return 0;
}

/* ---- calls and aggregations */

/* "(" args ")"; *ret_count of them, the first is *ret */
static int parse_args(struct parser *p, struct promql_node **ret, unsigned *ret_count)
{
	struct promql_node **end = ret;
	int rc = parser_expect(p, T_LEFT_PAREN, "call, expected \"(\"");

	*ret_count = 0;
	if (rc)
		return rc;
	if (p->now.type == T_RIGHT_PAREN)
		return parser_advance(p);
	for (;;) {
		rc = parser_expr(p, 0, end);
		if (rc)
			return rc;
		end = &(*end)->next;
		++*ret_count;
		if (p->now.type != T_COMMA)
			break;
		rc = parser_advance(p);
		if (rc)
			return rc;
		if (p->now.type == T_RIGHT_PAREN)
			return parser_fail_at(
				p, p->now.at,
				"trailing commas not allowed in function call "
				"args");
	}
	return parser_expect(p, T_RIGHT_PAREN, "call, expected \",\" or \")\"");
}

static int find_function(struct parser *p, struct token name,
			 const struct promql_function **ret)
{
	const struct promql_function *f = promql_function_find(name.text);
	int len = name.text.len < 64 ? (int)name.text.len : 64;
	enum promql_feature newer = promql_newer_word(name.text, p->q->dialect);
	char known[128] = "";

	if (f && promql_knows(p->q->dialect, f->known)) {
		*ret = f;
		return 0;
	}
	p->error_at = name.at;
	if (!f && newer)
		return promql_lacks(p->q->dialect, newer, p->err);
	if (f)
		promql_say_known(p->q->dialect, f->known, known, sizeof(known));
	return err_set(p->err, -EINVAL, "unknown function with name \"%.*s\"%s%s", len,
		       name.text.p, f ? ": " : "", known);
}

static int parse_function_call(struct parser *p, struct token name,
			       struct promql_node **ret)
{
	int rc = 0;
	struct promql_node *n = parser_node(p, PROMQL_CALL, name.at, &rc);
	unsigned count;

	if (!n)
		return rc;
	rc = find_function(p, name, &n->function);
	if (rc)
		return rc;
	*ret = n;
	return parse_args(p, &n->expr, &count) ?: parser_grown(p, n);
}

static bool has_param(enum promql_op op)
{
	switch (op) {
	case PROMQL_TOPK:
	case PROMQL_BOTTOMK:
	case PROMQL_COUNT_VALUES:
	case PROMQL_QUANTILE:
	case PROMQL_LIMITK:
	case PROMQL_LIMIT_RATIO:
		return true;
	default:
		return false;
	}
}

static int parse_grouping(struct parser *p, struct promql_node *n)
{
	if (p->now.type != T_BY && p->now.type != T_WITHOUT)
		return 0;
	n->grouped = true;
	n->without = p->now.type == T_WITHOUT;
	return parser_advance(p) ?: parser_labels(p, &n->labels);
}

static int parse_aggregate(struct parser *p, struct token op, struct promql_node **ret)
{
	int rc = 0;
	struct promql_node *n = parser_node(p, PROMQL_AGGREGATE, op.at, &rc),
			   *args = NULL;
	unsigned count, want = has_param(op.op) ? 2 : 1;

	if (!n)
		return rc;
	n->op = op.op;
	if ((op.op == PROMQL_LIMITK || op.op == PROMQL_LIMIT_RATIO) &&
	    !promql_has(p->q->dialect, FEATURE_LIMITS))
		return parser_lacks(p, FEATURE_LIMITS);
	rc = parse_grouping(p, n);
	rc = rc ? rc : parse_args(p, &args, &count);
	if (!rc && !n->grouped)
		rc = parse_grouping(p, n);
	if (rc)
		return rc;
	if (count != want) {
		p->error_at = op.at;
		return err_set(p->err, -EINVAL,
			       "wrong number of arguments for aggregate expression "
			       "provided, expected %u, got %u",
			       want, count);
	}
	if (want == 2) {
		n->param = args;
		args = args->next;
		n->param->next = NULL;
	}
	n->expr = args;
	*ret = n;
	return parser_grown(p, n);
}

/* ---- operands */

static int parse_literal(struct parser *p, struct promql_node **ret)
{
	int rc = 0;
	struct promql_node *n = parser_node(p, PROMQL_NUMBER_LITERAL, p->now.at, &rc);
	int64_t ns;

	if (!n)
		return rc;
	*ret = n;
	if (p->now.type == T_STRING) {
		n->kind = PROMQL_STRING_LITERAL;
		rc = parser_unquote(p, &n->string);
	} else if (p->now.type == T_DURATION) {
		rc = promql_duration(p->now.text, &ns, p->err);
		n->is_duration = true;
		n->range_ns = rc ? 0 : ns;
		n->number = (double)n->range_ns / 1e9;
	} else {
		rc = promql_number(p->now.text, p->q->dialect, &n->number, p->err);
	}
	return rc ? rc : parser_advance(p);
}

static int parse_paren(struct parser *p, struct promql_node **ret)
{
	int rc = 0;
	struct promql_node *n = parser_node(p, PROMQL_PAREN, p->now.at, &rc);

	if (!n)
		return rc;
	*ret = n;
	rc = parser_advance(p);
	rc = rc ? rc : parser_expr(p, 0, &n->expr);
	rc = rc ? rc : parser_expect(p, T_RIGHT_PAREN, "parentheses, expected \")\"");
	return rc ? rc : parser_grown(p, n);
}

static bool names_function(enum token_type type)
{
	switch (type) {
	case T_IDENTIFIER:
	case T_START:
	case T_END:
	case T_STEP:
	case T_RANGE:
	case T_MAX_OF:
	case T_MIN_OF:
		return true;
	default:
		return false;
	}
}

/* A word that may be a metric's name or begin a call or an aggregation: what follows
 * decides. */
static int parse_word(struct parser *p, struct promql_node **ret)
{
	struct token word = p->now;
	struct lexer before = p->lexer;
	int rc = parser_advance(p);

	if (rc)
		return rc;
	if (word.type == T_AGGREGATOR &&
	    (p->now.type == T_LEFT_PAREN || p->now.type == T_BY ||
	     p->now.type == T_WITHOUT))
		return parse_aggregate(p, word, ret);
	if (names_function(word.type) && p->now.type == T_LEFT_PAREN)
		return parse_function_call(p, word, ret);
	p->lexer = before;
	p->now = word;
	return parse_selector(p, true, ret);
}

int parser_operand(struct parser *p, struct promql_node **ret)
{
	switch (p->now.type) {
	case T_OP:
		if (p->now.op != PROMQL_AND && p->now.op != PROMQL_OR &&
		    p->now.op != PROMQL_UNLESS)
			break;
		return parse_selector(p, true, ret);
	case T_AGGREGATOR:
	case T_IDENTIFIER:
	case T_METRIC_IDENTIFIER:
	case T_BY:
	case T_OFFSET:
	case T_WITHOUT:
	case T_START:
	case T_END:
	case T_STEP:
	case T_RANGE:
	case T_MAX_OF:
	case T_MIN_OF:
	case T_ANCHORED:
	case T_SMOOTHED:
	case T_FILL:
	case T_FILL_LEFT:
	case T_FILL_RIGHT:
		return parse_word(p, ret);
	case T_LEFT_BRACE:
		return parse_selector(p, false, ret);
	case T_LEFT_PAREN:
		return parse_paren(p, ret);
	case T_DURATION:
		if (!promql_has(p->q->dialect, FEATURE_NUMBERS_AS_DURATIONS))
			return parser_lacks(p, FEATURE_NUMBERS_AS_DURATIONS);
		return parse_literal(p, ret);
	case T_NUMBER:
	case T_STRING:
		return parse_literal(p, ret);
	default:
		break;
	}
	return parser_unexpected(p, "expression");
}
