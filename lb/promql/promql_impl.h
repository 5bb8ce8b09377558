/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_PROMQL_IMPL_H
#define CEEMS_LB_PROMQL_PROMQL_IMPL_H

/* Shared by the files of the PromQL parser only. */

#include "lb/promql/promql.h"

struct promql_chunk;

/* Versions as major * 1000 + minor */
struct promql_known {
	unsigned short since, until; /* until 0: still there */
	unsigned char flag;          /* the enum promql_flag that it needs; 0: none */
	unsigned short
		opened; /* the flag is not needed from this version on; 0: always */
};

enum promql_feature {
	FEATURE_ALL, /* every version has it */
	FEATURE_AT_BEFORE_RANGE,
	FEATURE_QUOTED_NAMES,
	FEATURE_NUMBERS_AS_DURATIONS,
	FEATURE_LIMITS,
	FEATURE_QUOTED_LABELS,
	FEATURE_UTF8,
	FEATURE_GROUP_NAMES,
	FEATURE_DURATION_SCANNER,
	FEATURE_DURATIONS,
	FEATURE_STEP,
	FEATURE_EXTENDED_RANGES,
	FEATURE_FILL,
	FEATURE_RANGE,
	FEATURE_TRIM,
	FEATURE_MIN_MAX,
};
bool promql_knows(enum promql_dialect d, struct promql_known k);
bool promql_has(enum promql_dialect d, enum promql_feature f);
/* Whether its scanner knows the words, allowed or not. */
bool promql_scans(enum promql_dialect d, enum promql_feature f);
/* Says which version has what d lacks. */
void promql_say_known(enum promql_dialect d, struct promql_known k, char *ret,
		      size_t size);
/* -EINVAL with a text that says so. */
int promql_lacks(enum promql_dialect d, enum promql_feature f, struct err *err);

struct promql {
	enum promql_dialect dialect;
	struct promql_limits limits;
	const char *text; /* the caller's, while parsing */
	size_t len;
	uint32_t nodes;
	struct steps *steps, own; /* own: used unless the request has some */
	struct promql_node *root;
	struct promql_node *selectors, **selectors_end;
	struct promql_node *unfixed; /* selectors, ranges, subqueries */
	bool depends_on_times;
	struct promql_chunk *chunks; /* all memory of the tree */
	char *room;
	size_t left;
	char first[4096]; /* enough for most queries */
};

/* An empty query; NULL: no memory. */
struct promql *promql_new(const char *text, size_t len, enum promql_dialect dialect,
			  const struct promql_limits *limits);
/* Memory that lives as long as the query, zeroed; NULL: none left. */
void *promql_alloc(struct promql *q, size_t size);

enum token_type {
	T_EOF,
	T_NUMBER,
	T_DURATION,
	T_STRING,
	T_IDENTIFIER,
	T_METRIC_IDENTIFIER, /* with a colon in it */
	T_LEFT_BRACE,
	T_RIGHT_BRACE,
	T_LEFT_PAREN,
	T_RIGHT_PAREN,
	T_LEFT_BRACKET,
	T_RIGHT_BRACKET,
	T_COMMA,
	T_COLON,
	T_AT,
	T_EQL, /* = */
	T_EQL_REGEX,
	T_NEQ_REGEX,
	T_OP, /* binary operator, != included: token.op */
	T_AGGREGATOR,
	T_BOOL,
	T_BY,
	T_GROUP_LEFT,
	T_GROUP_RIGHT,
	T_IGNORING,
	T_OFFSET,
	T_ON,
	T_WITHOUT,
	T_START,
	T_END,
	T_STEP,
	T_RANGE,
	T_MAX_OF,
	T_MIN_OF,
	T_ANCHORED,
	T_SMOOTHED,
	T_FILL,
	T_FILL_LEFT,
	T_FILL_RIGHT,
};

struct token {
	enum token_type type;
	enum promql_op op;
	struct str text; /* as written */
	uint32_t at;     /* byte in the text */
};

struct lexer {
	const char *text;
	size_t len, pos;
	enum promql_dialect dialect;
	bool in_braces, in_brackets, colon_seen, duration_seen;
	bool in_duration; /* no number has come in it yet */
	struct steps *steps;
};

/* The feature for which a later version reserves the word, which is a name in this one;
 * FEATURE_ALL: none. */
enum promql_feature promql_newer_word(struct str word, enum promql_dialect d);

/* The next token; with -EINVAL err has no position, which is in *ret_at. */
int promql_lex(struct lexer *l, struct token *ret, uint32_t *ret_at, struct err *err);

struct parser {
	struct promql *q;
	struct lexer lexer;
	struct token now; /* the next token, not yet taken */
	uint32_t error_at;
	uint32_t depth;
	struct err *err;
};

/* All return 0, or fail with a text in p->err and its position in p->error_at. */
int parser_advance(struct parser *p);
int parser_expect(struct parser *p, enum token_type type, const char *context);
int parser_unexpected(struct parser *p, const char *context);
int parser_fail_at(struct parser *p, uint32_t at, const char *text);
/* The next token belongs to another version. */
int parser_lacks(struct parser *p, enum promql_feature f);
/* A counted part of the tree; NULL and *ret_rc: above the limit, or no memory. */
void *parser_piece(struct parser *p, size_t size, int *ret_rc);
struct promql_node *parser_node(struct parser *p, enum promql_kind kind, uint32_t at,
				int *ret_rc);
/* Call when a node has all its parts. */
int parser_grown(struct parser *p, struct promql_node *n);
int parser_keep(struct parser *p, struct str s, struct str *ret);
/* Unquotes the next token, a string */
int parser_unquote(struct parser *p, struct str *ret);
/* "(" label, ... ")" */
int parser_labels(struct parser *p, struct promql_label **end);
/* Precedence of an operator; higher binds more tightly. */
int parser_level(enum promql_op op);
/* A duration of operators with at least precedence min_level; 0: any. */
int parser_duration(struct parser *p, int min_level, struct promql_node **ret);
int parser_offset_duration(struct parser *p, struct promql_node **ret);
/* Records owner's duration, to be evaluated later. */
void parser_keep_duration(struct parser *p, struct promql_node *owner,
			  struct promql_node **at, struct promql_node *n);
int parser_operand(struct parser *p, struct promql_node **ret);
/* Parses what follows *io and makes *io the enclosing node. */
int parser_follow(struct parser *p, struct promql_node **io);
/* An expression of operators with at least precedence min_level; 0: any. */
int parser_expr(struct parser *p, int min_level, struct promql_node **ret);

/* One escape at *p, after the backslash: its value, and whether it is a byte (else a
 * character). quote may be escaped too. */
int promql_unescape(const char **p, const char *end, char quote, uint32_t *ret,
		    bool *ret_byte);
/* "5m30s" -> nanoseconds, 0 for "0s". */
int promql_duration(struct str text, int64_t *ret_ns, struct err *err);
int promql_number(struct str text, enum promql_dialect dialect, double *ret,
		  struct err *err);
/* A quoted string with its quotes -> its bytes in the query's memory. */
int promql_unquote(struct promql *q, struct str quoted, struct str *ret,
		   struct err *err);

/* Checks the types of the whole tree and sets ->type. -EINVAL with *ret_at. */
int promql_check(struct promql *q, uint32_t *ret_at, struct err *err);

struct promql_function {
	const char *name;
	const char *args; /* of s(calar) v(ector) m(atrix) t(ext), one letter each */
	signed char variadic; /* so many of the last may be omitted or, -1, repeated */
	char type;            /* return type */
	struct promql_known known;
};

/* NULL: no dialect has it */
const struct promql_function *promql_function_find(struct str name);
enum promql_type promql_type_of(char letter);
const char *promql_type_name(enum promql_type type);

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}
static inline bool is_alpha(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool is_alnum(char c)
{
	return is_alpha(c) || is_digit(c);
}
/* Whether name can be a label name without quotes. */
bool promql_plain_label(struct str name);

#endif
