/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which version of Prometheus has which feature, from the parsers of its releases. No
 * other file compares version numbers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lb/promql/promql_impl.h"

static const struct feature {
	const char *name;
	struct promql_known known;
} features[] = {
	[FEATURE_ALL] = {"this", {.since = 2000}},
	[FEATURE_AT_BEFORE_RANGE] = {"@ start() before a range",
				     {.since = 2000, .until = 3015}},
	[FEATURE_QUOTED_NAMES] = {"a quoted name in braces", {.since = 2051}},
	[FEATURE_NUMBERS_AS_DURATIONS] =
		{"a number for a duration, or a duration for a number",
		 {.since = 2054}},
	[FEATURE_LIMITS] = {"limitk and limit_ratio",
			    {.since = 2054, .flag = PROMQL_FUNCTIONS}},
	[FEATURE_QUOTED_LABELS] = {"a quoted label", {.since = 2055}},
	[FEATURE_UTF8] = {"a label of any characters", {.since = 3000}},
	[FEATURE_GROUP_NAMES] = {"a group's name as (?<name>...)", {.since = 3000}},
	[FEATURE_DURATION_SCANNER] = {"an operator in brackets", {.since = 3004}},
	[FEATURE_DURATIONS] = {"a duration that is an expression",
			       {.since = 3004,
				.flag = PROMQL_DURATIONS,
				.opened = 3016}},
	[FEATURE_STEP] = {"step()", {.since = 3006}},
	[FEATURE_EXTENDED_RANGES] = {"anchored and smoothed",
				     {.since = 3007,
				      .flag = PROMQL_EXTENDED_RANGES,
				      .opened = 3016}},
	[FEATURE_RANGE] = {"range()", {.since = 3010}},
	[FEATURE_FILL] = {"fill", {.since = 3010, .flag = PROMQL_FILL}},
	[FEATURE_TRIM] = {"</ and >/", {.since = 3011}},
	[FEATURE_MIN_MAX] = {"min_of and max_of", {.since = 3013}},
};

static const struct flag {
	const char *name;
	unsigned bit;
} flags[] = {
	{"promql-experimental-functions", PROMQL_FUNCTIONS},
	{"promql-duration-expr", PROMQL_DURATIONS},
	{"promql-extended-range-selectors", PROMQL_EXTENDED_RANGES},
	{"promql-binop-fill-modifiers", PROMQL_FILL},
};

static unsigned version_of(enum promql_dialect d)
{
	return (unsigned)d >> PROMQL_FLAG_BITS;
}

static const char *flag_name(unsigned bit)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].bit == bit)
			return flags[i].name;
	return "";
}

bool promql_flag(const char *name, unsigned *ret)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(flags[i].name, name) == 0) {
			*ret = flags[i].bit;
			return true;
		}
	}
	return false;
}

bool promql_knows(enum promql_dialect d, struct promql_known k)
{
	unsigned v = version_of(d);

	if (v < k.since || (k.until && v >= k.until))
		return false;
	return !k.flag || (k.opened && v >= k.opened) || (unsigned)d & k.flag;
}

bool promql_has(enum promql_dialect d, enum promql_feature f)
{
	return promql_knows(d, features[f].known);
}

bool promql_scans(enum promql_dialect d, enum promql_feature f)
{
	return version_of(d) >= features[f].known.since;
}

void promql_say_known(enum promql_dialect d, struct promql_known k, char *ret,
		      size_t size)
{
	unsigned v = version_of(d);
	bool flag = k.flag && (!k.opened || v < k.opened);

	if (k.until && v >= k.until)
		(void)snprintf(ret, size, "removed in Prometheus %u.%u", k.until / 1000,
			       k.until % 1000);
	else
		(void)snprintf(ret, size,
			       "Prometheus has it since %u.%u%s%s, this is %u.%u",
			       k.since / 1000, k.since % 1000,
			       flag ? " with --enable-feature=" : "",
			       flag ? flag_name(k.flag) : "", v / 1000, v % 1000);
}

int promql_lacks(enum promql_dialect d, enum promql_feature f, struct err *err)
{
	char known[128];

	promql_say_known(d, features[f].known, known, sizeof(known));
	return err_set(err, -EINVAL, "%s: %s", features[f].name, known);
}

int promql_dialect_of(const char *version)
{
	char *end;
	unsigned long major, minor = 0;

	if (!is_digit(version[0]))
		return -1;
	major = strtoul(version, &end, 10);
	if (end[0] == '.' && is_digit(end[1]))
		minor = strtoul(end + 1, &end, 10);
	if (major > 99 || minor > 999)
		return -1;
	return PROMQL_VERSION((int)major, (int)minor);
}

enum promql_dialect promql_older(enum promql_dialect a, enum promql_dialect b)
{
	unsigned version =
		version_of(a) < version_of(b) ? version_of(a) : version_of(b);

	return (enum promql_dialect)(version << PROMQL_FLAG_BITS |
				     ((unsigned)a & (unsigned)b & PROMQL_FLAGS) |
				     (((unsigned)a | (unsigned)b) & PROMQL_OTHER));
}
