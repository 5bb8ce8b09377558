/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cacct report JOBID: everything about one job, on the screen or as a page. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/cacct.h"
#include "cli/cacct/report.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/http/json.h"

#define FLAME_TOP 20

struct pick {
	struct json_object *row; /* the latest run, which the API returns first */
	uint64_t count;
};

static int pick_one(void *arg, const struct unit *u, struct json_object *row,
		    struct err *err)
{
	struct pick *p = arg;

	(void)u;
	(void)err;
	if (!p->count++)
		p->row = json_object_get(row);
	return 0;
}

/* Whether the terminal can show UTF-8, by the locale's name: our own is always
 * UTF-8. */
static bool shows_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < 3; i++) {
		const char *v = getenv(names[i]);
		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}

static void read_steps(struct cacct_report *r, struct json_object *detail, int64_t now)
{
	struct json_object *list = unit_steps(detail);
	size_t n = list ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < n && r->step_count < REPORT_STEPS_MAX; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		if (json_object_is_type(o, json_type_object))
			unit_step_from_json(&r->unit, o, now,
					    &r->steps[r->step_count++]);
	}
}

/* A page has it where the site has an address for it; without an answer the rest of the
 * page is shown. */
static int add_flame(struct cacct *c, struct cacct_report *r, struct err *err)
{
	struct err why = {""};

	if (!c->flame && (c->style.form != TABLE_HTML || !c->site.profiles.url))
		return 0;
	int rc = flame_load(&c->site, &r->unit, c->now, c->off_cpu, &r->flame, &why);
	if (rc == 0)
		return 0;
	if (c->flame)
		return err_set(err, rc, "%s", why.text);
	fprintf(stderr, "cacct: warning: no profile: %s\n", why.text);
	return 0;
}

static int finish_report(struct cacct *c, struct cacct_report *r, struct buf *out,
			 struct err *err)
{
	auto_buf struct buf page = {.max = 64 << 20};

	if (c->flame && c->style.form != TABLE_HTML) {
		flame_put_text(&r->flame, FLAME_TOP, r->utf8, out);
		return buf_error(out);
	}
	if (c->style.form != TABLE_HTML) {
		report_put_text(r, out);
		return buf_error(out);
	}
	report_put_html(r, &page);
	if (buf_error(&page))
		return err_set(err, -EFBIG, "the page is too large");
	if (!c->html_file || strcmp(c->html_file, "-") == 0) {
		buf_put(out, page.data, page.len);
		return buf_error(out);
	}
	return fs_write_atomic_at(AT_FDCWD, c->html_file, page.data, page.len, 0644,
				  err);
}

int cacct_report(struct cacct *c, struct api *api, struct buf *out, struct err *err)
{
	auto_json struct json_object *row = NULL, *detail = NULL;
	struct cacct_report *r = calloc(1, sizeof(*r));
	struct pick p = {.row = NULL};
	struct unit u;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = cacct_units(c, api, pick_one, &p, NULL, err);
	row = p.row;
	if (rc == 0 && !row)
		rc = err_set(err, -ENOENT, "no %s %s that you may see",
			     kind_word(c->kinds.kind, 1), c->report_of);
	if (rc == 0) {
		unit_from_json(row, c->now, &u);
		rc = cacct_detail(api, &u, c->json ? "interval" : "none", 0, 0, &detail,
				  err);
	}
	if (rc == 0 && c->json) {
		buf_puts(out, json_object_to_json_string_ext(
				      detail, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE));
		buf_putc(out, '\n');
		rc = buf_error(out);
	} else if (rc == 0) {
		unit_from_json(detail, c->now, &r->unit);
		read_steps(r, detail, c->now);
		report_read_counts(r, detail);
		r->more = p.count - 1;
		r->color =
			c->style.color || (c->color && c->style.form == TABLE_FIELDS &&
					   !getenv("NO_COLOR"));
		r->utf8 = shows_utf8();
		rc = series_load(api, &r->unit, &r->series, err);
	}
	if (rc == 0 && !c->json)
		rc = add_flame(c, r, err);
	if (rc == 0 && !c->json)
		rc = finish_report(c, r, out, err);
	series_done(&r->series);
	flame_done(&r->flame);
	free(r);
	return rc;
}
