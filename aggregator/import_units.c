/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units of another accounting, with what they used: lines of JSON become job records
 * as an import's, and usage that the roll-up spreads over days (sql/0061_brought.sql).
 */
#include "aggregator/import_units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/import_rows.h"
#include "aggregator/sacct.h"
#include "lib/cleanup.h"
#include "lib/http/json.h"
#include "lib/log.h"
#include "lib/parse.h"

#define LINE_BYTES ((size_t)1 << 20)
#define TIME_MAX_MS 16000000000000ull

/* What becomes "usage" of a row, and what none of its numbers can exceed. */
static const struct usage_map {
	const char *name;
	double max;
} usage_maps[] = {
	{"total_time_seconds", 1e13},        {"avg_cpu_usage", 1e4},
	{"avg_cpu_mem_usage", 1e4},          {"avg_gpu_usage", 1e4},
	{"total_cpu_energy_usage_kwh", 2e6}, {"total_gpu_energy_usage_kwh", 2e6},
	{"total_cpu_emissions_gms", 1e12},   {"total_gpu_emissions_gms", 1e12},
	{"total_io_read_stats", 9e18},       {"total_io_write_stats", 9e18},
	{"total_ingress_stats", 9e18},       {"total_egress_stats", 9e18},
};

struct units_import {
	struct import_rows rows;
	struct sacct_reader reader;
	struct sacct_counts counts;
	struct buf more;     /* of the row in hand */
	uint64_t impossible; /* numbers, left out */
};

/* False: absent, negative or not a number. A number may be written as a text. */
static bool read_member_u64(struct json_object *o, const char *name, uint64_t max,
			    uint64_t *ret)
{
	struct json_object *v = http_json_get_any(o, name);
	const char *text = http_json_as_text(v);
	uint64_t n;

	if (text) {
		if (parse_u64(text, &n) < 0)
			return false;
	} else if (json_object_is_type(v, json_type_double)) {
		double d = json_object_get_double(v);
		if (!(d >= 0 && d <= 9e15))
			return false;
		n = (uint64_t)d;
	} else if (json_object_is_type(v, json_type_int)) {
		int64_t s = json_object_get_int64(v);
		if (s < 0)
			return false;
		n = (uint64_t)s;
	} else {
		return false;
	}
	if (n > max)
		return false;
	*ret = n;
	return true;
}

static uint32_t member_u32_or(struct json_object *o, const char *name, uint32_t other)
{
	uint64_t n;

	return read_member_u64(o, name, JOB_NO_VAL - 1, &n) ? (uint32_t)n : other;
}

static const char *member_text_or_empty(struct json_object *o, const char *name)
{
	const char *s = http_json_text(o, name);

	return s ? s : "";
}

static uint64_t member_seconds(struct json_object *o, const char *name)
{
	uint64_t ms;

	return read_member_u64(o, name, TIME_MAX_MS, &ms) ? ms / 1000 : 0;
}

/* As sacct prints it. */
static void put_allocation_tres(struct json_object *allocation, struct buf *ret)
{
	static const struct {
		const char *name, *tres;
	} kinds[] = {{"cpus", "cpu"},
		     {"nodes", "node"},
		     {"billing", "billing"},
		     {"gpus", "gres/gpu"}};
	uint64_t n;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (read_member_u64(allocation, kinds[i].name, INT32_MAX, &n) && n)
			buf_printf(ret, "%s%s=%" PRIu64, ret->len ? "," : "",
				   kinds[i].tres, n);
	if (read_member_u64(allocation, "mem", INT64_MAX, &n) && n)
		buf_printf(ret, "%smem=%" PRIu64 "K", ret->len ? "," : "", n / 1024);
}

static int fill_job_of_unit(struct json_object *o, struct job *j)
{
	struct json_object *allocation = http_json_get_any(o, "allocation");
	struct json_object *tags = http_json_get_any(o, "tags");
	uint64_t id;

	if (!read_member_u64(o, "uuid", JOB_NO_VAL - 1, &id) || !id ||
	    sacct_state(member_text_or_empty(o, "state"), &j->state, &j->cancelled_by) <
		    0)
		return -EINVAL;
	j->job_id = (uint32_t)id;
	j->cluster = member_text_or_empty(o, "cluster_id");
	j->name = member_text_or_empty(o, "name");
	j->account = member_text_or_empty(o, "project");
	j->group = member_text_or_empty(o, "groupname");
	j->user = member_text_or_empty(o, "username");
	j->submit_s = member_seconds(o, "created_at_ts");
	j->start_s = member_seconds(o, "started_at_ts");
	j->end_s = member_seconds(o, "ended_at_ts");
	j->uid = member_u32_or(tags, "uid", JOB_NO_VAL);
	j->gid = member_u32_or(tags, "gid", JOB_NO_VAL);
	j->partition = member_text_or_empty(tags, "partition");
	j->qos = member_text_or_empty(tags, "qos");
	j->nodes = member_text_or_empty(tags, "nodelist");
	j->work_dir = member_text_or_empty(tags, "workdir");
	j->exit_code = sacct_exit(member_text_or_empty(tags, "exit_code"));
	j->node_count = member_u32_or(allocation, "nodes", 0);
	j->cpus = member_u32_or(allocation, "cpus", 0);
	return 0;
}

/* "name":{"key":number,...} of what can be. json-c writes a number as it was read. */
static void put_usage_map(struct units_import *m, const struct usage_map *map,
			  struct json_object *v)
{
	const char *comma = "";

	buf_printf(&m->more, "\"%s\":{", map->name);
	json_object_object_foreach(v, key, number)
	{
		size_t n = strlen(key);
		double d = json_object_get_double(number);
		if (!(json_object_is_type(number, json_type_int) ||
		      json_object_is_type(number, json_type_double)) ||
		    !(d >= 0 && d <= map->max) || n > 64 ||
		    strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_") != n) {
			m->impossible++;
			continue;
		}
		buf_printf(&m->more, "%s\"%s\":%s", comma, key,
			   json_object_to_json_string(number));
		comma = ",";
	}
	buf_putc(&m->more, '}');
}

/* ,"until":SECONDS,"usage":{...} */
static int put_usage(struct units_import *m, struct json_object *o, const struct job *j)
{
	uint64_t until = member_seconds(o, "last_updated_at_ts");
	const char *comma = "";

	buf_reset(&m->more);
	buf_printf(&m->more, ",\"until\":%" PRIu64 ",\"usage\":{",
		   j->end_s ? j->end_s : until);
	for (size_t i = 0; i < sizeof(usage_maps) / sizeof(usage_maps[0]); i++) {
		struct json_object *v =
			http_json_get(o, usage_maps[i].name, json_type_object);
		if (!v)
			continue;
		buf_puts(&m->more, comma);
		put_usage_map(m, &usage_maps[i], v);
		comma = ",";
	}
	buf_putc(&m->more, '}');
	return buf_error(&m->more);
}

static int add_unit_row(void *arg, const struct job *j, const char *step_names,
			struct err *err)
{
	struct units_import *m = arg;

	(void)step_names;
	return import_rows_add(&m->rows, j, NULL, m->more.data, err);
}

static int take_unit_line(struct units_import *m, const char *line, size_t len,
			  struct err *err)
{
	static const struct http_json_limits limits = {LINE_BYTES, 8, false};
	auto_json struct json_object *o = NULL;
	auto_buf struct buf tres = {.max = 4096};
	struct err why;
	struct job j;

	int rc = http_json_object(line, len, &limits, &o, &why);
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory");
	if (rc < 0) {
		sacct_refuse(&m->reader, why.text);
		return 0;
	}
	if (strcmp(member_text_or_empty(o, "resource_manager"), "slurm") != 0) {
		sacct_refuse(&m->reader, "a unit of another manager than slurm");
		return 0;
	}
	job_init(&j);
	if (fill_job_of_unit(o, &j) < 0) {
		sacct_refuse(&m->reader, "a unit without a job id or a known state");
		return 0;
	}
	put_allocation_tres(http_json_get_any(o, "allocation"), &tres);
	buf_putc(&tres, '\0');
	if (put_usage(m, o, &j) < 0 || buf_error(&tres))
		return err_set(err, -ENOMEM, "out of memory");
	j.tres_allocated = tres.data;
	return sacct_give(&m->reader, &j, false, err);
}

static int read_unit_lines(struct units_import *m, FILE *f, struct err *err)
{
	auto_free char *line = malloc(LINE_BYTES);
	int rc = 0;

	if (!line)
		return err_set(err, -ENOMEM, "out of memory");
	while (rc == 0 && fgets(line, (int)LINE_BYTES, f)) {
		size_t len = strlen(line);
		if (len == LINE_BYTES - 1 && line[len - 1] != '\n')
			return err_set(err, -EBADMSG, "a line of more than %zu bytes",
				       LINE_BYTES - 2);
		if (len > 1)
			rc = take_unit_line(m, line, len, err);
	}
	if (rc == 0 && ferror(f))
		rc = err_set(err, -EIO, "cannot be read");
	return rc < 0 ? rc : import_rows_send(&m->rows, err);
}

int import_units(struct app *app, const char *file, struct pg *pg, struct err *err)
{
	struct units_import m = {
		.rows = {.pg = pg,
			 .pue = app->options.import_pue,
			 .rows = {.max = IMPORT_ROWS_BYTES_MAX}},
		.reader = {.cluster = app->options.import_cluster, .f = add_unit_row},
		.more = {.max = 2 * LINE_BYTES},
	};
	auto_fclose FILE *opened = NULL;
	FILE *f = stdin;

	m.reader.arg = &m;
	m.reader.counts = &m.counts;
	if (strcmp(file, "-") != 0) {
		f = opened = fopen(file, "re");
		if (!f)
			return err_set(err, -errno, "%s: %s", file, strerror(errno));
	}
	int rc = read_unit_lines(&m, f, err);
	buf_done(&m.rows.rows);
	buf_done(&m.more);
	buf_done(&m.reader.steps);
	if (rc < 0)
		return err_prefix(err, rc, "%s", file);
	rc = import_rows_note(pg, "units", m.rows.taken, err);
	if (rc < 0)
		return rc;
	printf("ceems_aggregator: %" PRIu64 " units read, %" PRIu64
	       " of them new or changed, %" PRIu64 " refused\n",
	       m.counts.jobs, m.rows.taken, m.counts.refused);
	if (m.impossible)
		fprintf(stderr,
			"ceems_aggregator: %" PRIu64
			" numbers cannot be and were left out\n",
			m.impossible);
	if (m.counts.refused)
		fprintf(stderr, "ceems_aggregator: first refused: %s\n",
			m.counts.first.text);
	return 0;
}
