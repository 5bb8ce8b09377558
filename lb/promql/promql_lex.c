/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PromQL's tokens. This follows Prometheus' own scanner to the letter, including its
 * oddities and errors: a query that means something else to the server than to us would
 * be a hole. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lb/promql/promql_impl.h"

/* (an empty one may be NULL, which memcmp() does not allow) */
bool str_same(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

bool str_eq(struct str a, const char *b)
{
	return str_same(a, (struct str){b, (uint32_t)strlen(b)});
}

static const struct keyword {
	const char *word;
	enum token_type type;
	enum promql_op op;
	enum promql_feature since;
} keywords[] = {
	{"and", T_OP, PROMQL_AND, FEATURE_ALL},
	{"or", T_OP, PROMQL_OR, FEATURE_ALL},
	{"unless", T_OP, PROMQL_UNLESS, FEATURE_ALL},
	{"atan2", T_OP, PROMQL_ATAN2, FEATURE_ALL},
	{"sum", T_AGGREGATOR, PROMQL_SUM, FEATURE_ALL},
	{"avg", T_AGGREGATOR, PROMQL_AVG, FEATURE_ALL},
	{"count", T_AGGREGATOR, PROMQL_COUNT, FEATURE_ALL},
	{"min", T_AGGREGATOR, PROMQL_MIN, FEATURE_ALL},
	{"max", T_AGGREGATOR, PROMQL_MAX, FEATURE_ALL},
	{"group", T_AGGREGATOR, PROMQL_GROUP, FEATURE_ALL},
	{"stddev", T_AGGREGATOR, PROMQL_STDDEV, FEATURE_ALL},
	{"stdvar", T_AGGREGATOR, PROMQL_STDVAR, FEATURE_ALL},
	{"topk", T_AGGREGATOR, PROMQL_TOPK, FEATURE_ALL},
	{"bottomk", T_AGGREGATOR, PROMQL_BOTTOMK, FEATURE_ALL},
	{"count_values", T_AGGREGATOR, PROMQL_COUNT_VALUES, FEATURE_ALL},
	{"quantile", T_AGGREGATOR, PROMQL_QUANTILE, FEATURE_ALL},
	{"limitk", T_AGGREGATOR, PROMQL_LIMITK, FEATURE_LIMITS},
	{"limit_ratio", T_AGGREGATOR, PROMQL_LIMIT_RATIO, FEATURE_LIMITS},
	{"offset", T_OFFSET, 0, FEATURE_ALL},
	{"by", T_BY, 0, FEATURE_ALL},
	{"without", T_WITHOUT, 0, FEATURE_ALL},
	{"on", T_ON, 0, FEATURE_ALL},
	{"ignoring", T_IGNORING, 0, FEATURE_ALL},
	{"group_left", T_GROUP_LEFT, 0, FEATURE_ALL},
	{"group_right", T_GROUP_RIGHT, 0, FEATURE_ALL},
	{"bool", T_BOOL, 0, FEATURE_ALL},
	{"start", T_START, 0, FEATURE_ALL},
	{"end", T_END, 0, FEATURE_ALL},
	{"step", T_STEP, 0, FEATURE_STEP},
	{"range", T_RANGE, 0, FEATURE_RANGE},
	{"max_of", T_MAX_OF, 0, FEATURE_MIN_MAX},
	{"min_of", T_MIN_OF, 0, FEATURE_MIN_MAX},
	{"anchored", T_ANCHORED, 0, FEATURE_EXTENDED_RANGES},
	{"smoothed", T_SMOOTHED, 0, FEATURE_EXTENDED_RANGES},
	{"fill", T_FILL, 0, FEATURE_FILL},
	{"fill_left", T_FILL_LEFT, 0, FEATURE_FILL},
	{"fill_right", T_FILL_RIGHT, 0, FEATURE_FILL},
	{"inf", T_NUMBER, 0, FEATURE_ALL},
	{"nan", T_NUMBER, 0, FEATURE_ALL},
};

enum promql_feature promql_newer_word(struct str word, enum promql_dialect d)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strlen(keywords[i].word) == word.len &&
		    strncasecmp(keywords[i].word, word.p, word.len) == 0 &&
		    !promql_scans(d, keywords[i].since))
			return keywords[i].since;
	return FEATURE_ALL;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char char_at(const struct lexer *l, size_t pos)
{
	return (char)(pos < l->len ? l->text[pos] : '\0');
}

static bool accept_char(struct lexer *l, const char *set)
{
	if (l->pos < l->len && l->text[l->pos] && strchr(set, l->text[l->pos])) {
		l->pos++;
		return true;
	}
	return false;
}

static void accept_run(struct lexer *l, const char *set)
{
	while (accept_char(l, set))
		;
}

static bool next_is(const struct lexer *l, const char *set)
{
	return l->pos < l->len && l->text[l->pos] && strchr(set, l->text[l->pos]);
}

#define DIGITS "0123456789"
#define HEX_DIGITS "0123456789abcdefABCDEF"

/* The characters of a number; it is validated when its value is computed. */
static bool scan_number_2(struct lexer *l)
{
	const char *digits = DIGITS;

	if (accept_char(l, "0") && accept_char(l, "xX"))
		digits = HEX_DIGITS;
	accept_run(l, digits);
	if (accept_char(l, "."))
		accept_run(l, digits);
	if (accept_char(l, "eE")) {
		accept_char(l, "+-");
		accept_run(l, DIGITS);
	}
	return !is_alnum(char_at(l, l->pos));
}

static bool scan_number_3(struct lexer *l)
{
	const char *digits = DIGITS, *more = DIGITS "._eE";
	bool hex = false;
	bool dot = false, exponent = false;
	size_t begin = l->pos;

	if (accept_char(l, "0") && accept_char(l, "xX")) {
		accept_char(l, "_");
		hex = true;
		digits = HEX_DIGITS;
		more = HEX_DIGITS "._eE";
	}
	accept_char(l, ".");
	accept_char(l, digits);
	while (next_is(l, more)) {
		if ((next_is(l, ".") && dot) || (next_is(l, "eE") && exponent)) {
			l->pos++;
			return false;
		}
		if (accept_char(l, ".")) {
			dot = true;
			if (accept_char(l, "_.") || hex)
				return false;
		} else if (accept_char(l, "eE")) {
			exponent = true;
			accept_char(l, "+-");
			if (accept_char(l, "._eE") || l->pos >= l->len)
				return false;
		} else if (accept_char(l, "_")) {
			if (accept_char(l, "._eE") || l->pos >= l->len)
				return false;
		} else {
			accept_run(l, digits);
		}
	}
	return l->pos > begin && !is_alnum(char_at(l, l->pos));
}

static bool scan_number(struct lexer *l)
{
	return promql_has(l->dialect, FEATURE_NUMBERS_AS_DURATIONS) ? scan_number_3(l)
								    : scan_number_2(l);
}

/* What follows the first digits of a duration; the order of units is checked with its
 * value. */
static bool scan_duration_rest(struct lexer *l)
{
	if (!accept_char(l, "smhdwy"))
		return false;
	accept_char(l, "s");
	while (accept_char(l, DIGITS)) {
		accept_run(l, DIGITS);
		if (!accept_char(l, "smhdw"))
			return false;
		accept_char(l, "s");
	}
	return !is_alnum(char_at(l, l->pos));
}

static int number_or_duration(struct lexer *l, struct token *t, struct err *err)
{
	if (scan_number(l)) {
		t->type = T_NUMBER;
		return 0;
	}
	if (scan_duration_rest(l)) {
		t->type = T_DURATION;
		return 0;
	}
	return err_set(err, -EINVAL, "bad number or duration syntax");
}

/* In old versions a duration must follow "[". */
static int bracket_duration(struct lexer *l, struct token *t, struct err *err)
{
	if (promql_has(l->dialect, FEATURE_NUMBERS_AS_DURATIONS))
		return number_or_duration(l, t, err);
	if (scan_number(l))
		return promql_lacks(l->dialect, FEATURE_NUMBERS_AS_DURATIONS, err);
	if (!scan_duration_rest(l))
		return err_set(err, -EINVAL, "bad duration syntax");
	t->type = T_DURATION;
	return 0;
}

static int lex_string(struct lexer *l, struct token *t, struct err *err)
{
	char quote = l->text[l->pos++];
	const char *end = l->text + l->len;

	for (;;) {
		const char *p = l->text + l->pos;
		uint32_t v;
		size_t n;
		bool byte;

		if (p >= end || (*p == '\n' && quote != '`'))
			return err_set(err, -EINVAL, "unterminated quoted string");
		if (*p == quote)
			break;
		if (*p == '\\' && quote != '`') {
			p++;
			if (promql_unescape(&p, end, quote, &v, &byte))
				return err_set(err, -EINVAL,
					       "unknown or unfinished escape sequence");
			l->pos = (size_t)(p - l->text);
			continue;
		}
		n = utf8_len(p, (size_t)(end - p));
		if (!n || (n == 3 && memcmp(p, "\xef\xbf\xbd", 3) == 0))
			return err_set(err, -EINVAL, "invalid UTF-8 rune");
		l->pos += n;
	}
	l->pos++;
	t->type = T_STRING;
	return 0;
}

static bool before_paren(const struct lexer *l)
{
	size_t pos = l->pos;

	while (pos < l->len && is_space(l->text[pos]))
		pos++;
	return char_at(l, pos) == '(';
}

static void lex_word(struct lexer *l, struct token *t, uint32_t begin)
{
	bool colon = false;
	size_t n;

	while (is_alnum(char_at(l, l->pos)) || char_at(l, l->pos) == ':')
		colon |= l->text[l->pos++] == ':';
	n = l->pos - begin;
	t->type = colon ? T_METRIC_IDENTIFIER : T_IDENTIFIER;
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		const struct keyword *k = &keywords[i];

		if (strlen(k->word) != n ||
		    strncasecmp(k->word, l->text + begin, n) != 0 ||
		    !promql_scans(l->dialect, k->since))
			continue;
		/* only a name if nothing can be filled in here */
		if (k->since == FEATURE_FILL && !before_paren(l))
			continue;
		t->type = k->type;
		t->op = k->op;
	}
}

static int lex_in_braces(struct lexer *l, struct token *t, struct err *err)
{
	char c = l->text[l->pos];

	if (is_alpha(c)) {
		while (is_alnum(char_at(l, l->pos)))
			l->pos++;
		t->type = T_IDENTIFIER;
		return 0;
	}
	if (c == '"' || c == '\'' || c == '`')
		return lex_string(l, t, err);
	l->pos++;
	switch (c) {
	case ',':
		t->type = T_COMMA;
		return 0;
	case '}':
		t->type = T_RIGHT_BRACE;
		l->in_braces = false;
		return 0;
	case '=':
		t->type = accept_char(l, "~") ? T_EQL_REGEX : T_EQL;
		return 0;
	case '!':
		if (accept_char(l, "~")) {
			t->type = T_NEQ_REGEX;
			return 0;
		}
		if (accept_char(l, "=")) {
			t->type = T_OP;
			t->op = PROMQL_NEQ;
			return 0;
		}
		break;
	}
	return err_set(err, -EINVAL, "unexpected character inside braces");
}

/* Words in durations; there are no others. */
static int lex_duration_word(struct lexer *l, struct token *t, struct err *err)
{
	static const struct {
		const char *word;
		enum token_type type;
		enum promql_feature since;
	} words[] = {
		{"step", T_STEP, FEATURE_STEP},
		{"range", T_RANGE, FEATURE_RANGE},
		{"max_of", T_MAX_OF, FEATURE_MIN_MAX},
		{"min_of", T_MIN_OF, FEATURE_MIN_MAX},
	};
	size_t begin = l->pos;

	while (is_alpha(char_at(l, l->pos)))
		l->pos++;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].word) != l->pos - begin ||
		    strncasecmp(words[i].word, l->text + begin, l->pos - begin) != 0)
			continue;
		if (!promql_scans(l->dialect, words[i].since))
			return promql_lacks(l->dialect, words[i].since, err);
		t->type = words[i].type;
		l->duration_seen = true;
		return 0;
	}
	return err_set(err, -EINVAL, "unexpected character in duration expression");
}

static int lex_sign(struct lexer *l, struct token *t, struct err *err);

static int set_op(struct token *t, enum promql_op o)
{
	t->type = T_OP;
	t->op = o;
	return 0;
}

/* FEATURE_DURATION_SCANNER: from "[" to the first number */
static int lex_in_duration(struct lexer *l, struct token *t, struct err *err)
{
	char c = l->text[l->pos];

	if (is_digit(c) || (c == '.' && is_digit(char_at(l, l->pos + 1)))) {
		l->duration_seen = true;
		l->in_duration = false;
		return number_or_duration(l, t, err);
	}
	if (is_alpha(c))
		return lex_duration_word(l, t, err);
	if (c == ':' && l->duration_seen && !l->colon_seen) {
		l->pos++;
		t->type = T_COLON;
		l->colon_seen = true;
		return 0;
	}
	if (c && strchr("],()+-*/%^", c))
		return lex_sign(l, t, err);
	return err_set(err, -EINVAL, "unexpected character in duration expression");
}

/* "</" and ">/"; two operators in older versions, which is always an error */
static int lex_trim(struct lexer *l, struct token *t, enum promql_op o, struct err *err)
{
	if (!promql_has(l->dialect, FEATURE_TRIM))
		return promql_lacks(l->dialect, FEATURE_TRIM, err);
	l->pos++;
	return set_op(t, o);
}

/* A single-character token, or the beginning of an operator */
static int set_type(struct token *t, enum token_type type)
{
	t->type = type;
	return 0;
}

static int lex_sign(struct lexer *l, struct token *t, struct err *err)
{
	switch (l->text[l->pos++]) {
	case ',':
		return set_type(t, T_COMMA);
	case '*':
		return set_op(t, PROMQL_MUL);
	case '/':
		return set_op(t, PROMQL_DIV);
	case '%':
		return set_op(t, PROMQL_MOD);
	case '+':
		return set_op(t, PROMQL_ADD);
	case '-':
		return set_op(t, PROMQL_SUB);
	case '^':
		return set_op(t, PROMQL_POW);
	case '=':
		if (accept_char(l, "="))
			return set_op(t, PROMQL_EQL);
		break;
	case '!':
		if (accept_char(l, "="))
			return set_op(t, PROMQL_NEQ);
		break;
	case '<':
		if (next_is(l, "/"))
			return lex_trim(l, t, PROMQL_TRIM_UPPER, err);
		return set_op(t, accept_char(l, "=") ? PROMQL_LTE : PROMQL_LSS);
	case '>':
		if (next_is(l, "/"))
			return lex_trim(l, t, PROMQL_TRIM_LOWER, err);
		return set_op(t, accept_char(l, "=") ? PROMQL_GTE : PROMQL_GTR);
	case '(':
		return set_type(t, T_LEFT_PAREN);
	case ')':
		return set_type(t, T_RIGHT_PAREN);
	case '{':
		l->in_braces = true;
		return set_type(t, T_LEFT_BRACE);
	case '[':
		if (l->in_brackets)
			break;
		l->in_brackets = l->in_duration = true;
		l->colon_seen = l->duration_seen = false;
		return set_type(t, T_LEFT_BRACKET);
	case ']':
		if (!l->in_brackets)
			break;
		l->in_brackets = l->in_duration = false;
		return set_type(t, T_RIGHT_BRACKET);
	case '@':
		return set_type(t, T_AT);
	}
	return err_set(err, -EINVAL, "unexpected character");
}

static int lex_outside(struct lexer *l, struct token *t, struct err *err)
{
	char c = l->text[l->pos];

	if (is_digit(c) || (c == '.' && is_digit(char_at(l, l->pos + 1))))
		return number_or_duration(l, t, err);
	if (c == '"' || c == '\'' || c == '`')
		return lex_string(l, t, err);
	if (!is_alpha(c) && c != ':')
		return lex_sign(l, t, err);
	if (!l->in_brackets) {
		lex_word(l, t, t->at);
		return 0;
	}
	if (c != ':' && promql_scans(l->dialect, FEATURE_STEP))
		return lex_duration_word(l, t, err);
	/* Older scanners take a letter here for a colon, so foo[5mx1m] does not get
	 * here but foo[5m x1m] does. */
	if (l->colon_seen)
		return err_set(err, -EINVAL, "unexpected colon");
	l->pos++;
	t->type = T_COLON;
	l->colon_seen = true;
	return 0;
}

static void skip_spaces(struct lexer *l)
{
	while (l->pos < l->len && is_space(l->text[l->pos]))
		l->pos++;
}

static void skip_comments(struct lexer *l)
{
	for (;;) {
		skip_spaces(l);
		if (char_at(l, l->pos) != '#')
			return;
		while (l->pos < l->len && char_at(l, l->pos) != '\n' &&
		       char_at(l, l->pos) != '\r')
			l->pos++;
	}
}

#define WORD_STEPS 8 /* searched among all keywords */

int promql_lex(struct lexer *l, struct token *ret, uint32_t *ret_at, struct err *err)
{
	size_t begin = l->pos;

	struct token t = {.type = T_EOF};
	bool begun = l->in_brackets && l->in_duration;
	bool duration = begun && !promql_has(l->dialect, FEATURE_DURATION_SCANNER);
	int rc = 0;

	if (begun)
		skip_spaces(l); /* no comments there */
	else
		skip_comments(l);
	t.at = *ret_at = (uint32_t)l->pos;
	t.text.p = l->text + l->pos;
	if (duration) {
		l->duration_seen = true;
		l->in_duration = false;
		rc = bracket_duration(l, &t, err);
	} else if (l->pos >= l->len) {
		if (l->in_braces || l->in_brackets)
			rc = err_set(err, -EINVAL, "unexpected end of input");
	} else if (l->in_braces) {
		rc = lex_in_braces(l, &t, err);
	} else if (begun) {
		rc = lex_in_duration(l, &t, err);
	} else {
		rc = lex_outside(l, &t, err);
	}
	if (!rc)
		rc = steps_take(l->steps, l->pos - begin + WORD_STEPS, err);
	if (rc)
		return rc;
	t.text.len = (uint32_t)(l->pos - t.at);
	*ret = t;
	return 0;
}
