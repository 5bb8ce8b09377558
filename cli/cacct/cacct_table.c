/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of units, or the API's full answer as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cacct/cacct.h"
#include "cli/cacct/cut.h"
#include "cli/cacct/progress.h"
#include "cli/cacct/summary.h"
#include "cli/cacct/text.h"
#include "cli/cacct/when.h"
#include "lib/cleanup.h"
#include "lib/http/json.h"

#define WARNINGS_MAX 16

struct table_work {
	struct cacct *c;
	struct api *api;
	struct table table;
	struct summary summary;
	struct progress progress;
	struct buf *json; /* NULL: the table */
	uint64_t rows;    /* of the API */
};

static void put_unit_json(struct buf *out, struct json_object *o)
{
	buf_puts(out,
		 json_object_to_json_string_ext(
			 o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

/* Nodes report a step's sums once, at its end: those of a part are unknown. */
static void cut_step(const struct cacct *c, struct unit *step)
{
	double from_s = (double)c->start, to_s = (double)c->end, now_s = (double)c->now;

	if (cut_needs(step, from_s, to_s, now_s)) {
		cut_forget_sums(step);
		unit_compare_use(step);
	}
	cut_times(step, from_s, to_s, now_s);
}

static int load_cut(struct table_work *w, const struct unit *u, struct cut *cut,
		    struct err *err)
{
	double now_s = (double)w->c->now, from_s, to_s;
	int rc = series_load_window(w->api, u, "hour", w->c->start, w->c->end,
				    &cut->hours, err);

	/* an interval may have begun in the hour before */
	for (int e = 0; rc == 0 && e < 2; e++)
		if (cut_edge(u, cut, e, now_s, &from_s, &to_s))
			rc = series_load_window(w->api, u, "interval",
						(int64_t)from_s - 3600, (int64_t)to_s,
						&cut->edges[e], err);
	return rc;
}

/* The job as in the window. If it lies within the window no request is needed. */
static int cut_job(struct table_work *w, struct unit *u, struct err *err)
{
	struct cut cut = {.from_s = (double)w->c->start, .to_s = (double)w->c->end};
	double now_s = (double)w->c->now;
	int rc = 0;

	if (cut_needs(u, cut.from_s, cut.to_s, now_s)) {
		rc = load_cut(w, u, &cut, err);
		if (rc == 0)
			cut_sums(u, &cut, now_s);
	}
	if (rc == 0) {
		cut_times(u, cut.from_s, cut.to_s, now_s);
		unit_compare_use(u);
	}
	series_done(&cut.hours);
	series_done(&cut.edges[0]);
	series_done(&cut.edges[1]);
	return rc;
}

/* Adds the named steps, or all of a named job. The summary counts what is shown: steps
 * only if their job is not. */
static int add_steps(struct table_work *w, const struct unit *u, bool whole,
		     struct json_object *detail, struct err *err)
{
	struct json_object *steps = unit_steps(detail);
	size_t n = steps ? json_object_array_length(steps) : 0;
	struct unit step;

	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(steps, i);
		if (!json_object_is_type(o, json_type_object))
			continue;
		unit_step_from_json(u, o, w->c->now, &step);
		if (!(whole && w->c->steps) && !jobsel_has_step(&w->c->jobs, u, &step))
			continue;
		if (w->c->truncate)
			cut_step(w->c, &step);
		int rc = table_add(&w->table, &step, err);
		if (rc < 0)
			return rc;
		if (!whole)
			summary_add(&w->summary, &step);
	}
	return 0;
}

static int add_unit(void *arg, const struct unit *u, struct json_object *row,
		    struct err *err)
{
	struct table_work *w = arg;
	auto_json struct json_object *detail = NULL;
	bool whole = w->json || jobsel_has_whole(&w->c->jobs, u);
	struct unit part = *u;
	int rc = 0;

	progress_step(&w->progress, ++w->rows);
	if (w->c->truncate) {
		rc = cut_job(w, &part, err);
		u = &part;
	}
	if (rc < 0)
		return rc;
	if (whole)
		summary_add(&w->summary, u);
	if (w->c->steps || jobsel_names_steps(&w->c->jobs, u)) {
		rc = cacct_detail(w->api, u, "none", 0, 0, &detail, err);
		if (rc < 0)
			return rc;
	}
	if (w->json) {
		buf_puts(w->json, w->rows > 1 ? ",\n" : "\n");
		put_unit_json(w->json, detail ? detail : row);
		rc = buf_error(w->json);
		return rc < 0 ? err_set(err, rc, "not enough memory") : 0;
	}
	if (whole)
		rc = table_add(&w->table, u, err);
	if (rc == 0 && detail)
		rc = add_steps(w, u, whole, detail, err);
	return rc;
}

/* Other members of the API's answer: from when, how complete. */
static void end_json(struct table_work *w, struct json_object *meta, struct buf *out)
{
	static const char *const kept[] = {"as_of", "coverage", "warnings"};

	buf_puts(out, "\n],\"summary\":");
	summary_put_json(&w->summary, out);
	for (size_t i = 0; meta && i < sizeof(kept) / sizeof(kept[0]); i++) {
		struct json_object *o = http_json_get_any(meta, kept[i]);
		if (!o)
			continue;
		buf_printf(out, ",\"%s\":", kept[i]);
		put_unit_json(out, o);
	}
	buf_printf(
		out,
		",\"meta\":{\"program\":\"cacct\",\"version\":\"%s\",\"from\":%" PRId64
		",\"to\":%" PRId64 "}}\n",
		CEEMS_VERSION, (int64_t)w->c->start, (int64_t)w->c->end);
}

void cacct_put_warnings(struct json_object *meta)
{
	struct json_object *list = meta ? unit_json_at(meta, "warnings") : NULL;
	size_t n = list && json_object_is_type(list, json_type_array)
			   ? json_object_array_length(list)
			   : 0;

	for (size_t i = 0; i < n && i < WARNINGS_MAX; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		auto_buf struct buf text = {.max = 4096};
		const char *note = http_json_as_text(o);
		if (note)
			text_put(&text, TEXT_PLAIN, note);
		if (text.len && !buf_error(&text))
			(void)fprintf(stderr, "cacct: note: %s\n", text.data);
	}
}

/* Nothing was found in a window that nobody chose: which one it was, and how to look
 * further back. */
static void put_default_window(const struct cacct *c, struct buf *out)
{
	if (c->has_start || c->jobs.count)
		return;
	buf_puts(out, c->states.count
			      ? " in these states now (-S today: all of today)"
			      : " since 00:00 today (-S now-7days: of the last week)");
}

int cacct_table(struct cacct *c, struct api *api, struct buf *out, struct err *err)
{
	struct table_work w = {.c = c, .api = api, .json = c->json ? out : NULL};
	auto_json struct json_object *meta = NULL;
	auto_buf struct buf summary = BUF_INIT;

	w.summary.kind = c->kinds.kind;
	table_init(&w.table, &c->columns, &c->style);
	progress_init(&w.progress, kind_word(c->kinds.kind, 0));
	if (c->json)
		buf_printf(out, "{%s[", kind_member(c->kinds.kind));
	int rc = cacct_units(c, api, add_unit, &w, &meta, err);
	progress_end(&w.progress);
	if (rc == 0 && c->json) {
		end_json(&w, meta, out);
	} else if (rc == 0) {
		cacct_put_warnings(meta);
		if (c->summary)
			summary_put(&w.summary, &summary);
		if (c->summary && !w.summary.units && !w.summary.steps)
			put_default_window(c, &summary);
		rc = table_write(&w.table, c->summary ? summary.data : NULL, out);
	}
	table_done(&w.table);
	if (rc == 0)
		rc = buf_error(out);
	return rc < 0 && !*err->text ? err_set(err, rc, "not enough memory") : rc;
}
