/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobcomp_ceems.so: writes each record of slurmctld, for a job's end and since 25.05
 * (before, with prep_ceems.so) for its start, to our spool, and passes it to a chained
 * jobcomp plugin if configured.
 * Our failures are logged, and cost records at worst: init and set_location always
 * succeed, and no call waits for a disk. sacct -c loads this plugin too, and there it
 * has no thread, spool or output.
 *
 * Built against the private headers of one exact Slurm release, as its loader wants. */
#include "jobcomp/slurm_headers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jobcomp/chain.h"
#include "jobcomp/queue.h"
#include "jobcomp/tres.h"
#include "jobcomp/writer.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/plugin/jobcomp_options.h"
#include "lib/records/job.h"

#define STOP_WAIT_MS 3000u

#pragma GCC visibility push(default)
const char plugin_name[] = "CEEMS job completion plugin";
const char plugin_type[] = "jobcomp/ceems";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

extern int init(void);
extern int fini(void);
extern set_location_f jobcomp_p_set_location;
#if HAVE_RECORD_START
extern record_f jobcomp_p_record_job_end;
extern record_f jobcomp_p_record_job_start;
#else
extern record_f jobcomp_p_log_record;
#endif
extern get_jobs_f jobcomp_p_get_jobs;
extern job_started_f ceems_job_started;
#pragma GCC visibility pop

#define SAME_NUMBER(ours, theirs)                                                      \
	_Static_assert((uint64_t)(ours) == (uint64_t)(theirs), #theirs)
SAME_NUMBER(JOB_STATE_COMPLETED, JOB_COMPLETE);
SAME_NUMBER(JOB_STATE_CANCELLED, JOB_CANCELLED);
SAME_NUMBER(JOB_STATE_OUT_OF_MEMORY, JOB_OOM);
SAME_NUMBER(JOB_STATE_OUT_OF_MEMORY + 1, JOB_END);
SAME_NUMBER(JOB_STATE_BASE_MASK, JOB_STATE_BASE);
SAME_NUMBER(JOB_FLAG_REQUEUE, JOB_REQUEUE);
SAME_NUMBER(JOB_FLAG_REQUEUE_HOLD, JOB_REQUEUE_HOLD);
SAME_NUMBER(JOB_FLAG_SPECIAL_EXIT, JOB_SPECIAL_EXIT);
SAME_NUMBER(JOB_FLAG_RESIZING, JOB_RESIZING);
SAME_NUMBER(JOB_FLAG_COMPLETING, JOB_COMPLETING);
SAME_NUMBER(JOB_FLAG_REVOKED, JOB_REVOKED);
SAME_NUMBER(JOB_FLAG_REQUEUE_FED, JOB_REQUEUE_FED);
SAME_NUMBER(JOB_DB_FLAG_NOTSET, SLURMDB_JOB_FLAG_NOTSET);
SAME_NUMBER(JOB_DB_FLAG_SUBMIT, SLURMDB_JOB_FLAG_SUBMIT);
SAME_NUMBER(JOB_DB_FLAG_SCHED, SLURMDB_JOB_FLAG_SCHED);
SAME_NUMBER(JOB_DB_FLAG_BACKFILL, SLURMDB_JOB_FLAG_BACKFILL);
SAME_NUMBER(JOB_DB_FLAG_START_R, SLURMDB_JOB_FLAG_START_R);
SAME_NUMBER(JOB_NO_VAL, NO_VAL);
SAME_NUMBER(JOB_INFINITE, INFINITE);

/* Slurm gives plugins no place for state. It serialises its calls by locks of its own,
 * but for a job's start that prep_ceems.so reports while the plugin is being unloaded.
 */
static struct {
	pthread_mutex_t lock;
	struct jobcomp_options options;
	struct writer *writer; /* NULL: not in slurmctld */
	struct chain chain;
	struct buf requested, allocated, gres;
	unsigned char record[JOB_RECORD_MAX];
} plugin = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- one record ------------------------------------------------------------------ */

/* assoc_mgr's TRES lock must be held */
static const char *site_tres(void *arg, uint32_t id, char buf[64])
{
	(void)arg;
	for (uint32_t i = 0; i < g_tres_count; i++) {
		const slurmdb_tres_rec_t *t = assoc_mgr_tres_array[i];
		if (!t || t->id != id || !t->type)
			continue;
		int n = snprintf(buf, 64, "%s%s%s", t->type, t->name ? "/" : "",
				 t->name ? t->name : "");
		return n > 0 && n < 64 ? buf : NULL;
	}
	return NULL;
}

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

static uint64_t time_or_zero(time_t t)
{
	return t > 0 ? (uint64_t)t : 0;
}

static uint64_t get_db_index(const job_record_t *j)
{
	return j->db_index != NO_VAL64 ? j->db_index : 0;
}

/* For 24.11 and later; the number is that of slurmdbd's row, if there is one. */
static uint64_t get_sluid(const job_record_t *j)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
	return JOB_SLUID(j) >> 52 && JOB_SLUID(j) != NO_VAL64 ? JOB_SLUID(j) : 0;
#else
	(void)j;
	return 0;
#endif
}

/* Whether srun made the job, by the command line that the client reported */
static bool by_srun(const job_record_t *j)
{
	const char *line = j->details ? j->details->submit_line : NULL;
	if (j->batch_flag || !line)
		return false;
	size_t len = strcspn(line, " ");
	const char *slash = memrchr(line, '/', len);
	const char *name = slash ? slash + 1 : line;
	return len - (size_t)(name - line) == 4 && memcmp(name, "srun", 4) == 0;
}

static void fill_ids(struct job *r, const job_record_t *j)
{
	r->job_id = j->job_id;
	r->restarts = j->restart_cnt;
	r->state = j->job_state;
	r->uid = j->user_id;
	r->gid = j->group_id;
	r->sluid = get_sluid(j);
	r->db_index = get_db_index(j);
	if (j->array_job_id) {
		r->array_job = j->array_job_id;
		r->array_task = j->array_task_id;
	}
	if (j->het_job_id) {
		r->het_job = j->het_job_id;
		r->het_offset = j->het_job_offset;
	}
	r->cluster = plugin.options.cluster[0] ? plugin.options.cluster
					       : text_or_empty(slurm_conf.cluster_name);
	r->user = text_or_empty(j->user_name);
	r->account = text_or_empty(j->account);
	r->partition = text_or_empty(j->partition);
	r->reservation = text_or_empty(j->resv_name);
	r->wckey = text_or_empty(j->wckey);
	r->name = text_or_empty(j->name);
	r->comment = text_or_empty(j->comment);
	r->admin_comment = text_or_empty(j->admin_comment);
	r->system_comment = text_or_empty(j->system_comment);
	r->extra = text_or_empty(JOB_EXTRA(j));
	r->container = text_or_empty(j->container);
	r->flags |= by_srun(j) ? JOB_BY_SRUN : 0;
}

static void fill_request(struct job *r, const job_record_t *j)
{
	r->time_limit_min = j->time_limit;
	r->priority =
		j->priority != NO_VAL && j->priority != INFINITE ? j->priority : 0;
	r->licenses = text_or_empty(j->licenses);
	if (!j->details)
		return;
	r->qos_requested = text_or_empty(JOB_QOS_REQUESTED(j));
	/* the ones in use where there are others to prefer, as slurmdbd is told */
	r->constraints =
		text_or_empty(j->details->features_use ? j->details->features_use
						       : j->details->features);
	if (plugin.options.submit_line)
		r->submit_line = text_or_empty(j->details->submit_line);
	r->submit_s = time_or_zero(j->details->submit_time);
	r->eligible_s = time_or_zero(j->details->begin_time);
	r->work_dir = text_or_empty(j->details->work_dir);
	r->tasks = j->details->num_tasks;
}

static void fill_end(struct job *r, const job_record_t *j)
{
	r->exit_code = j->exit_code;
	r->derived_exit_code = j->derived_ec;
	r->reason = j->state_reason;
	if (j->state_reason)
		r->reason_name = text_or_empty(REASON_TEXT(j->state_reason));
	if (j->requid != INFINITE)
		r->cancelled_by = j->requid;
	r->end_s = time_or_zero(j->end_time);
	r->failed_node = text_or_empty(JOB_FAILED_NODE(j));
	r->resize_s = time_or_zero(j->resize_time);
	r->suspended_s = time_or_zero(j->tot_sus_time);
	/* a job's expected end is not that of its part */
	if (!r->end_s || r->event == JOB_EVENT_RESIZED)
		r->end_s = r->recorded_ns / NSEC_PER_SEC;
	if (r->eligible_s > r->end_s) /* it was never eligible */
		r->eligible_s = 0;
}

static void fill_allocation(struct job *r, const job_record_t *j)
{
	r->start_s = time_or_zero(j->start_time);
	r->nodes = text_or_empty(j->nodes);
	r->node_count = j->total_nodes ? j->total_nodes : j->node_cnt;
	r->cpus = j->total_cpus ? j->total_cpus : j->cpu_cnt;
	if (j->gres_detail_str)
		tres_join_gres(j->gres_detail_str, j->gres_detail_cnt, JOB_GRES_MAX,
			       &plugin.gres);
}

static const char *buffered_text(struct buf *b)
{
	return buf_error(b) || !b->data ? "" : b->data;
}

static int encode_record(const job_record_t *j, bool start)
{
	static const assoc_mgr_lock_t locks = {.qos = READ_LOCK, .tres = READ_LOCK};
	bool ran = start || (j->nodes && *j->nodes) ||
		   (j->job_state & JOB_STATE_BASE) == JOB_COMPLETE;
	bool array = j->array_job_id && j->array_task_id == NO_VAL;
	char *tasks = NULL, words[JOB_FLAGS_SIZE];
	struct job r;

	job_init(&r);
	buf_reset(&plugin.requested);
	buf_reset(&plugin.allocated);
	buf_reset(&plugin.gres);
	r.recorded_ns = clock_realtime_ns();
	r.event = start ? JOB_EVENT_STARTED
			: (uint8_t)job_event_of(j->job_state, ran, array);
	fill_ids(&r, j);
	fill_request(&r, j);
	r.slurm_flags = job_flags_text(j->db_flags, words);
	if (!start)
		fill_end(&r, j);
	if (ran)
		fill_allocation(&r, j);
	if (array && j->array_recs && j->array_recs->task_id_bitmap) {
		r.array_tasks = tasks = bit_fmt_full(j->array_recs->task_id_bitmap);
		r.array_task_count = j->array_recs->task_cnt;
	}
	assoc_mgr_lock((assoc_mgr_lock_t *)&locks);
	if (j->qos_ptr)
		r.qos = text_or_empty(j->qos_ptr->name);
	tres_text(j->tres_req_str, site_tres, NULL, &plugin.requested);
	if (ran)
		tres_text(j->tres_alloc_str, site_tres, NULL, &plugin.allocated);
	r.tres_requested = buffered_text(&plugin.requested);
	r.tres_allocated = buffered_text(&plugin.allocated);
	r.gres = buffered_text(&plugin.gres);
	int len = job_encode(&r, plugin.record, sizeof(plugin.record));
	assoc_mgr_unlock((assoc_mgr_lock_t *)&locks);
	xfree(tasks);
	return len;
}

/* The lock must be held */
static void encode_and_queue(const job_record_t *job, bool start)
{
	int len = encode_record(job, start);
	uint32_t flags = start ? QUEUE_START : 0;
	if (job->user_name && *job->user_name)
		flags |= QUEUE_HAS_USER;
	if (len < 0)
		writer_count_lost(plugin.writer);
	else
		writer_put(plugin.writer, plugin.record, (size_t)len, job->user_id,
			   job->group_id, flags);
}

static void queue_job_record(const job_record_t *job, bool start)
{
	pthread_mutex_lock(&plugin.lock);
	if (plugin.writer)
		encode_and_queue(job, start);
	pthread_mutex_unlock(&plugin.lock);
}

#if HAVE_RECORD_START
extern int jobcomp_p_record_job_end(job_record_t *job, uint32_t event)
{
	queue_job_record(job, false);
	if (plugin.chain.context)
		(void)plugin.chain.calls.record_end(job, event);
	return SLURM_SUCCESS;
}

extern int jobcomp_p_record_job_start(job_record_t *job, uint32_t event)
{
	queue_job_record(job, true);
	if (plugin.chain.context)
		(void)plugin.chain.calls.record_start(job, event);
	return SLURM_SUCCESS;
}
#else
extern int jobcomp_p_log_record(job_record_t *job)
{
	queue_job_record(job, false);
	if (plugin.chain.context)
		(void)plugin.chain.calls.record_end(job);
	return SLURM_SUCCESS;
}
#endif

/* Of prep_ceems.so, in a thread that slurmctld has for each job's start: a job may have
 * been cancelled before. */
extern void ceems_job_started(job_record_t *job)
{
	if ((job->job_state & JOB_STATE_BASE) == JOB_RUNNING)
		queue_job_record(job, true);
}

/* ---- the other calls ------------------------------------------------------------- */

/* Also called after log rotation (SIGUSR2) */
extern int jobcomp_p_set_location(LOCATION_PARAMETER)
{
	if (plugin.chain.context &&
	    plugin.chain.calls.set_location(LOCATION_ARGUMENT) != SLURM_SUCCESS)
		error("ceems: %s rejects JobCompLoc: our records are still written",
		      plugin.options.chain);
	return SLURM_SUCCESS;
}

extern struct xlist *jobcomp_p_get_jobs(slurmdb_job_cond_t *cond)
{
	return plugin.chain.context ? plugin.chain.calls.get_jobs(cond) : NULL;
}

/* ---- the plugin ------------------------------------------------------------------ */

static void log_error(const char *line)
{
	error("ceems: %s", line);
}

static void log_info(const char *line)
{
	info("ceems: %s", line);
}

static void complain_of_option(void *arg, const char *line)
{
	if (running_in_slurmctld())
		error("ceems: %s: %s: left out", (const char *)arg, line);
}

static void read_options(void)
{
	const char *path = secure_getenv(JOBCOMP_OPTIONS_VARIABLE);
	struct err err;

	if (!path)
		path = JOBCOMP_OPTIONS_PATH;
	if (jobcomp_options_read(&plugin.options, path, geteuid(), complain_of_option,
				 (void *)path, &err) < 0 &&
	    running_in_slurmctld())
		error("ceems: %s, the plugin uses its defaults", err.text);
}

static void start_writer(void)
{
	static const struct writer_log log = {.error = log_error, .info = log_info};
	struct writer_options o = {.spool = plugin.options.spool,
				   .max_bytes = plugin.options.max_bytes};
	struct err err;

	if (writer_start(&o, &log, &plugin.writer, &err) < 0)
		error("ceems: %s: completion records are not written", err.text);
}

extern int init(void)
{
	read_options();
	chain_load(&plugin.chain, plugin.options.chain);
	if (running_in_slurmctld() && !plugin.writer)
		start_writer();
	return SLURM_SUCCESS;
}

extern int fini(void)
{
	pthread_mutex_lock(&plugin.lock);
	(void)writer_stop(plugin.writer, STOP_WAIT_MS);
	plugin.writer = NULL;
	buf_done(&plugin.requested);
	buf_done(&plugin.allocated);
	buf_done(&plugin.gres);
	pthread_mutex_unlock(&plugin.lock);
	chain_unload(&plugin.chain);
	return SLURM_SUCCESS;
}
