/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables for people and for programs. */
#include "cli/cacct/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/text.h"

#define TEXT_MAX ((size_t)1 << 30)

/* Sort key of rows, as in sacct: by submission, in the same second non-arrays first; a
 * step has its job's. */
struct table_key {
	double submitted, array_job, array_task;
	double job;                   /* non-numeric ids come after all numbers */
	double by[COLUMNS_ORDER_MAX]; /* values, or where in text; of a step its job's
				       */
	uint32_t cluster;             /* in text */
	uint32_t uuid;                /* in text, if job is not a number */
	size_t row;                   /* original position */
};

static size_t row_stride(const struct table *t)
{
	return t->columns->count + UNIT_PROVIDERS_MAX;
}

void table_init(struct table *t, const struct columns *columns,
		const struct table_style *style)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->style = *style;
	buf_init(&t->text, TEXT_MAX);
	buf_putc(&t->text, '\0'); /* offset 0: an empty cell */
}

void table_done(struct table *t)
{
	buf_done(&t->text);
	free(t->cells);
	t->cells = NULL;
	free(t->keys);
	t->keys = NULL;
}

static int make_table_room(struct table *t)
{
	if (t->rows < t->room)
		return 0;
	if (t->rows >= TABLE_ROWS_MAX)
		return -EFBIG;
	size_t room = t->room ? t->room * 2 : 64;
	uint32_t *cells = reallocarray(t->cells, room, row_stride(t) * sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	t->cells = cells;
	struct table_key *keys = reallocarray(t->keys, room, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	t->keys = keys;
	t->room = room;
	return 0;
}

static uint32_t add_cell(struct table *t, const struct column_use *use,
			 const struct unit *u)
{
	size_t at = t->text.len;

	column_put(&t->text, use, u, &t->style.numbers);
	if (t->text.len == at)
		return 0;
	buf_putc(&t->text, '\0');
	return (uint32_t)at;
}

static uint32_t add_text(struct table *t, const char *text)
{
	size_t at = t->text.len;

	if (!text || !*text)
		return 0;
	buf_puts(&t->text, text);
	buf_putc(&t->text, '\0');
	return (uint32_t)at;
}

/* Reuses the offset if the text is the same: nearly all rows are of one cluster. */
static uint32_t add_again(struct table *t, uint32_t before, const char *text)
{
	if (text && !buf_error(&t->text) && strcmp(t->text.data + before, text) == 0)
		return before;
	return add_text(t, text);
}

static bool is_text_column(const struct column_use *use)
{
	return use->c->kind == COLUMN_TEXT || use->c->kind == COLUMN_JOB_ID;
}

static void add_values(struct table *t, const struct unit *u, double *ret)
{
	const struct columns_order *o = t->style.order;

	for (size_t i = 0; i < o->count; i++)
		ret[i] = is_text_column(&o->by[i]) ? (double)add_cell(t, &o->by[i], u)
						   : column_value(&o->by[i], u);
}

static void add_key(struct table *t, const struct unit *u)
{
	struct table_key k = {.submitted = u->submitted,
			      .array_job = u->array_job,
			      .array_task = u->array_task,
			      .job = INFINITY,
			      .row = t->rows};
	const char *uuid = u->text[UNIT_UUID] ? u->text[UNIT_UUID] : "";
	size_t digits = strspn(uuid, "0123456789");

	if (digits && digits < 16 && (!uuid[digits] || uuid[digits] == '.'))
		k.job = strtod(uuid, NULL);
	else
		k.uuid = add_text(t, uuid);
	k.cluster = add_again(t, t->rows ? t->keys[t->rows - 1].cluster : 0,
			      u->text[UNIT_CLUSTER]);
	if (u->is_step && t->rows)
		memcpy(k.by, t->keys[t->rows - 1].by, sizeof(k.by));
	else if (t->style.order)
		add_values(t, u, k.by);
	t->keys[t->rows] = k;
}

static int compare_numbers(double a, double b)
{
	return (a > b) - (a < b);
}

/* Unknown values come last in either direction. */
static int compare_values(const struct table *t, const struct table_key *x,
			  const struct table_key *y)
{
	const struct columns_order *o = t->style.order;
	int rc = 0;

	for (size_t i = 0; o && rc == 0 && i < o->count; i++) {
		bool text = is_text_column(&o->by[i]);
		bool no_x = text ? x->by[i] == 0 : isnan(x->by[i]);
		bool no_y = text ? y->by[i] == 0 : isnan(y->by[i]);
		if (no_x || no_y)
			return no_x == no_y ? 0 : no_x - no_y;
		rc = text ? strverscmp(t->text.data + (size_t)x->by[i],
				       t->text.data + (size_t)y->by[i])
			  : compare_numbers(x->by[i], y->by[i]);
		rc = o->down[i] ? -rc : rc;
	}
	return rc;
}

static int compare_table_keys(const void *a, const void *b, void *table)
{
	const struct table_key *x = a, *y = b;
	const char *text = ((const struct table *)table)->text.data;
	int rc = compare_values(table, x, y);

	if (rc == 0)
		rc = compare_numbers(x->submitted, y->submitted);
	if (rc == 0 && x->cluster != y->cluster)
		rc = strcmp(text + x->cluster, text + y->cluster);
	if (rc == 0)
		rc = compare_numbers(x->array_job, y->array_job);
	if (rc == 0)
		rc = compare_numbers(x->array_task, y->array_task);
	if (rc == 0)
		rc = compare_numbers(x->job, y->job);
	if (rc == 0 && x->uuid != y->uuid)
		rc = strcmp(text + x->uuid, text + y->uuid);
	return rc ? rc : (x->row > y->row) - (x->row < y->row);
}

static bool is_all_grams(const struct column_use *use)
{
	return use->c->kind == COLUMN_GRAMS && !use->provider[0];
}

static const struct column_use *all_grams(const struct table *t)
{
	for (size_t i = 0; i < t->columns->count; i++)
		if (is_all_grams(&t->columns->use[i]))
			return &t->columns->use[i];
	return NULL;
}

static void add_table_grams(struct table *t, const struct unit *u, uint32_t *cells)
{
	const struct column_use *all = all_grams(t);

	for (size_t g = 0; all && g < u->grams_count; g++) {
		const char *name = u->grams[g].provider;
		struct column_use use;
		size_t i = 0;
		while (i < t->provider_count && strcmp(t->providers[i], name) != 0)
			i++;
		if (i == UNIT_PROVIDERS_MAX)
			continue;
		if (i == t->provider_count)
			(void)snprintf(t->providers[t->provider_count++],
				       sizeof(t->providers[0]), "%s", name);
		columns_of_provider(all, name, &use);
		cells[i] = add_cell(t, &use, u);
	}
}

int table_add(struct table *t, const struct unit *u, struct err *err)
{
	int rc = make_table_room(t);

	if (rc < 0)
		return err_set(err, rc,
			       rc == -EFBIG ? "more than %d rows: ask for less"
					    : "out of memory",
			       TABLE_ROWS_MAX);
	uint32_t *cells = t->cells + t->rows * row_stride(t);
	memset(cells, 0, row_stride(t) * sizeof(*cells));
	for (size_t i = 0; i < t->columns->count; i++)
		if (!is_all_grams(&t->columns->use[i]))
			cells[i] = add_cell(t, &t->columns->use[i], u);
	add_table_grams(t, u, cells + t->columns->count);
	add_key(t, u);
	rc = buf_error(&t->text);
	if (rc < 0)
		return err_set(err, rc, "not enough memory: ask for less");
	t->rows++;
	return 0;
}

/* A column to write: a requested one, or a provider's. */
struct shown {
	struct column_use use;
	size_t cell;
};
#define SHOWN_MAX (COLUMNS_MAX + 4 * UNIT_PROVIDERS_MAX)

/* A cell of the row-th row in order */
static const char *cell_text(const struct table *t, size_t row, size_t i)
{
	return t->text.data + t->cells[t->keys[row].row * row_stride(t) + i];
}

static bool is_empty_column(const struct table *t, size_t i)
{
	for (size_t r = 0; r < t->rows; r++)
		if (*cell_text(t, r, i))
			return false;
	return true;
}

static int compare_providers(const void *a, const void *b, void *table)
{
	const struct table *t = table;

	return strcmp(t->providers[*(const size_t *)a],
		      t->providers[*(const size_t *)b]);
}

static size_t choose_shown_columns(const struct table *t, struct shown *ret)
{
	size_t order[UNIT_PROVIDERS_MAX], n = 0;

	for (size_t i = 0; i < t->provider_count; i++)
		order[i] = i;
	qsort_r(order, t->provider_count, sizeof(order[0]), compare_providers,
		(void *)t);
	for (size_t i = 0; i < t->columns->count; i++) {
		const struct column_use *use = &t->columns->use[i];
		if (is_all_grams(use)) {
			for (size_t g = 0; g < t->provider_count && n < SHOWN_MAX;
			     g++) {
				columns_of_provider(use, t->providers[order[g]],
						    &ret[n].use);
				ret[n++].cell = t->columns->count + order[g];
			}
			/* a column requested by name is shown even if nothing is
			 * known */
			if (!t->provider_count && !t->style.drop_empty &&
			    n < SHOWN_MAX) {
				ret[n].use = *use;
				ret[n++].cell = i;
			}
		} else if (n < SHOWN_MAX &&
			   !(t->style.drop_empty && t->rows && is_empty_column(t, i))) {
			ret[n].use = *use;
			ret[n++].cell = i;
		}
	}
	return n;
}

/* The colour of a state on a terminal; NULL: none. */
static const char *state_color(const struct table *t, const struct shown *s,
			       const char *text)
{
	if (!t->style.color || !*text || s->use.c->from != UNIT_STATE ||
	    s->use.c->kind != COLUMN_TEXT)
		return NULL;
	if (strncmp(text, "COMPLETED", 9) == 0)
		return "\033[32m";
	if (strncmp(text, "RUNNING", 7) == 0)
		return "\033[36m";
	if (strncmp(text, "CANCELLED", 9) == 0 || strncmp(text, "PENDING", 7) == 0)
		return "\033[33m";
	return "\033[31m";
}

static void put_line(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		buf_truncate(out, out->len - 1);
	buf_putc(out, '\n');
}

static void write_fields(const struct table *t, const struct shown *s, size_t n,
			 struct buf *out)
{
	for (size_t i = 0; t->style.header && i < n; i++) {
		char title[sizeof(
			s[i].use.title)]; /* truncated without a mark, as in sacct */
		(void)snprintf(title, sizeof(title), "%.*s", (int)s[i].use.width,
			       s[i].use.title);
		text_put_field(out, title, s[i].use.width, s[i].use.left);
		buf_puts(out, i + 1 < n ? " " : "\n");
	}
	for (size_t i = 0; t->style.header && i < n; i++) {
		for (size_t k = 0; k < s[i].use.width; k++)
			buf_putc(out, '-');
		buf_puts(out, i + 1 < n ? " " : "\n");
	}
	for (size_t r = 0; r < t->rows && !buf_error(out); r++) {
		for (size_t i = 0; i < n; i++) {
			const char *text = cell_text(t, r, s[i].cell);
			const char *c = state_color(t, &s[i], text);
			if (c)
				buf_puts(out, c);
			text_put_field(out, text, s[i].use.width, s[i].use.left);
			if (c)
				buf_puts(out, "\033[0m");
			buf_putc(out, ' ');
		}
		put_line(out);
	}
}

static void write_parsable(const struct table *t, const struct shown *s, size_t n,
			   struct buf *out)
{
	const char *sep = t->style.separator ? t->style.separator : "|";

	for (size_t r = t->style.header ? 0 : 1; r <= t->rows && !buf_error(out); r++) {
		for (size_t i = 0; i < n; i++) {
			text_put_parsable(out,
					  r ? cell_text(t, r - 1, s[i].cell)
					    : s[i].use.title,
					  sep);
			if (i + 1 < n || t->style.form == TABLE_PARSABLE)
				buf_puts(out, sep);
		}
		buf_putc(out, '\n');
	}
}

static void write_csv(const struct table *t, const struct shown *s, size_t n,
		      struct buf *out)
{
	for (size_t r = t->style.header ? 0 : 1; r <= t->rows && !buf_error(out); r++) {
		for (size_t i = 0; i < n; i++) {
			if (!r)
				text_put_csv_own(out, s[i].use.title);
			else if (column_is_number(s[i].use.c))
				text_put_csv_own(out, cell_text(t, r - 1, s[i].cell));
			else
				text_put(out, TEXT_CSV, cell_text(t, r - 1, s[i].cell));
			buf_puts(out, i + 1 < n ? "," : "\r\n");
		}
	}
}

static void write_markdown(const struct table *t, const struct shown *s, size_t n,
			   struct buf *out)
{
	for (size_t i = 0; t->style.header && i < n; i++)
		buf_printf(out, "| %s %s", s[i].use.title, i + 1 < n ? "" : "|\n");
	for (size_t i = 0; t->style.header && i < n; i++)
		buf_printf(out, "|%s%s", column_is_number(s[i].use.c) ? "---:" : "---",
			   i + 1 < n ? "" : "|\n");
	for (size_t r = 0; r < t->rows && !buf_error(out); r++) {
		for (size_t i = 0; i < n; i++) {
			buf_puts(out, "| ");
			text_put(out, TEXT_MARKDOWN, cell_text(t, r, s[i].cell));
			buf_puts(out, i + 1 < n ? " " : " |\n");
		}
	}
}

static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n<title>cacct</title>\n<style>\n"
	"body{font:14px/1.4 sans-serif;margin:2em;color:#222}\n"
	"table{border-collapse:collapse}\nth,td{padding:.25em .7em;"
	"border-bottom:1px solid #ddd;text-align:left;white-space:nowrap}\n"
	"th{border-bottom:2px solid #888}\n"
	".n{text-align:right;font-variant-numeric:tabular-nums}\n"
	"</style>\n</head>\n<body>\n<table>\n";

static void write_html(const struct table *t, const struct shown *s, size_t n,
		       struct buf *out)
{
	buf_puts(out, page_head);
	for (size_t r = t->style.header ? 0 : 1; r <= t->rows && !buf_error(out); r++) {
		const char *tag = r ? "td" : "th";
		buf_puts(out, "<tr>");
		for (size_t i = 0; i < n; i++) {
			buf_printf(out, "<%s%s>", tag,
				   column_is_number(s[i].use.c) ? " class=\"n\"" : "");
			text_put(out, TEXT_HTML,
				 r ? cell_text(t, r - 1, s[i].cell) : s[i].use.title);
			buf_printf(out, "</%s>", tag);
		}
		buf_puts(out, "</tr>\n");
	}
	buf_puts(out, "</table>\n");
}

int table_write(struct table *t, const char *summary, struct buf *out)
{
	struct shown *s = calloc(SHOWN_MAX, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (t->rows)
		qsort_r(t->keys, t->rows, sizeof(t->keys[0]), compare_table_keys, t);
	size_t n = choose_shown_columns(t, s);
	switch (t->style.form) {
	case TABLE_PARSABLE:
	case TABLE_PARSABLE2:
		write_parsable(t, s, n, out);
		break;
	case TABLE_CSV:
		write_csv(t, s, n, out);
		break;
	case TABLE_MARKDOWN:
		write_markdown(t, s, n, out);
		if (summary) {
			buf_puts(out, "\n");
			text_put(out, TEXT_MARKDOWN, summary);
			buf_puts(out, "\n");
		}
		break;
	case TABLE_HTML:
		write_html(t, s, n, out);
		if (summary) {
			buf_puts(out, "<p>");
			text_put(out, TEXT_HTML, summary);
			buf_puts(out, "</p>\n");
		}
		buf_puts(out, "</body>\n</html>\n");
		break;
	case TABLE_FIELDS:
		write_fields(t, s, n, out);
		if (summary) {
			text_put(out, TEXT_PLAIN, summary);
			buf_puts(out, "\n");
		}
	}
	free(s);
	return buf_error(out);
}
