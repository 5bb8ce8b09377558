/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct's JSON. Its members change between releases: a number may be a number, null, or
 * {"set": true, "number": 1}; a state may be a word or a list of words. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/sacct.h"
#include "lib/buf.h"
#include "lib/http/json.h"

static struct json_object *json_member_of_member(struct json_object *o, const char *a,
						 const char *b)
{
	return http_json_get_any(http_json_get_any(o, a), b);
}

static const char *json_text_or_empty(struct json_object *v)
{
	const char *s = http_json_as_text(v);

	return s ? s : "";
}

/* False: not set, negative, or not a number. */
static bool read_json_number(struct json_object *v, uint64_t *ret)
{
	if (json_object_is_type(v, json_type_object)) {
		struct json_object *set = http_json_get_any(v, "set");
		if (set && !json_object_get_boolean(set))
			return false;
		v = http_json_get_any(v, "number");
	}
	if (!json_object_is_type(v, json_type_int))
		return false;
	int64_t n = json_object_get_int64(v);
	if (n < 0)
		return false;
	*ret = (uint64_t)n;
	return true;
}

static uint32_t json_u32_or(struct json_object *v, uint32_t other)
{
	uint64_t n;

	return read_json_number(v, &n) && n < JOB_NO_VAL ? (uint32_t)n : other;
}

static uint64_t json_time_of(struct json_object *job, const char *name)
{
	uint64_t n;

	return read_json_number(json_member_of_member(job, "time", name), &n) &&
			       n <= 16000000000ull
		       ? n
		       : 0;
}

static uint32_t exit_of(struct json_object *v)
{
	uint64_t code = 0, sig = 0;
	bool known = read_json_number(http_json_get_any(v, "return_code"), &code);

	known |= read_json_number(json_member_of_member(v, "signal", "id"), &sig);
	known |=
		read_json_number(json_member_of_member(v, "signal", "signal_id"), &sig);
	return known && code <= 255 && sig <= 127 ? (uint32_t)(code << 8 | sig)
						  : JOB_NO_VAL;
}

static uint32_t limit_of(struct json_object *v)
{
	struct json_object *infinite = http_json_get_any(v, "infinite");

	if (infinite && json_object_get_boolean(infinite))
		return JOB_INFINITE;
	return json_u32_or(v, JOB_NO_VAL);
}

/* A list of words, the state and its flags, of which the flag tells what happened. */
static int state_of(struct json_object *v, struct job *j)
{
	uint32_t state = 0, by, flags = 0;
	bool known = false;

	if (!json_object_is_type(v, json_type_array))
		return sacct_state(json_text_or_empty(v), &j->state, &j->cancelled_by);
	size_t n = json_object_array_length(v);
	for (size_t i = 0; i < n && i < 16; i++) {
		if (sacct_state(json_text_or_empty(json_object_array_get_idx(v, i)),
				&state, &by) < 0)
			continue;
		flags |= state & ~JOB_STATE_BASE_MASK;
		if (!known || !(state & ~JOB_STATE_BASE_MASK))
			j->state = state & JOB_STATE_BASE_MASK;
		known = true;
	}
	j->state |= flags;
	return known ? 0 : -EINVAL;
}

/* As sacct prints it, without energy. */
static void put_tres(struct json_object *list, struct buf *ret)
{
	if (!json_object_is_type(list, json_type_array))
		return;
	size_t n = json_object_array_length(list);
	for (size_t i = 0; i < n && i < 256; i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		const char *type = json_text_or_empty(http_json_get_any(one, "type")),
			   *name = json_text_or_empty(http_json_get_any(one, "name"));
		uint64_t count;
		if (!*type || strcmp(type, "energy") == 0 ||
		    !read_json_number(http_json_get_any(one, "count"), &count))
			continue;
		buf_printf(ret, "%s%s%s%s=", ret->len ? "," : "", type,
			   *name ? "/" : "", name);
		buf_put_u64(ret, count);
		if (strcmp(type, "mem") == 0)
			buf_putc(ret, 'M');
	}
}

static void take_ids(struct json_object *o, struct job *j)
{
	j->job_id = json_u32_or(http_json_get_any(o, "job_id"), 0);
	uint32_t array = json_u32_or(json_member_of_member(o, "array", "job_id"), 0);
	if (array) {
		j->array_job = array;
		j->array_task = json_u32_or(
			json_member_of_member(o, "array", "task_id"), JOB_NO_VAL);
		if (j->array_task == JOB_NO_VAL)
			j->array_job = JOB_NO_VAL;
	}
	uint32_t het = json_u32_or(json_member_of_member(o, "het", "job_id"), 0);
	if (het) {
		j->het_job = het;
		j->het_offset = json_u32_or(
			json_member_of_member(o, "het", "job_offset"), JOB_NO_VAL);
	}
}

static void take_json_texts(struct json_object *o, struct job *j)
{
	j->cluster = json_text_or_empty(http_json_get_any(o, "cluster"));
	j->user = json_text_or_empty(http_json_get_any(o, "user"));
	if (!*j->user)
		j->user = json_text_or_empty(
			json_member_of_member(o, "association", "user"));
	j->group = json_text_or_empty(http_json_get_any(o, "group"));
	j->account = json_text_or_empty(http_json_get_any(o, "account"));
	j->qos = json_text_or_empty(http_json_get_any(o, "qos"));
	j->partition = json_text_or_empty(http_json_get_any(o, "partition"));
	j->reservation =
		json_text_or_empty(json_member_of_member(o, "reservation", "name"));
	j->wckey = json_text_or_empty(json_member_of_member(o, "wckey", "wckey"));
	j->name = json_text_or_empty(http_json_get_any(o, "name"));
	j->work_dir = json_text_or_empty(http_json_get_any(o, "working_directory"));
	j->comment = json_text_or_empty(json_member_of_member(o, "comment", "job"));
	const char *nodes = json_text_or_empty(http_json_get_any(o, "nodes")),
		   *reason = json_text_or_empty(
			   json_member_of_member(o, "state", "reason"));
	if (strcmp(nodes, "None assigned") != 0)
		j->nodes = nodes;
	if (strcmp(reason, "None") != 0)
		j->reason_name = reason;
}

static void take_json_slurm(struct json_object *o, struct job *j)
{
	struct json_object *comment = http_json_get_any(o, "comment");

	j->admin_comment =
		json_text_or_empty(http_json_get_any(comment, "administrator"));
	j->system_comment = json_text_or_empty(http_json_get_any(comment, "system"));
	j->extra = json_text_or_empty(http_json_get_any(o, "extra"));
	j->container = json_text_or_empty(http_json_get_any(o, "container"));
	j->constraints = json_text_or_empty(http_json_get_any(o, "constraints"));
	j->licenses = json_text_or_empty(http_json_get_any(o, "licenses"));
	j->qos_requested = json_text_or_empty(http_json_get_any(o, "qosreq"));
	j->failed_node = json_text_or_empty(http_json_get_any(o, "failed_node"));
	j->priority = json_u32_or(http_json_get_any(o, "priority"), 0);
}

/* slurmdbd's flags (src/plugins/data_parser, FLAG_ARRAY(JOB_FLAGS)) */
static uint32_t flags_of(struct json_object *list)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} known[] = {
		{"NOT_SET", JOB_DB_FLAG_NOTSET},
		{"STARTED_ON_SUBMIT", JOB_DB_FLAG_SUBMIT},
		{"STARTED_ON_SCHEDULE", JOB_DB_FLAG_SCHED},
		{"STARTED_ON_BACKFILL", JOB_DB_FLAG_BACKFILL},
		{"START_RECEIVED", JOB_DB_FLAG_START_R},
	};
	uint32_t flags = 0;

	if (!json_object_is_type(list, json_type_array))
		return 0;
	size_t n = json_object_array_length(list);
	for (size_t i = 0; i < n && i < 32; i++)
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (strcmp(json_text_or_empty(
					   json_object_array_get_idx(list, i)),
				   known[k].name) == 0)
				flags |= known[k].flag;
	return flags;
}

/* A step's id is "0", "12.0", or a number, depending on the release. */
static void take_steps(struct json_object *o, struct sacct_reader *r)
{
	struct json_object *list = http_json_get_any(o, "steps");
	char digits[16];

	if (!json_object_is_type(list, json_type_array))
		return;
	size_t n = json_object_array_length(list);
	for (size_t i = 0; i < n && i < SACCT_STEPS_MAX; i++) {
		struct json_object *step =
			http_json_get_any(json_object_array_get_idx(list, i), "step");
		struct json_object *id = http_json_get_any(step, "id");
		uint64_t v;
		const char *number_text = json_text_or_empty(id),
			   *dot = strrchr(number_text, '.');
		if (read_json_number(id, &v) && v <= UINT32_MAX) {
			(void)snprintf(digits, sizeof(digits), "%u", (unsigned)v);
			number_text = digits;
		}
		sacct_step(r, dot ? dot + 1 : number_text,
			   json_text_or_empty(http_json_get_any(step, "name")));
	}
}

static int take_json_job(struct sacct_reader *r, struct json_object *o, struct err *err)
{
	auto_buf struct buf allocated = {.max = JOB_LONG_MAX};
	auto_buf struct buf requested = {.max = JOB_LONG_MAX};
	struct json_object *restarts = http_json_get_any(o, "restart_cnt");
	char flags[JOB_FLAGS_SIZE];
	struct job j;

	job_init(&j);
	if (state_of(json_member_of_member(o, "state", "current"), &j) < 0) {
		sacct_refuse(r, "a job without a state");
		return 0;
	}
	take_ids(o, &j);
	take_json_texts(o, &j);
	take_json_slurm(o, &j);
	j.slurm_flags = job_flags_text(flags_of(http_json_get_any(o, "flags")), flags);
	j.submit_s = json_time_of(o, "submission");
	j.eligible_s = json_time_of(o, "eligible");
	j.start_s = json_time_of(o, "start");
	j.end_s = json_time_of(o, "end");
	j.suspended_s = json_time_of(o, "suspended");
	j.exit_code = exit_of(http_json_get_any(o, "exit_code"));
	j.derived_exit_code = exit_of(http_json_get_any(o, "derived_exit_code"));
	/* 22.05 reports success for each job: a failed one did not succeed */
	if ((j.state & JOB_STATE_BASE_MASK) == JOB_STATE_FAILED && j.exit_code == 0)
		j.exit_code = JOB_NO_VAL;
	j.time_limit_min = limit_of(json_member_of_member(o, "time", "limit"));
	j.node_count = json_u32_or(http_json_get_any(o, "allocation_nodes"), 0);
	j.restarts = json_u32_or(restarts, 0);
	put_tres(json_member_of_member(o, "tres", "allocated"), &allocated);
	put_tres(json_member_of_member(o, "tres", "requested"), &requested);
	if (allocated.data && !buf_error(&allocated))
		j.tres_allocated = allocated.data;
	if (requested.data && !buf_error(&requested))
		j.tres_requested = requested.data;
	uint64_t cpus;
	if (job_tres_get(j.tres_allocated, "cpu", &cpus) == 0 && cpus <= INT32_MAX)
		j.cpus = (uint32_t)cpus;
	take_steps(o, r);
	return sacct_give(r, &j, restarts != NULL, err);
}

int sacct_json(struct sacct_reader *r, const char *bytes, size_t len, struct err *err)
{
	static const struct http_json_limits limits = {SACCT_JSON_MAX, 24, false};
	auto_json struct json_object *o = NULL;
	struct json_object *jobs;
	int rc = http_json_object(bytes, len, &limits, &o, err);

	if (rc < 0)
		return err_prefix(err, rc, "sacct's JSON");
	jobs = http_json_get_any(o, "jobs");
	if (!json_object_is_type(jobs, json_type_array))
		return err_set(err, -EBADMSG,
			       "not what sacct --json prints: no list \"jobs\"");
	size_t n = json_object_array_length(jobs);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct json_object *one = json_object_array_get_idx(jobs, i);
		if (json_object_is_type(one, json_type_object))
			rc = take_json_job(r, one, err);
	}
	return rc;
}
