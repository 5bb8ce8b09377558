/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements of the API: our text with outside values. */
#include "aggregator/query.h"

#include <errno.h>
#include <string.h>

void query_done(struct query *q)
{
	buf_done(&q->sql);
	for (size_t i = 0; i < q->list_count; i++)
		buf_done(&q->lists[i]);
}

void query_put(struct query *q, const char *sql)
{
	buf_puts(&q->sql, sql);
}

/* The number of the last value's placeholder, or of an equal one. */
static int number_of(struct query *q, const char *type)
{
	struct pg_args *a = &q->args;

	if (a->overflow || a->count == 0)
		return a->count;
	int last = a->count - 1;
	for (int i = 0; i < last; i++) {
		if (strcmp(q->types[i], type) != 0 || !a->values[i] ||
		    !a->values[last] || strcmp(a->values[i], a->values[last]) != 0)
			continue;
		a->count--;
		return i + 1;
	}
	q->types[last] = type;
	return a->count;
}

static void put_placeholder(struct query *q, const char *type)
{
	int n = number_of(q, type);

	buf_printf(&q->sql, "$%d::%s", n, type);
}

void query_text(struct query *q, const char *s)
{
	pg_arg_text(&q->args, s);
	put_placeholder(q, "text");
}

void query_s64(struct query *q, int64_t v)
{
	pg_arg_s64(&q->args, v);
	put_placeholder(q, "bigint");
}

void query_time_us(struct query *q, uint64_t us)
{
	pg_arg_time(&q->args, us * 1000);
	put_placeholder(q, "timestamptz");
}

void query_bool(struct query *q, bool v)
{
	pg_arg_bool(&q->args, v);
	put_placeholder(q, "boolean");
}

static struct buf *new_list(struct query *q)
{
	if (q->list_count == QUERY_LISTS_MAX) {
		q->args.overflow = true;
		return &q->lists[0];
	}
	return &q->lists[q->list_count++];
}

/* Returns the placeholder's number. */
static int put_list(struct query *q, struct buf *list, const char *type)
{
	int before = q->args.count;

	if (buf_error(list) || !list->data)
		q->args.overflow = true;
	pg_arg_text(&q->args, list->data);
	int n = number_of(q, type);
	if (q->args.count == before && list == &q->lists[q->list_count - 1]) {
		buf_done(list); /* an equal one exists */
		q->list_count--;
	}
	return n;
}

void query_param_list(struct query *q, const struct param_set *p, const char *name)
{
	struct buf *list = new_list(q);

	params_list(p, name, list);
	int n = put_list(q, list, "jsonb");
	buf_printf(&q->sql, "ARRAY(SELECT jsonb_array_elements_text($%d::jsonb))", n);
}

void query_numbers(struct query *q, const struct buf *numbers, const char *type)
{
	struct buf *list = new_list(q);

	buf_putc(list, '{');
	if (numbers->len)
		buf_put(list, numbers->data, numbers->len);
	buf_putc(list, '}');
	int n = put_list(q, list, type);
	buf_printf(&q->sql, "$%d::%s[]", n, type);
}

int query_run(struct query *q, struct pg *pg, PGresult **ret, struct err *err)
{
	if (buf_error(&q->sql))
		return err_set(err, -ENOMEM, "out of memory");
	return pg_query(pg, q->sql.data, &q->args, ret, err);
}

static int run_kept(struct query *q, struct pg *pg, bool binary, PGresult **ret,
		    struct err *err)
{
	if (buf_error(&q->sql))
		return err_set(err, -ENOMEM, "out of memory");
	return pg_query_kept(pg, q->sql.data, &q->args, binary, ret, err);
}

int query_run_kept(struct query *q, struct pg *pg, PGresult **ret, struct err *err)
{
	return run_kept(q, pg, false, ret, err);
}

int query_run_kept_binary(struct query *q, struct pg *pg, PGresult **ret,
			  struct err *err)
{
	return run_kept(q, pg, true, ret, err);
}
