/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may follow an operand: offset, @ and brackets. */
#include <errno.h>
#include <math.h>

#include "lb/promql/promql_impl.h"

/* One duration or, in newer versions, number of seconds */
static int parse_unsigned_duration(struct parser *p, int64_t *ret_ns)
{
	double seconds;
	int rc;

	p->error_at = p->now.at;
	if (p->now.type == T_DURATION)
		return promql_duration(p->now.text, ret_ns, p->err);
	if (p->now.type == T_LEFT_PAREN)
		return parser_lacks(p, FEATURE_DURATIONS);
	if (p->now.type != T_NUMBER)
		return parser_unexpected(p, "offset or range, expected duration");
	if (!promql_has(p->q->dialect, FEATURE_NUMBERS_AS_DURATIONS))
		return parser_lacks(p, FEATURE_NUMBERS_AS_DURATIONS);
	rc = promql_number(p->now.text, p->q->dialect, &seconds, p->err);
	if (rc)
		return rc;
	if (!(seconds <= 9223372036.0))
		return parser_fail_at(p, p->now.at, "duration out of range");
	*ret_ns = (int64_t)round(seconds * 1e9);
	return 0;
}

/* A range or an offset, which is not 0 and may have a minus */
static int parse_duration(struct parser *p, bool offset, int64_t *ret_ns)
{
	bool minus = offset && p->now.type == T_OP && p->now.op == PROMQL_SUB;
	int64_t ns = 0;
	int rc = minus ? parser_advance(p) : 0;

	rc = rc ? rc : parse_unsigned_duration(p, &ns);
	if (rc)
		return rc;
	if (ns <= 0)
		return parser_fail_at(p, p->now.at, "duration must be greater than 0");
	*ret_ns = minus ? -ns : ns;
	return parser_advance(p);
}

/* The same where durations may be expressions; owner: of the range, step or offset */
static int parse_length(struct parser *p, bool offset, struct promql_node *owner,
			struct promql_node **expr, int64_t *ret_ns)
{
	uint32_t at = p->now.at;
	struct promql_node *n = NULL;
	int rc;

	if (!promql_has(p->q->dialect, FEATURE_DURATION_SCANNER))
		return parse_duration(p, offset, ret_ns);
	rc = offset ? parser_offset_duration(p, &n) : parser_duration(p, 0, &n);
	if (rc)
		return rc;
	if (n->kind != PROMQL_NUMBER_LITERAL) {
		parser_keep_duration(p, owner, expr, n);
		return 0;
	}
	*ret_ns = !n->is_duration      ? (int64_t)round(n->number * 1e9)
		  : signbit(n->number) ? -n->range_ns
				       : n->range_ns;
	if (!offset && *ret_ns <= 0)
		return parser_fail_at(p, at, "duration must be greater than 0");
	return 0;
}

static struct promql_node *find_timed_node(struct promql_node *n)
{
	if (n->kind == PROMQL_RANGE)
		n = n->expr;
	return n->kind == PROMQL_SELECTOR || n->kind == PROMQL_SUBQUERY ? n : NULL;
}

static int parse_offset(struct parser *p, struct promql_node *n)
{
	uint32_t at = p->now.at;
	int rc = parser_advance(p);

	n = find_timed_node(n);
	if (!n)
		return parser_fail_at(
			p, at,
			"offset modifier must be preceded by an instant vector "
			"selector or range vector selector or a subquery");
	if (n->offset_ns || n->offset_expr)
		return parser_fail_at(p, at, "offset may not be set multiple times");
	return rc ? rc : parse_length(p, true, n, &n->offset_expr, &n->offset_ns);
}

static int parse_time(struct parser *p, enum promql_at *ret_at, double *ret_s)
{
	double sign = 1, v;
	int64_t ns;
	int rc = 0;

	if (p->now.type == T_START || p->now.type == T_END) {
		*ret_at = p->now.type == T_START ? AT_START : AT_END;
		rc = parser_advance(p);
		rc = rc ? rc : parser_expect(p, T_LEFT_PAREN, "@, expected \"(\"");
		return rc ? rc : parser_expect(p, T_RIGHT_PAREN, "@, expected \")\"");
	}
	if (p->now.type == T_OP &&
	    (p->now.op == PROMQL_ADD || p->now.op == PROMQL_SUB)) {
		sign = p->now.op == PROMQL_SUB ? -1 : 1;
		rc = parser_advance(p);
	}
	if (rc)
		return rc;
	if (p->now.type == T_DURATION &&
	    promql_has(p->q->dialect, FEATURE_NUMBERS_AS_DURATIONS)) {
		rc = promql_duration(p->now.text, &ns, p->err);
		v = rc ? 0 : (double)ns / 1e9;
	} else if (p->now.type == T_NUMBER) {
		rc = promql_number(p->now.text, p->q->dialect, &v, p->err);
	} else {
		return parser_unexpected(p, "@, expected timestamp");
	}
	if (rc)
		return rc;
	if (!(fabs(v) < 9223372036854775808.0))
		return parser_fail_at(p, p->now.at,
				      "timestamp out of bounds for @ modifier");
	*ret_at = AT_TIME;
	*ret_s = round(sign * v * 1000) / 1000;
	return parser_advance(p);
}

static int parse_at(struct parser *p, struct promql_node *n)
{
	uint32_t where = p->now.at;
	enum promql_at at = AT_NONE;
	double s = 0;
	int rc = parser_advance(p);

	rc = rc ? rc : parse_time(p, &at, &s);
	if (rc)
		return rc;
	n = find_timed_node(n);
	if (!n)
		return parser_fail_at(
			p, where,
			"@ modifier must be preceded by an instant vector "
			"selector or range vector selector or a subquery");
	if (n->at)
		return parser_fail_at(p, where,
				      "@ <timestamp> may not be set multiple times");
	n->at = at;
	n->at_s = s;
	return 0;
}

/* "[" range "]" or "[" range ":" step? "]" */
static int parse_range_brackets(struct parser *p, struct promql_node **io)
{
	int rc = 0;
	struct promql_node *inner = *io,
			   *n = parser_node(p, PROMQL_RANGE, inner->at_byte, &rc);
	uint32_t at = p->now.at;

	if (!n)
		return rc;
	n->expr = inner;
	*io = n;
	rc = parser_grown(p, n) ?: parser_advance(p);
	rc = rc ? rc : parse_length(p, false, n, &n->range_expr, &n->range_ns);
	if (rc)
		return rc;
	if (p->now.type == T_COLON) {
		n->kind = PROMQL_SUBQUERY;
		rc = parser_advance(p);
		if (!rc && p->now.type != T_RIGHT_BRACKET)
			rc = parse_length(p, false, n, &n->step_expr, &n->step_ns);
		return rc ? rc
			  : parser_expect(p, T_RIGHT_BRACKET,
					  "subquery selector, expected \"]\"");
	}
	if (p->now.type == T_OP && !promql_has(p->q->dialect, FEATURE_DURATION_SCANNER))
		return parser_lacks(p, FEATURE_DURATIONS);
	if (inner->kind != PROMQL_SELECTOR)
		return parser_fail_at(p, at,
				      "ranges only allowed for vector selectors");
	if (inner->offset_ns || inner->offset_expr)
		return parser_fail_at(p, at,
				      "no offset modifiers allowed before range");
	if (inner->at == AT_TIME ||
	    (inner->at && !promql_has(p->q->dialect, FEATURE_AT_BEFORE_RANGE)))
		return parser_fail_at(p, at, "no @ modifiers allowed before range");
	return parser_expect(p, T_RIGHT_BRACKET,
			     "subquery or range, expected \":\" or \"]\"");
}

/* "anchored" or "smoothed" */
static int parse_extent(struct parser *p, struct promql_node *n)
{
	enum promql_extent extent =
		p->now.type == T_ANCHORED ? EXTENT_ANCHORED : EXTENT_SMOOTHED;
	uint32_t at = p->now.at;

	if (!promql_has(p->q->dialect, FEATURE_EXTENDED_RANGES))
		return parser_lacks(p, FEATURE_EXTENDED_RANGES);
	n = find_timed_node(n);
	if (!n || n->kind != PROMQL_SELECTOR)
		return parser_fail_at(p, at,
				      "anchored and smoothed are for selectors alone");
	if (n->extent && n->extent != extent)
		return parser_fail_at(
			p, at,
			"anchored and smoothed modifiers cannot be used together");
	n->extent = extent;
	return parser_advance(p);
}

int parser_follow(struct parser *p, struct promql_node **io)
{
	int rc = 0;

	while (!rc) {
		if (p->now.type == T_OFFSET)
			rc = parse_offset(p, *io);
		else if (p->now.type == T_AT)
			rc = parse_at(p, *io);
		else if (p->now.type == T_LEFT_BRACKET)
			rc = parse_range_brackets(p, io);
		else if (p->now.type == T_ANCHORED || p->now.type == T_SMOOTHED)
			rc = parse_extent(p, *io);
		else
			break;
	}
	return rc;
}
