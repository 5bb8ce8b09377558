/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PromQL's functions, from Prometheus' documentation ("Query functions"), sorted, with
 * the versions that have them, and whether they need promql-experimental-functions. */
#include <stdlib.h>
#include <string.h>

#include "lb/promql/promql_impl.h"

/* versions as in struct promql_known */
#define ALWAYS                                                                         \
	{                                                                              \
		.since = 2000                                                          \
	}
#define SINCE(v)                                                                       \
	{                                                                              \
		.since = (v)                                                           \
	}
#define UNTIL(v)                                                                       \
	{                                                                              \
		.since = 2000, .until = (v)                                            \
	}
#define FLAGGED(v)                                                                     \
	{                                                                              \
		.since = (v), .flag = PROMQL_FUNCTIONS                                 \
	}
/* without a flag from version o on */
#define OPENED(v, o)                                                                   \
	{                                                                              \
		.since = (v), .flag = PROMQL_FUNCTIONS, .opened = (o)                  \
	}

/* clang-format off */
static const struct promql_function functions[] = {
	{ "abs", "v", 0, 'v', ALWAYS },
	{ "absent", "v", 0, 'v', ALWAYS },
	{ "absent_over_time", "m", 0, 'v', ALWAYS },
	{ "acos", "v", 0, 'v', ALWAYS },
	{ "acosh", "v", 0, 'v', ALWAYS },
	{ "asin", "v", 0, 'v', ALWAYS },
	{ "asinh", "v", 0, 'v', ALWAYS },
	{ "atan", "v", 0, 'v', ALWAYS },
	{ "atanh", "v", 0, 'v', ALWAYS },
	{ "avg_over_time", "m", 0, 'v', ALWAYS },
	{ "ceil", "v", 0, 'v', ALWAYS },
	{ "changes", "m", 0, 'v', ALWAYS },
	{ "clamp", "vss", 0, 'v', ALWAYS },
	{ "clamp_max", "vs", 0, 'v', ALWAYS },
	{ "clamp_min", "vs", 0, 'v', ALWAYS },
	{ "cos", "v", 0, 'v', ALWAYS },
	{ "cosh", "v", 0, 'v', ALWAYS },
	{ "count_over_time", "m", 0, 'v', ALWAYS },
	{ "day_of_month", "v", 1, 'v', ALWAYS },
	{ "day_of_week", "v", 1, 'v', ALWAYS },
	{ "day_of_year", "v", 1, 'v', ALWAYS },
	{ "days_in_month", "v", 1, 'v', ALWAYS },
	{ "deg", "v", 0, 'v', ALWAYS },
	{ "delta", "m", 0, 'v', ALWAYS },
	{ "deriv", "m", 0, 'v', ALWAYS },
	{ "double_exponential_smoothing", "mss", 0, 'v', FLAGGED(3000) },
	{ "end", "", 0, 's', FLAGGED(3012) },
	{ "exp", "v", 0, 'v', ALWAYS },
	{ "first_over_time", "m", 0, 'v', OPENED(3007, 3014) },
	{ "floor", "v", 0, 'v', ALWAYS },
	{ "histogram_avg", "v", 0, 'v', SINCE(2051) },
	{ "histogram_count", "v", 0, 'v', ALWAYS },
	{ "histogram_fraction", "ssv", 0, 'v', ALWAYS },
	{ "histogram_quantile", "sv", 0, 'v', ALWAYS },
	{ "histogram_quantiles", "vtss", 9, 'v', FLAGGED(3011) },
	{ "histogram_stddev", "v", 0, 'v', SINCE(2047) },
	{ "histogram_stdvar", "v", 0, 'v', SINCE(2047) },
	{ "histogram_sum", "v", 0, 'v', ALWAYS },
	{ "holt_winters", "mss", 0, 'v', UNTIL(3000) },
	{ "hour", "v", 1, 'v', ALWAYS },
	{ "idelta", "m", 0, 'v', ALWAYS },
	{ "increase", "m", 0, 'v', ALWAYS },
	{ "info", "vv", 1, 'v', FLAGGED(2055) },
	{ "integral", "ms", 1, 'v', FLAGGED(3016) },
	{ "irate", "m", 0, 'v', ALWAYS },
	{ "label_join", "vttt", -1, 'v', ALWAYS },
	{ "label_replace", "vtttt", 0, 'v', ALWAYS },
	{ "last_over_time", "m", 0, 'v', ALWAYS },
	{ "ln", "v", 0, 'v', ALWAYS },
	{ "log10", "v", 0, 'v', ALWAYS },
	{ "log2", "v", 0, 'v', ALWAYS },
	{ "mad_over_time", "m", 0, 'v', FLAGGED(2049) },
	{ "max_of", "ss", 0, 's', FLAGGED(3013) },
	{ "max_over_time", "m", 0, 'v', ALWAYS },
	{ "min_of", "ss", 0, 's', FLAGGED(3013) },
	{ "min_over_time", "m", 0, 'v', ALWAYS },
	{ "minute", "v", 1, 'v', ALWAYS },
	{ "month", "v", 1, 'v', ALWAYS },
	{ "pi", "", 0, 's', ALWAYS },
	{ "predict_linear", "ms", 0, 'v', ALWAYS },
	{ "present_over_time", "m", 0, 'v', ALWAYS },
	{ "quantile_over_time", "sm", 0, 'v', ALWAYS },
	{ "rad", "v", 0, 'v', ALWAYS },
	{ "range", "", 0, 's', FLAGGED(3012) },
	{ "rate", "m", 0, 'v', ALWAYS },
	{ "resets", "m", 0, 'v', ALWAYS },
	{ "round", "vs", 1, 'v', ALWAYS },
	{ "scalar", "v", 0, 's', ALWAYS },
	{ "sgn", "v", 0, 'v', ALWAYS },
	{ "sin", "v", 0, 'v', ALWAYS },
	{ "sinh", "v", 0, 'v', ALWAYS },
	{ "sort", "v", 0, 'v', ALWAYS },
	{ "sort_by_label", "vt", -1, 'v', FLAGGED(2049) },
	{ "sort_by_label_desc", "vt", -1, 'v', FLAGGED(2049) },
	{ "sort_desc", "v", 0, 'v', ALWAYS },
	{ "sqrt", "v", 0, 'v', ALWAYS },
	{ "start", "", 0, 's', FLAGGED(3012) },
	{ "start_timestamp", "v", 0, 'v', FLAGGED(3014) },
	{ "stddev_over_time", "m", 0, 'v', ALWAYS },
	{ "stdvar_over_time", "m", 0, 'v', ALWAYS },
	{ "step", "", 0, 's', FLAGGED(3012) },
	{ "sum_over_time", "m", 0, 'v', ALWAYS },
	{ "tan", "v", 0, 'v', ALWAYS },
	{ "tanh", "v", 0, 'v', ALWAYS },
	{ "time", "", 0, 's', ALWAYS },
	{ "timestamp", "v", 0, 'v', ALWAYS },
	{ "ts_of_first_over_time", "m", 0, 'v', FLAGGED(3007) },
	{ "ts_of_last_over_time", "m", 0, 'v', FLAGGED(3005) },
	{ "ts_of_max_over_time", "m", 0, 'v', FLAGGED(3005) },
	{ "ts_of_min_over_time", "m", 0, 'v', FLAGGED(3005) },
	{ "vector", "s", 0, 'v', ALWAYS },
	{ "year", "v", 1, 'v', ALWAYS },
};
/* clang-format on */

static int compare_function_name(const void *key, const void *row)
{
	const struct str *name = key;
	const struct promql_function *f = row;
	int c = strncmp(name->p, f->name, name->len);

	return c ? c : -(f->name[name->len] != '\0');
}

const struct promql_function *promql_function_find(struct str name)
{
	return bsearch(&name, functions, sizeof(functions) / sizeof(functions[0]),
		       sizeof(functions[0]), compare_function_name);
}

const char *promql_function_name(const struct promql_function *f)
{
	return f->name;
}

enum promql_type promql_type_of(char letter)
{
	switch (letter) {
	case 's':
		return PROMQL_SCALAR;
	case 'm':
		return PROMQL_MATRIX;
	case 't':
		return PROMQL_STRING;
	default:
		return PROMQL_VECTOR;
	}
}

const char *promql_type_name(enum promql_type type)
{
	static const char *const names[] = {
		[PROMQL_SCALAR] = "scalar",
		[PROMQL_VECTOR] = "instant vector",
		[PROMQL_MATRIX] = "range vector",
		[PROMQL_STRING] = "string",
	};

	return names[type];
}
