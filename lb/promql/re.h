/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_RE_H
#define CEEMS_LB_PROMQL_RE_H

#include <stdbool.h>
#include <stddef.h>

#include "lb/promql/steps.h"
#include "lib/err.h"

/* Analyses a label matcher's regular expression (RE2 syntax as in Go's regexp/syntax
 * with Perl flags; Prometheus anchors it at both ends) without running it: whether it
 * is valid, whether it matches the empty string, and which strings it matches if they
 * are written out one by one. Time is linear in the length. */

#define RE_DEPTH_MAX 64u /* nested groups */

/* 0 and *ret_empty: whether the anchored expression matches "". -EINVAL: invalid;
 * -E2BIG: groups nested too deep, or no steps left (steps NULL: not counted). Unknown
 * names in \p{Name} are not detected. angle_names: (?<name>...) is allowed (Prometheus
 * 3). */
int re_check(const char *re, size_t len, bool angle_names, bool *ret_empty,
	     struct steps *steps, struct err *err) __attribute__((warn_unused_result));

/* Calls each() for every string of an alternation of literals, "a|b|c", also in one
 * group or between ^ and $; escaped punctuation is the character. Returns how many;
 * -EINVAL: it is anything else (each() may have been called by then); or each()'s
 * negative result. At most len bytes; s is not NUL-terminated. re must have passed
 * re_check(). */
int re_literals(const char *re, size_t len,
		int (*each)(void *arg, const char *s, size_t len), void *arg)
	__attribute__((warn_unused_result));

#endif
