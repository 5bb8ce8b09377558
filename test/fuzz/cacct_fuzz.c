/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer of the API, from a row to each form of the table, the report and its page.
 * The first byte says what else is read: job lists, formats, the site's file. Beyond
 * "no crash": no control character in what a terminal gets, no tag of a stranger in the
 * page. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/columns.h"
#include "cli/cacct/jobsel.h"
#include "cli/cacct/promql_range.h"
#include "cli/cacct/report.h"
#include "cli/cacct/site.h"
#include "cli/cacct/summary.h"
#include "cli/cacct/table.h"
#include "lib/http/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1774526400

static void must(int ok)
{
	if (!ok)
		abort();
}

static void must_be_plain(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++) {
		unsigned char c = (unsigned char)b->data[i];
		must(c >= 0x20 || c == '\n' || c == '\r');
		must(c != 0x7f);
	}
}

static void put_tables(const struct unit *u, const struct unit *step)
{
	static struct columns all;
	struct err err;

	all.count = 0;
	must(columns_parse("all", &all, &err) == 0);
	for (int form = TABLE_FIELDS; form <= TABLE_MARKDOWN; form++) {
		struct table_style style = {.form = (enum table_form)form,
					    .header = true,
					    .drop_empty = form == TABLE_FIELDS};
		struct summary sums = {0};
		struct table t;
		auto_buf struct buf out = BUF_INIT, line = BUF_INIT;
		table_init(&t, &all, &style);
		must(table_add(&t, u, &err) == 0 && table_add(&t, step, &err) == 0);
		summary_add(&sums, u);
		summary_put(&sums, &line);
		must(table_write(&t, line.data, &out) == 0);
		table_done(&t);
		must_be_plain(&out);
	}
}

static void answer(const char *text, size_t size)
{
	static const struct http_json_limits limits = {.bytes_max = 1 << 20,
						       .depth_max = 24};
	static struct cacct_report r;
	auto_json struct json_object *o = NULL;
	auto_buf struct buf screen = BUF_INIT, page = BUF_INIT, csv = BUF_INIT;
	struct unit step;
	struct err err;

	if (http_json_object(text, size, &limits, &o, &err) < 0)
		return;
	memset(&r, 0, sizeof(r));
	unit_from_json(o, NOW, &r.unit);
	unit_step_from_json(&r.unit, o, NOW, &step);
	put_tables(&r.unit, &step);
	r.steps[r.step_count++] = step;
	must(series_add(&r.series, o, &err) == 0);
	report_put_text(&r, &screen);
	must_be_plain(&screen);
	report_put_html(&r, &page);
	must(buf_error(&page) == 0 && !strstr(page.data, "<script"));
	series_put_csv(&r.series, &csv);
	series_done(&r.series);
	buf_reset(&csv);
	(void)promql_put_csv(o, &csv, &err);
}

static void words(uint8_t which, const char *text, size_t size)
{
	static struct columns columns;
	struct jobsel jobs = {0};
	struct site site;
	struct err err;

	switch (which) {
	case 'j':
		(void)jobsel_parse(text, &jobs, &err);
		must(jobs.count <= JOBSEL_MAX);
		jobsel_done(&jobs);
		break;
	case 'o':
		columns.count = 0;
		(void)columns_parse(text, &columns, &err);
		must(columns.count <= COLUMNS_MAX);
		break;
	default:
		memset(&site, 0, sizeof(site));
		(void)site_parse(text, size, "cacct.yaml", &site, &err);
		site_done(&site);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size || size > 65536 || !(text = malloc(size)))
		return 0;
	(void)setenv("TZ", "UTC", 1);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (*data == 'j' || *data == 'o' || *data == 'y')
		words(*data, text, size - 1);
	else
		answer(text, size - 1);
	free(text);
	return 0;
}
