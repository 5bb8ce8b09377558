/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PromQL's functions, from Prometheus' documentation ("Query functions"), sorted. Those
 * that PROMQL_3 has only behind a flag of the server are there too: the server knows.
 */
#include <stdlib.h>
#include <string.h>

#include "lb/promql_impl.h"

#define ONLY_2 (1 << PROMQL_2)
#define ONLY_3 (1 << PROMQL_3)
#define BOTH (ONLY_2 | ONLY_3)

/* clang-format off */
static const struct promql_function functions[] = {
	{ "abs", "v", 0, 'v', BOTH },
	{ "absent", "v", 0, 'v', BOTH },
	{ "absent_over_time", "m", 0, 'v', BOTH },
	{ "acos", "v", 0, 'v', BOTH },
	{ "acosh", "v", 0, 'v', BOTH },
	{ "asin", "v", 0, 'v', BOTH },
	{ "asinh", "v", 0, 'v', BOTH },
	{ "atan", "v", 0, 'v', BOTH },
	{ "atanh", "v", 0, 'v', BOTH },
	{ "avg_over_time", "m", 0, 'v', BOTH },
	{ "ceil", "v", 0, 'v', BOTH },
	{ "changes", "m", 0, 'v', BOTH },
	{ "clamp", "vss", 0, 'v', BOTH },
	{ "clamp_max", "vs", 0, 'v', BOTH },
	{ "clamp_min", "vs", 0, 'v', BOTH },
	{ "cos", "v", 0, 'v', BOTH },
	{ "cosh", "v", 0, 'v', BOTH },
	{ "count_over_time", "m", 0, 'v', BOTH },
	{ "day_of_month", "v", 1, 'v', BOTH },
	{ "day_of_week", "v", 1, 'v', BOTH },
	{ "day_of_year", "v", 1, 'v', BOTH },
	{ "days_in_month", "v", 1, 'v', BOTH },
	{ "deg", "v", 0, 'v', BOTH },
	{ "delta", "m", 0, 'v', BOTH },
	{ "deriv", "m", 0, 'v', BOTH },
	{ "double_exponential_smoothing", "mss", 0, 'v', ONLY_3 },
	{ "exp", "v", 0, 'v', BOTH },
	{ "floor", "v", 0, 'v', BOTH },
	{ "histogram_avg", "v", 0, 'v', ONLY_3 },
	{ "histogram_count", "v", 0, 'v', BOTH },
	{ "histogram_fraction", "ssv", 0, 'v', BOTH },
	{ "histogram_quantile", "sv", 0, 'v', BOTH },
	{ "histogram_stddev", "v", 0, 'v', ONLY_3 },
	{ "histogram_stdvar", "v", 0, 'v', ONLY_3 },
	{ "histogram_sum", "v", 0, 'v', BOTH },
	{ "holt_winters", "mss", 0, 'v', ONLY_2 },
	{ "hour", "v", 1, 'v', BOTH },
	{ "idelta", "m", 0, 'v', BOTH },
	{ "increase", "m", 0, 'v', BOTH },
	{ "info", "vv", 1, 'v', ONLY_3 },
	{ "irate", "m", 0, 'v', BOTH },
	{ "label_join", "vttt", -1, 'v', BOTH },
	{ "label_replace", "vtttt", 0, 'v', BOTH },
	{ "last_over_time", "m", 0, 'v', BOTH },
	{ "ln", "v", 0, 'v', BOTH },
	{ "log10", "v", 0, 'v', BOTH },
	{ "log2", "v", 0, 'v', BOTH },
	{ "mad_over_time", "m", 0, 'v', ONLY_3 },
	{ "max_over_time", "m", 0, 'v', BOTH },
	{ "min_over_time", "m", 0, 'v', BOTH },
	{ "minute", "v", 1, 'v', BOTH },
	{ "month", "v", 1, 'v', BOTH },
	{ "pi", "", 0, 's', BOTH },
	{ "predict_linear", "ms", 0, 'v', BOTH },
	{ "present_over_time", "m", 0, 'v', BOTH },
	{ "quantile_over_time", "sm", 0, 'v', BOTH },
	{ "rad", "v", 0, 'v', BOTH },
	{ "rate", "m", 0, 'v', BOTH },
	{ "resets", "m", 0, 'v', BOTH },
	{ "round", "vs", 1, 'v', BOTH },
	{ "scalar", "v", 0, 's', BOTH },
	{ "sgn", "v", 0, 'v', BOTH },
	{ "sin", "v", 0, 'v', BOTH },
	{ "sinh", "v", 0, 'v', BOTH },
	{ "sort", "v", 0, 'v', BOTH },
	{ "sort_by_label", "vt", -1, 'v', ONLY_3 },
	{ "sort_by_label_desc", "vt", -1, 'v', ONLY_3 },
	{ "sort_desc", "v", 0, 'v', BOTH },
	{ "sqrt", "v", 0, 'v', BOTH },
	{ "stddev_over_time", "m", 0, 'v', BOTH },
	{ "stdvar_over_time", "m", 0, 'v', BOTH },
	{ "sum_over_time", "m", 0, 'v', BOTH },
	{ "tan", "v", 0, 'v', BOTH },
	{ "tanh", "v", 0, 'v', BOTH },
	{ "time", "", 0, 's', BOTH },
	{ "timestamp", "v", 0, 'v', BOTH },
	{ "ts_of_last_over_time", "m", 0, 'v', ONLY_3 },
	{ "ts_of_max_over_time", "m", 0, 'v', ONLY_3 },
	{ "ts_of_min_over_time", "m", 0, 'v', ONLY_3 },
	{ "vector", "s", 0, 'v', BOTH },
	{ "year", "v", 1, 'v', BOTH },
};
/* clang-format on */

static int compare(const void *key, const void *row)
{
	const struct str *name = key;
	const struct promql_function *f = row;
	int c = strncmp(name->p, f->name, name->len);

	return c ? c : -(f->name[name->len] != '\0');
}

const struct promql_function *promql_function_find(struct str name,
						   enum promql_dialect dialect)
{
	const struct promql_function *f =
		bsearch(&name, functions, sizeof(functions) / sizeof(functions[0]),
			sizeof(functions[0]), compare);

	return f && f->dialects & 1 << dialect ? f : NULL;
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
