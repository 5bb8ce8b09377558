/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A completion record (lib/records/job.h) as a row of job_record: JSON with the names
 * of unit's columns, so that the linker's SQL can read it and an operator can erase a
 * name. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/ingest/ingest_decode.h"
#include "lib/clock.h"
#include "lib/rfc3339.h"

#define TIME_MAX_S 253402300799ull /* the end of 9999 */
#define LATEST_MAX_S 4600000000ull /* in 2115; fits an int64 as ns */

static void put_row_key(struct buf *b, const char *key)
{
	buf_printf(b, "%c\"%s\":", b->len ? ',' : '{', key);
}

static void put_row_text(struct buf *b, const char *key, const char *s)
{
	if (!*s)
		return;
	put_row_key(b, key);
	buf_put_json(b, s, strlen(s));
}

static void put_row_number(struct buf *b, const char *key, uint64_t v)
{
	put_row_key(b, key);
	buf_put_u64(b, v);
}

static void put_id(struct buf *b, const char *key, uint32_t v)
{
	if (v != JOB_NO_VAL)
		put_row_number(b, key, v);
}

/* An integer column; 0: unknown */
static void put_count(struct buf *b, const char *key, uint64_t v)
{
	if (v && v <= INT32_MAX)
		put_row_number(b, key, v);
}

static void put_row_time(struct buf *b, const char *key, uint64_t s)
{
	char text[RFC3339_BYTES];

	if (!s)
		return;
	rfc3339_print(s, text);
	put_row_text(b, key, text);
}

static void put_row_ids(struct buf *b, const struct job *j)
{
	char sluid[16], row[24];

	put_row_text(b, "event", job_event_name(j->event));
	put_row_text(b, "sluid", job_sluid_text(j->sluid, sluid));
	if (j->db_index) { /* as text: it may have more digits than JSON numbers keep */
		snprintf(row, sizeof(row), "%" PRIu64, j->db_index);
		put_row_text(b, "db_index", row);
	}
	put_id(b, "uid", j->uid);
	put_id(b, "gid", j->gid);
	put_id(b, "array_job", j->array_job);
	put_id(b, "array_task", j->array_task);
	put_id(b, "het_job", j->het_job);
	if (j->het_offset <= INT32_MAX)
		put_row_number(b, "het_offset", j->het_offset);
	put_row_text(b, "array_tasks", j->array_tasks);
	if (j->flags & JOB_BY_SRUN) {
		put_row_key(b, "by_srun");
		buf_puts(b, "true");
	}
}

static void put_what(struct buf *b, const struct job *j)
{
	put_row_text(b, "state", job_state_name(j->state));
	put_row_text(b, "reason", j->reason_name);
	if (j->exit_code <= INT32_MAX)
		put_row_number(b, "exit_code", j->exit_code);
	if (j->derived_exit_code <= INT32_MAX)
		put_row_number(b, "derived_exit_code", j->derived_exit_code);
	put_id(b, "cancelled_by", j->cancelled_by);
	if (j->time_limit_min < JOB_NO_VAL)
		put_row_number(b, "time_limit_s", (uint64_t)j->time_limit_min * 60);
	put_row_time(b, "eligible", j->eligible_s);
	put_row_time(b, "started", j->start_s);
	put_row_time(b, "ended", j->end_s);
	if (j->suspended_s)
		put_row_number(b, "suspended_s", j->suspended_s);
}

static void put_given(struct buf *b, const struct job *j)
{
	uint64_t v;

	put_row_text(b, "node_list", j->nodes);
	put_count(b, "nodes", j->node_count);
	put_count(b, "cpus", j->cpus);
	if (job_tres_get(j->tres_allocated, "mem", &v) == 0 && v <= INT64_MAX)
		put_row_number(b, "memory_bytes", v);
	if (job_tres_get(j->tres_allocated, "gres/gpu", &v) == 0)
		put_count(b, "gpus", v);
	put_row_text(b, "tres_requested", j->tres_requested);
	put_row_text(b, "tres_allocated", j->tres_allocated);
	put_row_text(b, "gres", j->gres);
}

static void put_names(struct buf *b, const struct job *j)
{
	put_row_text(b, "user", j->user);
	put_row_text(b, "group", j->group);
	put_row_text(b, "account", j->account);
	put_row_text(b, "name", j->name);
	put_row_text(b, "partition", j->partition);
	put_row_text(b, "qos", j->qos);
	put_row_text(b, "reservation", j->reservation);
	put_row_text(b, "wckey", j->wckey);
	put_row_text(b, "work_dir", j->work_dir);
	put_row_text(b, "comment", j->comment);
}

/* What only slurmctld knows, shown as it is. */
static void put_row_slurm(struct buf *b, const struct job *j)
{
	put_row_text(b, "slurm_flags", j->slurm_flags);
	put_row_text(b, "admin_comment", j->admin_comment);
	put_row_text(b, "system_comment", j->system_comment);
	put_row_text(b, "extra", j->extra);
	put_row_text(b, "container", j->container);
	put_row_text(b, "constraints", j->constraints);
	put_row_text(b, "licenses", j->licenses);
	put_row_text(b, "qos_requested", j->qos_requested);
	put_row_text(b, "failed_node", j->failed_node);
	if (j->priority)
		put_row_number(b, "priority", j->priority);
	put_row_text(b, "submit_line", j->submit_line);
	if (j->flags & JOB_LINE_CUT) {
		put_row_key(b, "submit_line_cut");
		buf_puts(b, "true");
	}
}

static uint64_t latest_of(const struct job *j)
{
	const uint64_t times[] = {j->submit_s, j->start_s, j->end_s, j->resize_s,
				  job_part_s(j)};
	uint64_t latest = 0;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		latest = times[i] > latest ? times[i] : latest;
	return latest;
}

/* Seconds by which slurmctld's clock is ahead. If it reports its clock, by that; else
 * enough that nothing in the record is in the future. 0: it is not ahead. */
static uint64_t ahead_s(const struct job *j, const struct ingest_rules *rules,
			const struct ingest_push *p)
{
	uint64_t now_s = rules->now_ns / NSEC_PER_SEC, latest = latest_of(j);
	uint64_t there_s = p->has_clock ? p->clock.realtime_ns / NSEC_PER_SEC : 0;

	if (latest <= now_s + INGEST_AHEAD_NS / NSEC_PER_SEC)
		return 0;
	return there_s >= latest ? there_s - now_s : latest - now_s;
}

/* Moves the job's times. The submit time stays, as it identifies the run and slurmctld
 * always sends the same. */
static void move_back(struct job *j, uint64_t s)
{
	uint64_t *const times[] = {&j->eligible_s, &j->start_s, &j->end_s,
				   &j->resize_s};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (*times[i])
			*times[i] = *times[i] > s ? *times[i] - s : 1;
	}
}

static int check_job_times(const struct job *j, struct err *err)
{
	/* a job may be held until a future time */
	if (j->eligible_s > TIME_MAX_S || latest_of(j) > LATEST_MAX_S)
		return err_set(err, -EINVAL, "an impossible time");
	if (j->state > INT32_MAX || j->restarts > INT32_MAX)
		return err_set(err, -EINVAL, "state or restarts are out of range");
	return 0;
}

int ingest_job_json(const struct job *j, struct buf *ret)
{
	put_row_ids(ret, j);
	put_what(ret, j);
	put_given(ret, j);
	put_names(ret, j);
	put_row_slurm(ret, j);
	buf_putc(ret, '}');
	return buf_error(ret);
}

int ingest_job(const struct job *j, const struct ingest_rules *rules,
	       struct ingest_push *p, struct err *err)
{
	auto_buf struct buf b = BUF_INIT;
	struct job moved = *j;
	char id[16];
	int rc = check_job_times(j, err);

	if (rc < 0)
		return rc;
	uint64_t ahead = ahead_s(j, rules, p);
	if (ahead) {
		/* provided that our clock is right */
		p->untimely++;
		p->moved++;
		move_back(&moved, ahead);
	}
	buf_init(&b, 1 << 20);
	if (ingest_job_json(&moved, &b) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct ingest_job *row = ingest_push_job(p);
	if (!row)
		return err_set(err, -EINVAL, "too many rows for one request");
	snprintf(id, sizeof(id), "%u", j->job_id);
	uint64_t part = job_part_s(j);
	*row = (struct ingest_job){
		.cluster = ingest_push_put(p, j->cluster, strlen(j->cluster)),
		.uuid = ingest_push_put(p, id, strlen(id)),
		.record = ingest_push_put(p, b.data, b.len),
		.restarts = j->restarts,
		.state = j->state,
		.submitted_s = j->submit_s,
		.part_s = part ? part : j->submit_s,
	};
	return 0;
}
