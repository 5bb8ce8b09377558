/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cacct --ts: time series of jobs as CSV files in a folder, with an index. From the
 * API; also from a Prometheus if one is configured. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cacct/cacct.h"
#include "cli/cacct/progress.h"
#include "cli/cacct/promql_range.h"
#include "cli/cacct/series.h"
#include "cli/cacct/when.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/http/json.h"

#define UNITS_MAX 10000u
#define FILE_MAX ((size_t)256 << 20)

static const struct {
	const char *name, *promql;
} queries[] = {
	{"cpu_usage", "uuid:ceems_cpu_usage:ratio_irate{uuid=\"%s\"}"},
	{"cpu_memory_usage", "uuid:ceems_cpu_memory_usage:ratio{uuid=\"%s\"}"},
	{"host_power_watts", "uuid:ceems_host_power_watts:pue{uuid=\"%s\"}"},
	{"gpu_power_watts", "uuid:ceems_gpu_power_watts:pue{uuid=\"%s\"}"},
};

struct export
{
	struct cacct *c;
	struct api *api, *tsdb;
	int dir;
	struct json_object *rows; /* of the units */
	struct buf index;         /* JSON */
	size_t files, points;
};

static int keep_exported_row(void *arg, const struct unit *u, struct json_object *row,
			     struct err *err)
{
	struct export *e = arg;

	(void)u;
	if (json_object_array_length(e->rows) >= UNITS_MAX)
		return err_set(err, -EFBIG, "more than %u jobs: name fewer", UNITS_MAX);
	if (json_object_array_add(e->rows, json_object_get(row)) < 0) {
		json_object_put(row);
		return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* A file name from cluster and job: untrusted characters are replaced. */
static void put_name(struct buf *out, const char *text)
{
	for (size_t i = 0; text[i] && i < 64; i++)
		buf_putc(out, (char)(strchr("0123456789abcdefghijklmnopqrstuvwxyz"
					    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-",
					    text[i])
					     ? text[i]
					     : '_'));
}

static void put_unit_name(struct buf *out, const struct unit *u)
{
	if (u->text[UNIT_CLUSTER]) {
		put_name(out, u->text[UNIT_CLUSTER]);
		buf_putc(out, '-');
	}
	put_name(out, u->text[UNIT_UUID] ? u->text[UNIT_UUID] : "unknown");
	if (u->number[UNIT_RESTARTS] > 0)
		buf_printf(out, "-r%.0f", u->number[UNIT_RESTARTS]);
}

static int write_file(struct export *e, const struct buf *name, const struct buf *csv,
		      const struct unit *u, const char *query, const char *fingerprint,
		      struct json_object *labels, struct err *err)
{
	struct buf *x = &e->index;

	if (buf_error(name) || buf_error(csv))
		return err_set(err, -EFBIG, "a series that is too long");
	/* by rename: replaces a link of that name instead of following it */
	int rc = fs_write_atomic_at(e->dir, name->data, csv->data, csv->len, 0644, err);
	if (rc < 0)
		return rc;
	buf_puts(x, e->files++ ? ",\n" : "\n");
	buf_puts(x, "{\"file\":");
	buf_put_json(x, name->data, name->len);
	buf_puts(x, ",\"job\":");
	buf_put_json(x, u->id, strlen(u->id));
	buf_puts(x, ",\"query\":");
	buf_put_json(x, query, strlen(query));
	if (fingerprint)
		buf_printf(x, ",\"fingerprint\":\"%s\",\"labels\":%s", fingerprint,
			   labels ? json_object_to_json_string_ext(
					    labels, JSON_C_TO_STRING_PLAIN)
				  : "{}");
	buf_puts(x, "}");
	return 0;
}

static int from_api(struct export *e, const struct unit *u, struct err *err)
{
	auto_buf struct buf name = {.max = 512}, csv = {.max = FILE_MAX};
	struct series s = {NULL};
	int rc = series_load(e->api, u, &s, err);

	if (rc == 0 && s.count) {
		e->points += s.count;
		series_put_csv(&s, &csv);
		put_unit_name(&name, u);
		buf_puts(&name, ".csv");
		rc = write_file(e, &name, &csv, u, "api", NULL, NULL, err);
	}
	series_done(&s);
	return rc;
}

static int write_answer(struct export *e, const struct unit *u, const char *query,
			struct json_object *answer, struct err *err)
{
	struct json_object *list = unit_json_at(answer, "data.result");
	size_t n = list && json_object_is_type(list, json_type_array)
			   ? json_object_array_length(list)
			   : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		auto_buf struct buf name = {.max = 512}, csv = {.max = FILE_MAX};
		char fingerprint[17];
		int rc = promql_put_csv(o, &csv, err);
		if (rc < 0)
			return rc;
		promql_fingerprint(o, fingerprint);
		put_unit_name(&name, u);
		buf_putc(&name, '-');
		put_name(&name, query);
		buf_printf(&name, "-%s.csv", fingerprint);
		rc = write_file(e, &name, &csv, u, query, fingerprint,
				unit_json_at(o, "metric"), err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int from_tsdb(struct export *e, const struct unit *u, const char *name,
		     const char *promql, struct err *err)
{
	auto_buf struct buf query = {.max = 16384}, target = {.max = 60000};
	auto_json struct json_object *answer = NULL;
	double end = u->number[UNIT_ENDED];
	int64_t start_s = (int64_t)when_seconds(u->number[UNIT_STARTED]);
	int64_t end_s = isnan(end) ? e->c->now : (int64_t)when_seconds(ceil(end));
	int rc = promql_fill(promql, u->text[UNIT_UUID] ? u->text[UNIT_UUID] : "",
			     &query, err);

	if (rc < 0)
		return rc;
	promql_target(query.data, start_s, end_s,
		      promql_step(start_s, end_s, e->c->step_s), &target);
	if (buf_error(&target))
		return err_set(err, -EINVAL, "query %s is too long", name);
	rc = api_get(e->tsdb, target.data, &answer, err);
	if (rc == 0)
		rc = write_answer(e, u, name, answer, err);
	return rc < 0 ? err_prefix(err, rc, "query %s", name) : 0;
}

static int one_unit(struct export *e, const struct unit *u, struct err *err)
{
	const struct site *s = &e->c->site;
	size_t own = sizeof(queries) / sizeof(queries[0]);
	int rc = 0;

	if (isnan(u->number[UNIT_STARTED]))
		return 0;
	rc = from_api(e, u, err);
	for (size_t i = 0; rc == 0 && e->tsdb && i < s->query_count; i++)
		rc = from_tsdb(e, u, s->queries[i].name, s->queries[i].promql, err);
	for (size_t i = 0; rc == 0 && e->tsdb && !s->query_count && i < own; i++)
		rc = from_tsdb(e, u, queries[i].name, queries[i].promql, err);
	return rc;
}

static int open_folder(struct export *e, struct err *err)
{
	const char *path = e->c->out_dir;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	e->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return e->dir < 0 ? err_set(err, -errno, "%s: %s", path, strerror(errno)) : 0;
}

static int run_export(struct export *e, struct err *err)
{
	struct progress progress;
	int rc = cacct_units(e->c, e->api, keep_exported_row, e, NULL, err);

	if (rc == 0)
		rc = open_folder(e, err);
	if (rc < 0)
		return rc;
	size_t n = json_object_array_length(e->rows);
	progress_init(&progress, "jobs");
	progress.total = n;
	buf_puts(&e->index, "[");
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct unit u;
		unit_from_json(json_object_array_get_idx(e->rows, i), e->c->now, &u);
		rc = one_unit(e, &u, err);
		progress_step(&progress, i + 1);
	}
	progress_end(&progress);
	buf_puts(&e->index, "\n]\n");
	if (rc == 0 && buf_error(&e->index))
		rc = err_set(err, -EFBIG, "too many series");
	if (rc == 0)
		rc = fs_write_atomic_at(e->dir, "metadata.json", e->index.data,
					e->index.len, 0644, err);
	return rc;
}

int cacct_series(struct cacct *c, struct api *api, struct buf *out, struct err *err)
{
	struct export e = {.c = c, .api = api, .dir = -1};
	auto_api struct api *tsdb = NULL;
	int rc = 0;

	c->site.tsdb.anonymous = true;
	if (c->site.tsdb.url)
		rc = api_new(&c->site.tsdb, &tsdb, err);
	if (rc < 0)
		return err_prefix(err, rc, "the time series database's URL");
	e.tsdb = tsdb;
	e.rows = json_object_new_array();
	buf_init(&e.index, (size_t)64 << 20);
	rc = e.rows ? run_export(&e, err) : err_set(err, -ENOMEM, "out of memory");
	if (rc == 0)
		buf_printf(out, "%zu file%s in %s, listed in metadata.json\n", e.files,
			   e.files == 1 ? "" : "s", c->out_dir);
	if (e.dir >= 0)
		close(e.dir);
	buf_done(&e.index);
	json_object_put(e.rows);
	return rc;
}
