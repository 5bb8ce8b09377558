/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_RE_H
#define CEEMS_LB_PROMQL_RE_H

#include <stdbool.h>
#include <stddef.h>

#include "lb/promql/steps.h"
#include "lib/err.h"

/* What has to be known of a regular expression of a label matcher (RE2's syntax as Go's
 * regexp/syntax reads it, with Perl's flags; Prometheus anchors it at both ends)
 * without running it: is it one, does it match the empty string, and which strings does
 * it match when these are finitely many written one by one. Linear in the length. */

#define RE_DEPTH_MAX 64u /* groups in groups */

/* 0 and *ret_empty: whether the anchored expression matches "". -EINVAL: not an
 * expression; -E2BIG: groups nested too deep, or no steps left (NULL: nobody counts).
 * Unknown names in \p{Name} are not
 * noticed. angle_names: (?<name>...) is known (Prometheus 3). */
int re_check(const char *re, size_t len, bool angle_names, bool *ret_empty,
	     struct steps *steps, struct err *err) __attribute__((warn_unused_result));

/* Calls each() for every string of an alternation of literals, "a|b|c", also in one
 * group or between ^ and $; escaped punctuation is the character. Returns how many, or
 * -EINVAL when it is anything else (each() may have been called by then), or what
 * each() returned when that was negative. At most len bytes; s is not NUL-terminated.
 * re must have passed re_check(). */
int re_literals(const char *re, size_t len,
		int (*each)(void *arg, const char *s, size_t len), void *arg)
	__attribute__((warn_unused_result));

#endif
