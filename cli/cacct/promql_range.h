/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_PROMQL_RANGE_H
#define CEEMS_CLI_CACCT_PROMQL_RANGE_H

#include <json-c/json.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Range queries to Prometheus, or a compatible server. */

#define PROMQL_POINTS_MAX                                                              \
	10000u /* an answer has; Prometheus refuses more than 11000                    \
		*/
#define PROMQL_STEP_S 30u

/* Seconds between points from start to end: the wish (0: PROMQL_STEP_S), or a larger
 * value, rounded up to a multiple of it, if that would exceed PROMQL_POINTS_MAX. */
uint32_t promql_step(int64_t start_s, int64_t end_s, uint32_t wish_s);

/* A query with each "%s" replaced by a unit's id, quoted for a PromQL string. -EINVAL:
 * an invalid id. */
int promql_fill(const char *query, const char *uuid, struct buf *ret, struct err *err);

/* The target of a range query. */
void promql_target(const char *query, int64_t start_s, int64_t end_s, uint32_t step_s,
		   struct buf *ret);

/* A series of an answer, {"metric": {...}, "values": [[t, "v"], ...]}, as CSV. */
int promql_put_csv(struct json_object *series, struct buf *out, struct err *err);
/* 16 hexadecimal digits computed from its labels, whatever their order. */
void promql_fingerprint(struct json_object *series, char ret[17]);

#endif
