/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion records for people and scripts. */
#include "lib/records/job_json.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void put_job_json_key(struct buf *out, const char *key)
{
	buf_printf(out, ",\"%s\":", key);
}

static void put_job_json_text(struct buf *out, const char *key, const char *s)
{
	if (!s || !*s)
		return;
	put_job_json_key(out, key);
	buf_put_json(out, s, strlen(s));
}

static void put_job_json_number(struct buf *out, const char *key, uint64_t v)
{
	put_job_json_key(out, key);
	buf_put_u64(out, v);
}

static void put_job_json_known(struct buf *out, const char *key, uint32_t v)
{
	if (v != JOB_NO_VAL)
		put_job_json_number(out, key, v);
}

static void put_job_json_time(struct buf *out, const char *key, uint64_t v)
{
	if (v)
		put_job_json_number(out, key, v);
}

static void put_job_json_ids(const struct job *j, struct buf *out)
{
	char sluid[16], row[24];

	put_job_json_text(out, "event", job_event_name(j->event));
	put_job_json_text(out, "cluster", j->cluster);
	put_job_json_number(out, "job_id", j->job_id);
	put_job_json_number(out, "restarts", j->restarts);
	put_job_json_text(out, "state", job_state_name(j->state));
	put_job_json_number(out, "state_number", j->state);
	put_job_json_number(out, "uid", j->uid);
	put_job_json_number(out, "gid", j->gid);
	put_job_json_number(out, "recorded_ns", j->recorded_ns);
	put_job_json_text(out, "sluid", job_sluid_text(j->sluid, sluid));
	if (j->db_index) { /* a text: more digits than JSON's numbers keep */
		snprintf(row, sizeof(row), "%" PRIu64, j->db_index);
		put_job_json_text(out, "db_index", row);
	}
	put_job_json_known(out, "array_job", j->array_job);
	put_job_json_known(out, "array_task", j->array_task);
	put_job_json_time(out, "array_task_count", j->array_task_count);
	put_job_json_text(out, "array_tasks", j->array_tasks);
	put_job_json_known(out, "het_job", j->het_job);
	put_job_json_known(out, "het_offset", j->het_offset);
}

static void put_times(const struct job *j, struct buf *out)
{
	put_job_json_time(out, "submit_s", j->submit_s);
	put_job_json_time(out, "eligible_s", j->eligible_s);
	put_job_json_time(out, "start_s", j->start_s);
	put_job_json_time(out, "end_s", j->end_s);
	put_job_json_time(out, "resize_s", j->resize_s);
	put_job_json_time(out, "suspended_s", j->suspended_s);
	put_job_json_time(out, "part_s", job_part_s(j));
	put_job_json_known(out, "exit_code", j->exit_code);
	put_job_json_known(out, "derived_exit_code", j->derived_exit_code);
	put_job_json_text(out, "reason_name", j->reason_name);
	put_job_json_known(out, "cancelled_by", j->cancelled_by);
	if (j->time_limit_min == JOB_INFINITE)
		put_job_json_text(out, "time_limit_min", "infinite");
	else
		put_job_json_known(out, "time_limit_min", j->time_limit_min);
}

void job_put_json(const struct job *j, struct buf *out)
{
	put_job_json_ids(j, out);
	put_times(j, out);
	put_job_json_time(out, "node_count", j->node_count);
	put_job_json_time(out, "cpus", j->cpus);
	put_job_json_time(out, "tasks", j->tasks);
	put_job_json_text(out, "user", j->user);
	put_job_json_text(out, "group", j->group);
	put_job_json_text(out, "account", j->account);
	put_job_json_text(out, "qos", j->qos);
	put_job_json_text(out, "partition", j->partition);
	put_job_json_text(out, "reservation", j->reservation);
	put_job_json_text(out, "wckey", j->wckey);
	put_job_json_text(out, "name", j->name);
	put_job_json_text(out, "comment", j->comment);
	put_job_json_text(out, "admin_comment", j->admin_comment);
	put_job_json_text(out, "system_comment", j->system_comment);
	put_job_json_text(out, "extra", j->extra);
	put_job_json_text(out, "container", j->container);
	put_job_json_text(out, "constraints", j->constraints);
	put_job_json_text(out, "licenses", j->licenses);
	put_job_json_text(out, "qos_requested", j->qos_requested);
	put_job_json_text(out, "failed_node", j->failed_node);
	put_job_json_text(out, "slurm_flags", j->slurm_flags);
	put_job_json_time(out, "priority", j->priority);
	put_job_json_text(out, "submit_line", j->submit_line);
	put_job_json_text(out, "work_dir", j->work_dir);
	put_job_json_text(out, "nodes", j->nodes);
	put_job_json_text(out, "tres_requested", j->tres_requested);
	put_job_json_text(out, "tres_allocated", j->tres_allocated);
	put_job_json_text(out, "gres", j->gres);
	if (j->flags & JOB_BY_SRUN)
		buf_puts(out, ",\"by_srun\":true");
	if (j->flags & JOB_LINE_CUT)
		buf_puts(out, ",\"submit_line_cut\":true");
	if (j->flags & JOB_CUT)
		buf_puts(out, ",\"cut\":true");
}
