/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_PROMQL_H
#define CEEMS_LB_PROMQL_PROMQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/promql/steps.h"
#include "lib/buf.h"
#include "lib/err.h"

/*
 * Parser and printer for the whole of PromQL with its type rules, so that it is known
 * what a query can read before it is sent (prometheus.io, "Querying basics",
 * "Operators", "Functions"). The printed text means the same, and parses to the same
 * tree. Time is linear in the length, and length, depth and nodes are limited.
 *
 * A query is one object with all of its tree in it; strings of the tree are slices that
 * may contain any byte, including 0, and live as long as the query. Not thread safe;
 * queries are independent of each other.
 */

/*
 * The dialect of the target server: any PROMQL_VERSION() from 2.42 on, with its
 * --enable-feature flags. lb/promql/promql_features.c lists what came with which
 * version, lb/promql/promql_functions.c the same for functions; if a version lacks
 * something, the error says which one has it.
 */
#define PROMQL_FLAG_BITS 8
#define PROMQL_VERSION(major, minor) (((major)*1000 + (minor)) << PROMQL_FLAG_BITS)
enum promql_flag {
	PROMQL_FUNCTIONS = 1,       /* promql-experimental-functions */
	PROMQL_EXTENDED_RANGES = 2, /* promql-extended-range-selectors */
	PROMQL_FILL = 4,            /* promql-binop-fill-modifiers */
	PROMQL_DURATIONS = 8,       /* promql-duration-expr */
	PROMQL_FLAGS = PROMQL_FUNCTIONS | PROMQL_EXTENDED_RANGES | PROMQL_FILL |
		       PROMQL_DURATIONS,
	/* A server that is not Prometheus: the grammar is that of the version, but it
	 * may read more than Prometheus would, see access_plan_widen(). */
	PROMQL_OTHER = 16,
};
enum promql_dialect {
	/* Prometheus 2.42 (Debian 12) and compatible servers */
	PROMQL_2 = PROMQL_VERSION(2, 42) | PROMQL_FLAGS,
	PROMQL_3 = PROMQL_VERSION(3, 5) | PROMQL_FLAGS,
	PROMQL_NEWEST = PROMQL_VERSION(3, 16) | PROMQL_FLAGS,
};
/* "3.5.0-rc.1" or "2.55" -> PROMQL_VERSION(), without flags; -1: not a version. */
int promql_dialect_of(const char *version);
/* A flag by Prometheus' name for it; false: no flag of that name changes PromQL. */
bool promql_flag(const char *name, unsigned *ret);
/* The common subset of both; another server if one of them is. */
enum promql_dialect promql_older(enum promql_dialect a, enum promql_dialect b);

struct str {
	const char *p; /* not NUL-terminated */
	uint32_t len;
};
bool str_eq(struct str a, const char *b);
bool str_same(struct str a, struct str b);

enum promql_type {
	PROMQL_SCALAR,
	PROMQL_VECTOR,
	PROMQL_MATRIX,
	PROMQL_STRING,
};

enum promql_kind {
	PROMQL_NUMBER_LITERAL,
	PROMQL_STRING_LITERAL,
	PROMQL_SELECTOR, /* instant vector selector */
	PROMQL_RANGE, /* selector[range]; expr is the selector, with its @ and offset */
	PROMQL_SUBQUERY,      /* expr[range:step] */
	PROMQL_PAREN,         /* (expr) */
	PROMQL_UNARY,         /* -expr, +expr */
	PROMQL_BINARY,        /* expr op right */
	PROMQL_AGGREGATE,     /* op by (labels) (param, expr) */
	PROMQL_CALL,          /* function(args) */
	PROMQL_DURATION_CALL, /* op(expr, right), in durations only */
};

enum promql_op {
	/* binary, by precedence */
	PROMQL_OR,
	PROMQL_AND,
	PROMQL_UNLESS,
	PROMQL_EQL, /* == */
	PROMQL_NEQ,
	PROMQL_LTE,
	PROMQL_LSS,
	PROMQL_GTE,
	PROMQL_GTR,
	PROMQL_TRIM_UPPER, /* </ */
	PROMQL_TRIM_LOWER,
	PROMQL_ADD, /* also unary */
	PROMQL_SUB, /* also unary */
	PROMQL_MUL,
	PROMQL_DIV,
	PROMQL_MOD,
	PROMQL_ATAN2,
	PROMQL_POW,
	/* aggregations */
	PROMQL_SUM,
	PROMQL_AVG,
	PROMQL_COUNT,
	PROMQL_MIN,
	PROMQL_MAX,
	PROMQL_GROUP,
	PROMQL_STDDEV,
	PROMQL_STDVAR,
	PROMQL_TOPK,
	PROMQL_BOTTOMK,
	PROMQL_COUNT_VALUES,
	PROMQL_QUANTILE,
	PROMQL_LIMITK,
	PROMQL_LIMIT_RATIO,
	/* of durations */
	PROMQL_STEP,        /* step() */
	PROMQL_QUERY_RANGE, /* range() */
	PROMQL_MIN_OF,
	PROMQL_MAX_OF,
	PROMQL_OPS,
};

enum promql_match { MATCH_EQUAL, MATCH_NOT_EQUAL, MATCH_REGEX, MATCH_NOT_REGEX };

struct promql_matcher {
	struct promql_matcher *next;
	enum promql_match match;
	struct str name, value; /* value of a regular expression: not yet anchored */
};

struct promql_label {
	struct promql_label *next;
	struct str name;
};

enum promql_card { CARD_ONE_TO_ONE, CARD_GROUP_LEFT, CARD_GROUP_RIGHT };
/* What a selector reads outside its range: only lookback before it, or both sides. */
enum promql_extent { EXTENT_PLAIN, EXTENT_ANCHORED, EXTENT_SMOOTHED };
enum promql_at { AT_NONE, AT_TIME, AT_START, AT_END };

struct promql_function;

struct promql_node {
	enum promql_kind kind;
	enum promql_type type;
	uint32_t at_byte; /* its position in the text */
	uint32_t height;  /* of its tree; a leaf has 1 */
	enum promql_op op;
	struct promql_node *next;  /* the next argument of the same call */
	struct promql_node *expr;  /* operand; first argument of a call; left operand */
	struct promql_node *right; /* right operand */
	struct promql_node *param; /* of topk and the like; NULL: none */
	const struct promql_function *function;

	double number; /* value of a literal; in seconds if is_duration */
	bool is_duration;
	struct str string;

	/* a selector: the metric's name before the braces, or ""; matchers in the order
	 * written, including the one for a quoted metric name in braces. */
	struct str name;
	struct promql_matcher *matchers;
	struct promql_node *next_selector; /* in the order written */
	enum promql_extent extent;

	/* a selector or subquery */
	enum promql_at at;
	double at_s; /* AT_TIME: seconds since the epoch, whole milliseconds */
	int64_t offset_ns;
	/* a range or subquery; step_ns 0: the server's default; a duration literal,
	 * without its sign */
	int64_t range_ns, step_ns;
	/* expressions still to be evaluated; NULL: range_ns, step_ns, offset_ns are
	 * valid */
	struct promql_node *range_expr, *step_expr, *offset_expr;
	struct promql_node *next_unfixed;

	/* an aggregation: by or without (grouped false: neither); a binary operation:
	 * on or ignoring */
	bool grouped, without, on;
	struct promql_label *labels;
	bool return_bool;
	enum promql_card card;
	struct promql_label *include; /* of group_left or group_right */
	/* values for samples missing on one side; NULL: none */
	struct promql_node *fill_left, *fill_right;
};

/* Zero: the default, which is also the maximum. */
struct promql_limits {
	uint32_t bytes;  /* 64 KiB */
	uint32_t nodes;  /* 4096, matchers and labels included */
	uint32_t depth;  /* 64: nested brackets and operators */
	uint32_t height; /* 256: of the tree, including chains of operators */
	/* The request's budget; outlives the query. NULL: by the text's length. */
	struct steps *steps;
};
#define PROMQL_BYTES_MAX (64u << 10)
#define PROMQL_NODES_MAX 4096u
#define PROMQL_DEPTH_MAX 64u
#define PROMQL_HEIGHT_MAX 256u

struct promql;

/* Parses an expression and checks its types. -EINVAL: err is "1:17: parse error: ..."
 * as in Prometheus (line:column, in bytes); -E2BIG: above a limit; -ENOMEM. limits may
 * be NULL. */
int promql_parse(const char *text, size_t len, enum promql_dialect dialect,
		 const struct promql_limits *limits, struct promql **ret,
		 struct err *err) __attribute__((warn_unused_result));
/* The same for match[]: a single selector without time. */
int promql_parse_selector(const char *text, size_t len, enum promql_dialect dialect,
			  const struct promql_limits *limits, struct promql **ret,
			  struct err *err) __attribute__((warn_unused_result));
void promql_free(struct promql *q); /* accepts NULL */
#define auto_promql __attribute__((cleanup(promql_cleanup)))
static inline void promql_cleanup(struct promql **q)
{
	promql_free(*q);
}

struct promql_node *promql_root(struct promql *q);
/* The first of all selectors, wherever they are; continue with ->next_selector. */
struct promql_node *promql_selectors(struct promql *q);

/* Evaluates duration expressions, for a query over this range with this step (both 0:
 * an instant query), and replaces them by numbers. -EINVAL: one is invalid then. */
int promql_fix_durations(struct promql *q, int64_t range_ms, int64_t step_ms,
			 struct err *err) __attribute__((warn_unused_result));
/* Whether some durations depend on the range or step. */
bool promql_depends_on_times(const struct promql *q);

/* Adds name="value" to a selector. Bytes are copied. -ENOMEM. */
int promql_add_matcher(struct promql *q, struct promql_node *selector,
		       enum promql_match match, const char *name, const char *value,
		       size_t value_len) __attribute__((warn_unused_result));

/* The budget that parser and proof use. */
struct steps *promql_steps(struct promql *q);

/* A copy of bytes that lives as long as the query; NULL: no memory. */
const char *promql_keep(struct promql *q, const void *bytes, size_t len);

/* One line of text. Errors are the buffer's. */
void promql_print(const struct promql *q, struct buf *out);

/* Name of an operator or aggregation, as printed. */
const char *promql_op_name(enum promql_op op);
const char *promql_function_name(const struct promql_function *f);

#endif
