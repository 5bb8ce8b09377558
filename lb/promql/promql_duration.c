/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Duration expressions: foo[5m + step()], offset (2 * 1h). They are evaluated before a
 * query is proved, for the times that are requested, and sent as numbers: the proof
 * does not depend on anybody else's arithmetic. */
#include <errno.h>
#include <math.h>

#include "lb/promql/promql_impl.h"

#define SECONDS_MAX 9223372036.0 /* as nanoseconds in 64 bits */

static bool is_sign(const struct token *t)
{
	return t->type == T_OP && (t->op == PROMQL_ADD || t->op == PROMQL_SUB);
}

static bool is_arithmetic(const struct token *t)
{
	return t->type == T_OP && t->op >= PROMQL_ADD && t->op <= PROMQL_POW &&
	       t->op != PROMQL_ATAN2;
}

static int check_allowed(struct parser *p)
{
	return promql_has(p->q->dialect, FEATURE_DURATIONS)
		       ? 0
		       : parser_lacks(p, FEATURE_DURATIONS);
}

static int parse_duration_number(struct parser *p, struct promql_node **ret)
{
	uint32_t at = p->now.at;
	int rc = parser_operand(p, ret);

	if (rc)
		return rc;
	return fabs((*ret)->number) <= SECONDS_MAX
		       ? 0
		       : parser_fail_at(p, at, "duration out of range");
}

/* step(), range(), min_of(a, b), max_of(a, b) */
static int parse_duration_call(struct parser *p, struct promql_node **ret)
{
	static const char context[] = "duration";
	bool two = p->now.type == T_MIN_OF || p->now.type == T_MAX_OF;
	int rc = check_allowed(p);
	struct promql_node *n =
		rc ? NULL : parser_node(p, PROMQL_DURATION_CALL, p->now.at, &rc);

	if (!n)
		return rc;
	n->op = p->now.type == T_STEP            ? PROMQL_STEP
		: p->now.type == T_RANGE         ? PROMQL_QUERY_RANGE
		: two && p->now.type == T_MIN_OF ? PROMQL_MIN_OF
						 : PROMQL_MAX_OF;
	p->q->depends_on_times = p->q->depends_on_times || !two;
	*ret = n;
	rc = parser_advance(p);
	rc = rc ? rc : parser_expect(p, T_LEFT_PAREN, context);
	if (!rc && two) {
		rc = parser_duration(p, 0, &n->expr);
		rc = rc ? rc : parser_expect(p, T_COMMA, context);
		rc = rc ? rc : parser_duration(p, 0, &n->right);
	}
	rc = rc ? rc : parser_expect(p, T_RIGHT_PAREN, context);
	return rc ? rc : parser_grown(p, n);
}

static int parse_duration_parentheses(struct parser *p, struct promql_node **ret)
{
	int rc = check_allowed(p);
	struct promql_node *n =
		rc ? NULL : parser_node(p, PROMQL_PAREN, p->now.at, &rc);

	if (!n)
		return rc;
	*ret = n;
	rc = parser_advance(p);
	rc = rc ? rc : parser_duration(p, 0, &n->expr);
	rc = rc ? rc : parser_expect(p, T_RIGHT_PAREN, "duration, expected \")\"");
	return rc ? rc : parser_grown(p, n);
}

/* A sign: part of a number; a plus before anything else is dropped, unless
 * keep_plus. */
static int put_sign(struct parser *p, struct token sign, bool keep_plus,
		    struct promql_node **io)
{
	int rc = 0;
	struct promql_node *n;

	if ((*io)->kind == PROMQL_NUMBER_LITERAL) {
		if (sign.op == PROMQL_SUB)
			(*io)->number = -(*io)->number;
		return 0;
	}
	if (sign.op == PROMQL_ADD && !keep_plus)
		return 0;
	n = parser_node(p, PROMQL_UNARY, sign.at, &rc);
	if (!n)
		return rc;
	n->op = sign.op;
	n->expr = *io;
	*io = n;
	return parser_grown(p, n);
}

static int parse_operand(struct parser *p, struct promql_node **ret)
{
	struct token first = p->now;
	int rc;

	switch (first.type) {
	case T_NUMBER:
	case T_DURATION:
		return parse_duration_number(p, ret);
	case T_STEP:
	case T_RANGE:
	case T_MIN_OF:
	case T_MAX_OF:
		return parse_duration_call(p, ret);
	case T_LEFT_PAREN:
		return parse_duration_parentheses(p, ret);
	default:
		break;
	}
	if (!is_sign(&first))
		return parser_unexpected(p, "offset or range, expected duration");
	rc = parser_advance(p);
	rc = rc ? rc : parser_duration(p, parser_level(PROMQL_POW), ret);
	return rc ? rc : put_sign(p, first, false, ret);
}

/* What follows an operand, by precedence */
static int climb_operators(struct parser *p, int min_level, struct promql_node **io)
{
	int rc = 0;

	while (!rc && is_arithmetic(&p->now) && parser_level(p->now.op) >= min_level) {
		struct token op = p->now;
		int level = parser_level(op.op);
		struct promql_node *n;

		rc = check_allowed(p);
		n = rc ? NULL : parser_node(p, PROMQL_BINARY, op.at, &rc);
		if (!n)
			return rc;
		n->op = op.op;
		n->expr = *io;
		*io = n;
		rc = parser_advance(p);
		rc = rc ? rc
			: parser_duration(p, op.op == PROMQL_POW ? level : level + 1,
					  &n->right);
		if (!rc && (op.op == PROMQL_DIV || op.op == PROMQL_MOD) &&
		    n->right->kind == PROMQL_NUMBER_LITERAL && n->right->number == 0)
			rc = parser_fail_at(p, op.at,
					    op.op == PROMQL_DIV ? "division by zero"
								: "modulo by zero");
		rc = rc ? rc : parser_grown(p, n);
	}
	return rc;
}

int parser_duration(struct parser *p, int min_level, struct promql_node **ret)
{
	int rc;

	if (++p->depth > p->q->limits.depth) {
		p->error_at = p->now.at;
		return err_set(p->err, -E2BIG, "nested deeper than %u",
			       p->q->limits.depth);
	}
	rc = parse_operand(p, ret);
	rc = rc ? rc : climb_operators(p, min_level, ret);
	p->depth--;
	return rc;
}

/* Without brackets around all of it an offset is a single number or call, possibly with
 * a sign: foo offset 5m * 2 is twice foo. An offset that begins with a bracket may
 * continue. */
int parser_offset_duration(struct parser *p, struct promql_node **ret)
{
	struct token sign = p->now;
	bool is_signed = is_sign(&sign), brackets;
	int rc = is_signed ? parser_advance(p) : 0;

	if (rc)
		return rc;
	/* what the grammar makes of that is never what is meant */
	if (is_signed && is_sign(&p->now))
		return parser_unexpected(p, "offset, expected duration");
	brackets = p->now.type == T_LEFT_PAREN;
	rc = parse_operand(p, ret);
	rc = rc || !is_signed ? rc : put_sign(p, sign, !brackets, ret);
	if (rc || !brackets || (is_signed && promql_scans(p->q->dialect, FEATURE_STEP)))
		return rc;
	return climb_operators(p, 0, ret);
}

void parser_keep_duration(struct parser *p, struct promql_node *owner,
			  struct promql_node **at, struct promql_node *n)
{
	if (!owner->range_expr && !owner->step_expr && !owner->offset_expr) {
		owner->next_unfixed = p->q->unfixed;
		p->q->unfixed = owner;
	}
	*at = n;
}

/* ---- evaluation ------------------------------------------------------------------ */

struct times {
	double step_s, range_s;
	struct err *err;
};

static int fail_duration(const struct times *t, const char *text)
{
	return err_set(t->err, -EINVAL, "%s", text);
}

static int work_out(const struct times *t, const struct promql_node *n, double *ret);

static int work_out_binary(const struct times *t, const struct promql_node *n,
			   double *ret)
{
	double a, b;
	int rc = work_out(t, n->expr, &a) ?: work_out(t, n->right, &b);

	if (rc)
		return rc;
	switch (n->op) {
	case PROMQL_ADD:
		*ret = a + b;
		return 0;
	case PROMQL_SUB:
		*ret = a - b;
		return 0;
	case PROMQL_MUL:
		*ret = a * b;
		return 0;
	case PROMQL_DIV:
		*ret = a / b;
		return b == 0 ? fail_duration(t, "duration: division by zero") : 0;
	case PROMQL_MOD:
		*ret = fmod(a, b);
		return b == 0 ? fail_duration(t, "duration: modulo by zero") : 0;
	case PROMQL_POW:
		*ret = pow(a, b);
		return 0;
	case PROMQL_MIN_OF:
	case PROMQL_MAX_OF:
		*ret = isnan(a) || isnan(b)                  ? NAN
		       : (n->op == PROMQL_MIN_OF) == (a < b) ? a
							     : b;
		return 0;
	default:
		return fail_duration(t, "duration: an operator that is not known");
	}
}

/* Recursion is limited by the tree's depth. */
static int work_out(const struct times *t, const struct promql_node *n, double *ret)
{
	int rc;

	switch (n->kind) {
	case PROMQL_NUMBER_LITERAL:
		*ret = n->number;
		return 0;
	case PROMQL_PAREN:
		return work_out(t, n->expr, ret);
	case PROMQL_UNARY:
		rc = work_out(t, n->expr, ret);
		if (!rc && n->op == PROMQL_SUB)
			*ret = -*ret;
		return rc;
	case PROMQL_BINARY:
		return work_out_binary(t, n, ret);
	case PROMQL_DURATION_CALL:
		if (n->op == PROMQL_STEP)
			*ret = t->step_s;
		else if (n->op == PROMQL_QUERY_RANGE)
			*ret = t->range_s;
		else
			return work_out_binary(t, n, ret);
		return 0;
	default:
		return fail_duration(t, "duration: a part that is not known");
	}
}

/* Rounds to whole milliseconds, as the server does (promql/durations.go) */
static int fix_one(const struct times *t, struct promql_node **expr, bool offset,
		   int64_t *ret_ns)
{
	double s;
	int rc;

	if (!*expr)
		return 0;
	rc = work_out(t, *expr, &s);
	if (rc)
		return rc;
	if (!isfinite(s) || fabs(s) > SECONDS_MAX)
		return fail_duration(t, "duration is out of range");
	*ret_ns = (int64_t)(s * 1000) * 1000000;
	if (!offset && *ret_ns <= 0)
		return fail_duration(t, "duration must be greater than 0");
	*expr = NULL;
	return 0;
}

int promql_fix_durations(struct promql *q, int64_t range_ms, int64_t step_ms,
			 struct err *err)
{
	const struct times t = {.step_s = (double)step_ms / 1000,
				.range_s = (double)range_ms / 1000,
				.err = err};
	int rc = 0;

	for (; q->unfixed && !rc; q->unfixed = q->unfixed->next_unfixed) {
		struct promql_node *n = q->unfixed;

		rc = fix_one(&t, &n->range_expr, false, &n->range_ns);
		rc = rc ? rc : fix_one(&t, &n->step_expr, false, &n->step_ns);
		rc = rc ? rc : fix_one(&t, &n->offset_expr, true, &n->offset_ns);
		if (rc)
			return rc;
	}
	return rc;
}

bool promql_depends_on_times(const struct promql *q)
{
	return q->depends_on_times;
}
