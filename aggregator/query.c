/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements of the API: text of ours, values of others. */
#include "aggregator/query.h"

#include <errno.h>

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

static void place(struct query *q, const char *type)
{
	buf_printf(&q->sql, "$%d::%s", q->args.count, type);
}

void query_text(struct query *q, const char *s)
{
	pg_arg_text(&q->args, s);
	place(q, "text");
}

void query_s64(struct query *q, int64_t v)
{
	pg_arg_s64(&q->args, v);
	place(q, "bigint");
}

void query_time_us(struct query *q, uint64_t us)
{
	pg_arg_time(&q->args, us * 1000);
	place(q, "timestamptz");
}

void query_bool(struct query *q, bool v)
{
	pg_arg_bool(&q->args, v);
	place(q, "boolean");
}

static struct buf *new_list(struct query *q)
{
	if (q->list_count == QUERY_LISTS_MAX) {
		q->args.overflow = true;
		return &q->lists[0];
	}
	return &q->lists[q->list_count++];
}

static void put_list(struct query *q, struct buf *list)
{
	if (buf_error(list) || !list->data)
		q->args.overflow = true;
	pg_arg_text(&q->args, list->data);
}

void query_param_list(struct query *q, const struct param_set *p, const char *name)
{
	struct buf *list = new_list(q);

	params_list(p, name, list);
	put_list(q, list);
	buf_printf(&q->sql, "ARRAY(SELECT jsonb_array_elements_text($%d::jsonb))",
		   q->args.count);
}

void query_numbers(struct query *q, const struct buf *numbers, const char *type)
{
	struct buf *list = new_list(q);

	buf_putc(list, '{');
	if (numbers->len)
		buf_put(list, numbers->data, numbers->len);
	buf_putc(list, '}');
	put_list(q, list);
	buf_printf(&q->sql, "$%d::%s[]", q->args.count, type);
}

int query_run(struct query *q, struct pg *pg, PGresult **ret, struct err *err)
{
	if (buf_error(&q->sql))
		return err_set(err, -ENOMEM, "out of memory");
	return pg_query(pg, q->sql.data, &q->args, ret, err);
}
