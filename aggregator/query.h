/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_QUERY_H
#define CEEMS_AGGREGATOR_QUERY_H

#include <stdint.h>

#include "aggregator/params.h"
#include "lib/buf.h"
#include "lib/pg/pg.h"

/* A statement under construction. Its text is only from us: outside values are passed
 * as $1, $2, ... by query_text() and the like, which append the placeholder. */

#define QUERY_LISTS_MAX 16

struct query {
	struct buf sql;
	struct pg_args args;
	const char *types[PG_ARGS_MAX];    /* of args, constants */
	struct buf lists[QUERY_LISTS_MAX]; /* values that the query owns */
	size_t list_count;
};

void query_done(struct query *q); /* accepts a zeroed one */
#define auto_query __attribute__((cleanup(query_done)))

/* sql must be a constant. */
void query_put(struct query *q, const char *sql);
/* "$n::text"; s is borrowed until query_run(). */
void query_text(struct query *q, const char *s);
void query_s64(struct query *q, int64_t v);       /* "$n::bigint" */
void query_time_us(struct query *q, uint64_t us); /* "$n::timestamptz" */
void query_bool(struct query *q, bool v);         /* "$n::boolean" */
/* All values of a parameter, as text[]. */
void query_param_list(struct query *q, const struct param_set *p, const char *name);
/* A text of numbers, "1,2,3", as type[] ("integer", a constant). */
void query_numbers(struct query *q, const struct buf *numbers, const char *type);

int query_run(struct query *q, struct pg *pg, PGresult **ret, struct err *err);
/* For a text that recurs often and is quick: planned once per connection. */
int query_run_kept(struct query *q, struct pg *pg, PGresult **ret, struct err *err);
int query_run_kept_binary(struct query *q, struct pg *pg, PGresult **ret,
			  struct err *err);

#endif
