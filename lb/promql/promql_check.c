/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PromQL's type rules, as Prometheus checks them after parsing. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/promql_impl.h"
#include "lb/promql/re.h"

struct check {
	struct promql *q;
	uint32_t *at;
	struct err *err;
};

static int check_node(struct check *c, struct promql_node *n);

static int refuse_type(struct check *c, const struct promql_node *n, const char *text)
{
	*c->at = n->at_byte;
	return err_set(c->err, -EINVAL, "%s", text);
}

static int want_type(struct check *c, struct promql_node *n, enum promql_type type,
		     const char *context)
{
	int rc = check_node(c, n);

	if (rc || n->type == type)
		return rc;
	*c->at = n->at_byte;
	return err_set(c->err, -EINVAL, "expected type %s in %s, got %s",
		       promql_type_name(type), context, promql_type_name(n->type));
}

/* Whether the matcher matches series without the label */
static int matches_nothing(struct check *c, const struct promql_node *n,
			   const struct promql_matcher *m, bool *ret)
{
	bool empty = m->value.len == 0;
	int rc = 0;

	*c->at = n->at_byte;
	if (m->match == MATCH_REGEX || m->match == MATCH_NOT_REGEX)
		rc = re_check(m->value.p, m->value.len,
			      promql_has(c->q->dialect, FEATURE_GROUP_NAMES), &empty,
			      c->q->steps, c->err);
	*ret = m->match == MATCH_EQUAL || m->match == MATCH_REGEX ? empty : !empty;
	return rc;
}

static int check_selector(struct check *c, struct promql_node *n, bool may_be_empty)
{
	bool selective = n->name.len > 0;

	n->type = PROMQL_VECTOR;
	for (struct promql_matcher *m = n->matchers; m; m = m->next) {
		bool nothing;
		int rc = matches_nothing(c, n, m, &nothing);

		if (rc)
			return rc;
		if (n->name.len && str_eq(m->name, "__name__"))
			return refuse_type(c, n, "metric name must not be set twice");
		selective = selective || !nothing;
	}
	if (!selective && !may_be_empty)
		return refuse_type(
			c, n,
			"vector selector must contain at least one non-empty "
			"matcher");
	return 0;
}

static int check_aggregate(struct check *c, struct promql_node *n)
{
	int rc = want_type(c, n->expr, PROMQL_VECTOR, "aggregation expression");

	n->type = PROMQL_VECTOR;
	if (rc || !n->param)
		return rc;
	return want_type(c, n->param,
			 n->op == PROMQL_COUNT_VALUES ? PROMQL_STRING : PROMQL_SCALAR,
			 "aggregation parameter");
}

static int check_argument(struct check *c, const struct promql_function *f, unsigned i,
			  struct promql_node *a)
{
	unsigned types = (unsigned)strlen(f->args);

	if (i != 1 || strcmp(f->name, "info") != 0)
		return want_type(c, a,
				 promql_type_of(f->args[i < types ? i : types - 1]),
				 "call to function");
	if (a->kind != PROMQL_SELECTOR || a->name.len)
		return refuse_type(
			c, a,
			"expected label selectors only as the second argument of "
			"info");
	return check_selector(c, a, true);
}

static int check_call(struct check *c, struct promql_node *n)
{
	const struct promql_function *f = n->function;
	unsigned types = (unsigned)strlen(f->args), given = 0;
	unsigned least = f->variadic ? types - 1 : types;
	unsigned most = f->variadic < 0 ? UINT_MAX : least + (unsigned)f->variadic;

	n->type = promql_type_of(f->type);
	for (struct promql_node *a = n->expr; a; a = a->next)
		given++;
	*c->at = n->at_byte;
	if (given < least || given > most)
		return err_set(c->err, -EINVAL,
			       "expected %s%u argument(s) in call to \"%s\", got %u",
			       least == most   ? ""
			       : given < least ? "at least "
					       : "at most ",
			       given < least ? least : most, f->name, given);
	given = 0;
	for (struct promql_node *a = n->expr; a; a = a->next) {
		int rc = check_argument(c, f, given++, a);

		if (rc)
			return rc;
	}
	return 0;
}

static bool is_comparison(enum promql_op op)
{
	return op >= PROMQL_EQL && op <= PROMQL_GTR;
}

static bool is_set(enum promql_op op)
{
	return op == PROMQL_AND || op == PROMQL_OR || op == PROMQL_UNLESS;
}

static int compare_labels(const void *a, const void *b, void *steps)
{
	const struct str *x = a, *y = b;
	uint32_t n = x->len < y->len ? x->len : y->len;

	((struct steps *)steps)->used += 1 + n / 8;
	int c = n ? memcmp(x->p, y->p, n) : 0;
	return c ? c : (x->len > y->len) - (x->len < y->len);
}

/* Whether a label is in both lists: 1, 0, or an error. The lists may be as long as the
 * query, so they are sorted for the search. */
static int find_shared_label(struct check *c, const struct promql_label *a,
			     const struct promql_label *b)
{
	struct str *sorted, *to;
	size_t count = 0;

	for (const struct promql_label *l = a; l && b; l = l->next)
		count++;
	if (!count)
		return 0;
	sorted = to = promql_alloc(c->q, count * sizeof(*sorted));
	if (!sorted)
		return err_set(c->err, -ENOMEM, "out of memory");
	for (; a; a = a->next)
		*to++ = a->name;
	qsort_r(sorted, count, sizeof(*sorted), compare_labels, c->q->steps);
	for (; b; b = b->next) {
		size_t lo = 0, hi = count;

		while (lo < hi) {
			size_t mid = (lo + hi) / 2;
			int order = compare_labels(&b->name, &sorted[mid], c->q->steps);

			if (!order)
				return 1;
			if (order < 0)
				hi = mid;
			else
				lo = mid + 1;
		}
	}
	return steps_take(c->q->steps, 0, c->err);
}

static int check_matching(struct check *c, struct promql_node *n, bool vectors)
{
	int rc = n->on ? find_shared_label(c, n->labels, n->include) : 0;

	if (rc > 0)
		return refuse_type(
			c, n, "label must not occur in ON and GROUP clause at once");
	if (rc)
		return rc;
	if (!vectors && n->labels)
		return refuse_type(
			c, n, "vector matching only allowed between instant vectors");
	if ((n->fill_left || n->fill_right) && (!vectors || is_set(n->op)))
		return refuse_type(
			c, n,
			vectors ? "filling in missing series not allowed for set "
				  "operators"
				: "filling in missing series only allowed between "
				  "instant vectors");
	if (vectors && is_set(n->op) && n->card != CARD_ONE_TO_ONE)
		return refuse_type(c, n, "no grouping allowed for a set operation");
	return 0;
}

static int check_binary(struct check *c, struct promql_node *n)
{
	struct promql_node *l = n->expr, *r = n->right;
	int rc = check_node(c, l);

	rc = rc ? rc : check_node(c, r);
	if (rc)
		return rc;
	if (l->type == PROMQL_MATRIX || l->type == PROMQL_STRING ||
	    r->type == PROMQL_MATRIX || r->type == PROMQL_STRING)
		return refuse_type(
			c, n,
			"binary expression must contain only scalar and instant "
			"vector types");
	n->type = l->type == PROMQL_SCALAR && r->type == PROMQL_SCALAR ? PROMQL_SCALAR
								       : PROMQL_VECTOR;
	if (n->return_bool && !is_comparison(n->op))
		return refuse_type(
			c, n, "bool modifier can only be used on comparison operators");
	if (is_comparison(n->op) && !n->return_bool && n->type == PROMQL_SCALAR)
		return refuse_type(
			c, n, "comparisons between scalars must use BOOL modifier");
	if (is_set(n->op) && (l->type == PROMQL_SCALAR || r->type == PROMQL_SCALAR))
		return refuse_type(
			c, n, "set operator not allowed in binary scalar expression");
	return check_matching(c, n,
			      l->type == PROMQL_VECTOR && r->type == PROMQL_VECTOR);
}

static int check_unary(struct check *c, struct promql_node *n)
{
	int rc = check_node(c, n->expr);

	n->type = n->expr->type;
	if (!rc && n->type != PROMQL_SCALAR && n->type != PROMQL_VECTOR)
		return refuse_type(
			c, n,
			"unary expression only allowed on expressions of type "
			"scalar or instant vector");
	return rc;
}

static int check_node(struct check *c, struct promql_node *n)
{
	int rc;

	switch (n->kind) {
	case PROMQL_NUMBER_LITERAL:
		n->type = PROMQL_SCALAR;
		return 0;
	case PROMQL_STRING_LITERAL:
		n->type = PROMQL_STRING;
		return 0;
	case PROMQL_SELECTOR:
		return check_selector(c, n, false);
	case PROMQL_RANGE:
		n->type = PROMQL_MATRIX;
		return check_selector(c, n->expr, false);
	case PROMQL_SUBQUERY:
		n->type = PROMQL_MATRIX;
		return want_type(c, n->expr, PROMQL_VECTOR, "subquery");
	case PROMQL_PAREN:
		rc = check_node(c, n->expr);
		n->type = n->expr->type;
		return rc;
	case PROMQL_UNARY:
		return check_unary(c, n);
	case PROMQL_BINARY:
		return check_binary(c, n);
	case PROMQL_AGGREGATE:
		return check_aggregate(c, n);
	case PROMQL_CALL:
		return check_call(c, n);
	case PROMQL_DURATION_CALL:
		break;
	}
	return refuse_type(c, n, "unknown part");
}

int promql_check(struct promql *q, uint32_t *ret_at, struct err *err)
{
	struct check c = {.q = q, .at = ret_at, .err = err};

	return check_node(&c, q->root);
}
