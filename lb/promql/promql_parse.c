/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PromQL's grammar by recursive descent: operators by precedence climbing; what may
 * follow an operand (offset, @, [ ]) binds most tightly. Recursion is bounded by the
 * depth limit. */
#include <errno.h>
#include <string.h>

#include "lb/promql/promql_impl.h"

/* ---- tokens ---- */

int parser_advance(struct parser *p)
{
	return promql_lex(&p->lexer, &p->now, &p->error_at, p->err);
}

int parser_unexpected(struct parser *p, const char *context)
{
	enum promql_feature newer =
		p->now.type == T_IDENTIFIER
			? promql_newer_word(p->now.text, p->q->dialect)
			: FEATURE_ALL;

	if (newer)
		return parser_lacks(p, newer);
	p->error_at = p->now.at;
	if (p->now.type == T_EOF)
		return err_set(p->err, -EINVAL, "unexpected end of input in %s",
			       context);
	return err_set(p->err, -EINVAL, "unexpected \"%.*s\" in %s",
		       p->now.text.len < 40 ? (int)p->now.text.len : 40, p->now.text.p,
		       context);
}

int parser_expect(struct parser *p, enum token_type type, const char *context)
{
	return p->now.type == type ? parser_advance(p) : parser_unexpected(p, context);
}

int parser_fail_at(struct parser *p, uint32_t at, const char *text)
{
	p->error_at = at;
	return err_set(p->err, -EINVAL, "%s", text);
}

int parser_lacks(struct parser *p, enum promql_feature f)
{
	p->error_at = p->now.at;
	return promql_lacks(p->q->dialect, f, p->err);
}

/* ---- pieces of the tree ---- */

#define PIECE_STEPS 8 /* allocating and later using one */

void *parser_piece(struct parser *p, size_t size, int *ret_rc)
{
	void *m = NULL;

	p->error_at = p->now.at;
	*ret_rc = steps_take(p->q->steps, PIECE_STEPS, p->err);
	if (*ret_rc)
		return NULL;
	if (++p->q->nodes > p->q->limits.nodes)
		*ret_rc = err_set(p->err, -E2BIG, "more than %u parts",
				  p->q->limits.nodes);
	else if (!(m = promql_alloc(p->q, size)))
		*ret_rc = err_set(p->err, -ENOMEM, "out of memory");
	return m;
}

struct promql_node *parser_node(struct parser *p, enum promql_kind kind, uint32_t at,
				int *ret_rc)
{
	struct promql_node *n = parser_piece(p, sizeof(*n), ret_rc);

	if (n) {
		n->kind = kind;
		n->at_byte = at;
		n->height = 1;
	}
	return n;
}

/* Call when a node has all its parts. */
int parser_grown(struct parser *p, struct promql_node *n)
{
	uint32_t h = n->right ? n->right->height : 0;

	if (n->param && n->param->height > h)
		h = n->param->height;
	for (const struct promql_node *e = n->expr; e; e = e->next)
		if (e->height > h)
			h = e->height;
	n->height = h + 1;
	if (n->height <= p->q->limits.height)
		return 0;
	p->error_at = n->at_byte;
	return err_set(p->err, -E2BIG, "a tree higher than %u", p->q->limits.height);
}

int parser_keep(struct parser *p, struct str s, struct str *ret)
{
	char *copy = promql_alloc(p->q, s.len);

	if (!copy)
		return err_set(p->err, -ENOMEM, "out of memory");
	memcpy(copy, s.p, s.len);
	ret->p = copy;
	ret->len = s.len;
	return 0;
}

int parser_unquote(struct parser *p, struct str *ret)
{
	p->error_at = p->now.at;
	return promql_unquote(p->q, p->now.text, ret, p->err);
}

/* ---- operators ---- */

enum level { LEVEL_MUL = 5, LEVEL_POW = 6 };

int parser_level(enum promql_op op)
{
	switch (op) {
	case PROMQL_OR:
		return 1;
	case PROMQL_AND:
	case PROMQL_UNLESS:
		return 2;
	case PROMQL_ADD:
	case PROMQL_SUB:
		return 4;
	case PROMQL_MUL:
	case PROMQL_DIV:
	case PROMQL_MOD:
	case PROMQL_ATAN2:
		return LEVEL_MUL;
	case PROMQL_POW:
		return LEVEL_POW;
	default:
		return 3; /* comparisons */
	}
}

static int parse_unary(struct parser *p, struct promql_node **ret)
{
	struct token sign = p->now;
	int rc = 0;
	struct promql_node *n = parser_node(p, PROMQL_UNARY, sign.at, &rc);

	if (!n)
		return rc;
	n->op = sign.op;
	rc = parser_advance(p);
	/* binds like a multiplication: stronger operators belong to its operand */
	rc = rc ? rc : parser_expr(p, LEVEL_MUL + 1, &n->expr);
	if (rc)
		return rc;
	if (n->expr->kind == PROMQL_NUMBER_LITERAL) {
		if (sign.op == PROMQL_SUB)
			n->expr->number = -n->expr->number;
		n = n->expr;
	}
	*ret = n;
	return parser_grown(p, n);
}

/* One operand and what follows it */
static int parse_postfix(struct parser *p, struct promql_node **ret)
{
	int rc;

	if (p->now.type == T_OP && (p->now.op == PROMQL_ADD || p->now.op == PROMQL_SUB))
		return parse_unary(p, ret);
	rc = parser_operand(p, ret);
	return rc ? rc : parser_follow(p, ret);
}

/* "(" number ")" */
static int parse_fill_value(struct parser *p, struct promql_node **ret)
{
	bool minus = false;
	int rc = parser_expect(p, T_LEFT_PAREN, "fill, expected \"(\"");

	if (!rc && p->now.type == T_OP &&
	    (p->now.op == PROMQL_ADD || p->now.op == PROMQL_SUB)) {
		minus = p->now.op == PROMQL_SUB;
		rc = parser_advance(p);
	}
	if (!rc && p->now.type != T_NUMBER && p->now.type != T_DURATION)
		rc = parser_unexpected(p, "fill, expected number");
	rc = rc ? rc : parser_operand(p, ret);
	if (!rc && minus)
		(*ret)->number = -(*ret)->number;
	return rc ? rc : parser_expect(p, T_RIGHT_PAREN, "fill, expected \")\"");
}

/* fill, or fill_left and fill_right in any order, each once */
static int parse_fill(struct parser *p, struct promql_node *n)
{
	int rc = 0;

	if (p->now.type == T_FILL) {
		if (!promql_has(p->q->dialect, FEATURE_FILL))
			return parser_lacks(p, FEATURE_FILL);
		rc = parser_advance(p);
		rc = rc ? rc : parse_fill_value(p, &n->fill_left);
		n->fill_right = n->fill_left;
		return rc;
	}
	while (!rc && ((p->now.type == T_FILL_LEFT && !n->fill_left) ||
		       (p->now.type == T_FILL_RIGHT && !n->fill_right))) {
		struct promql_node **side =
			p->now.type == T_FILL_LEFT ? &n->fill_left : &n->fill_right;

		if (!promql_has(p->q->dialect, FEATURE_FILL))
			return parser_lacks(p, FEATURE_FILL);
		rc = parser_advance(p);
		rc = rc ? rc : parse_fill_value(p, side);
	}
	return rc;
}

/* on or ignoring, group_left or group_right */
static int parse_matching(struct parser *p, struct promql_node *n)
{
	int rc = 0;

	if (p->now.type != T_ON && p->now.type != T_IGNORING)
		return 0;
	n->grouped = true;
	n->on = p->now.type == T_ON;
	rc = parser_advance(p);
	rc = rc ? rc : parser_labels(p, &n->labels);
	if (rc || (p->now.type != T_GROUP_LEFT && p->now.type != T_GROUP_RIGHT))
		return rc;
	n->card = p->now.type == T_GROUP_LEFT ? CARD_GROUP_LEFT : CARD_GROUP_RIGHT;
	rc = parser_advance(p);
	if (rc || p->now.type != T_LEFT_PAREN)
		return rc;
	return parser_labels(p, &n->include);
}

/* bool, then matching labels, then fill values */
static int parse_modifiers(struct parser *p, struct promql_node *n)
{
	int rc = 0;

	if (p->now.type == T_BOOL) {
		n->return_bool = true;
		rc = parser_advance(p);
	}
	rc = rc ? rc : parse_matching(p, n);
	return rc ? rc : parse_fill(p, n);
}

static int climb_precedence(struct parser *p, int min_level, struct promql_node **ret)
{
	int rc = parse_postfix(p, ret);

	while (!rc && p->now.type == T_OP && parser_level(p->now.op) >= min_level) {
		struct promql_node *n = parser_node(p, PROMQL_BINARY, p->now.at, &rc);
		int level = parser_level(p->now.op);

		if (!n)
			return rc;
		n->op = p->now.op;
		n->expr = *ret;
		*ret = n;
		rc = parser_advance(p);
		rc = rc ? rc : parse_modifiers(p, n);
		rc = rc ? rc
			: parser_expr(p, n->op == PROMQL_POW ? level : level + 1,
				      &n->right);
		rc = rc ? rc : parser_grown(p, n);
	}
	return rc;
}

int parser_expr(struct parser *p, int min_level, struct promql_node **ret)
{
	int rc;

	if (++p->depth > p->q->limits.depth) {
		p->error_at = p->now.at;
		return err_set(p->err, -E2BIG, "nested deeper than %u",
			       p->q->limits.depth);
	}
	rc = climb_precedence(p, min_level, ret);
	p->depth--;
	return rc;
}

/* ---- the whole ---- */

static int at_position(const struct promql *q, uint32_t at, int rc, struct err *err)
{
	unsigned line = 1, column = 1;

	for (uint32_t i = 0; i < at && i < q->len; i++) {
		column++;
		if (q->text[i] == '\n') {
			line++;
			column = 1;
		}
	}
	return err_prefix(err, rc, "%u:%u: parse error", line, column);
}

static int parse_query(const char *text, size_t len, enum promql_dialect dialect,
		       const struct promql_limits *limits, bool selector,
		       struct promql **ret, struct err *err)
{
	auto_promql struct promql *q = promql_new(text, len, dialect, limits);
	struct parser p = {.q = q, .err = err};
	int rc;

	if (!q)
		return err_set(err, -ENOMEM, "out of memory");
	if (len > q->limits.bytes)
		return err_set(err, -E2BIG, "longer than %u bytes", q->limits.bytes);
	p.lexer = (struct lexer){
		.text = text, .len = len, .dialect = dialect, .steps = q->steps};
	rc = parser_advance(&p);
	if (!rc && selector &&
	    (p.now.type == T_STRING || p.now.type == T_NUMBER ||
	     p.now.type == T_LEFT_PAREN))
		rc = parser_unexpected(&p, "selector");
	rc = rc          ? rc
	     : !selector ? parser_expr(&p, 0, &q->root)
			 : parser_operand(&p, &q->root);
	if (!rc && selector && q->root->kind != PROMQL_SELECTOR)
		rc = parser_fail_at(&p, 0, "not a selector");
	if (!rc && p.now.type != T_EOF)
		rc = parser_unexpected(&p, selector ? "selector" : "expression");
	rc = rc ? rc : promql_check(q, &p.error_at, err);
	if (rc)
		return at_position(q, p.error_at, rc, err);
	q->text = NULL;
	*ret = q;
	q = NULL;
	return 0;
}

int promql_parse(const char *text, size_t len, enum promql_dialect dialect,
		 const struct promql_limits *limits, struct promql **ret,
		 struct err *err)
{
	return parse_query(text, len, dialect, limits, false, ret, err);
}

int promql_parse_selector(const char *text, size_t len, enum promql_dialect dialect,
			  const struct promql_limits *limits, struct promql **ret,
			  struct err *err)
{
	return parse_query(text, len, dialect, limits, true, ret, err);
}
