/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes reports from the unit table into the spool, once a second. */
#include "daemon/reports/reports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/reports/report_age.h"
#include "daemon/reports/reporter.h"
#include "daemon/sources/meters.h"
#include "lib/boot.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/periodic.h"
#include "lib/records/spool.h"

#define STACK_BYTES ((size_t)256 << 10)
#define ROUND_NS NSEC_PER_SEC
#define STATS_NS (10 * NSEC_PER_SEC)
#define RETRY_MIN_NS NSEC_PER_SEC
#define RETRY_MAX_NS (60 * NSEC_PER_SEC)
#define BATCHES_MAX 64u /* per round; then clocks are read again */

struct reports {
	struct reports_params p;
	char *cluster, *folder;
	char boot[BOOT_ID_BYTES];
	struct reporter *reporter;
	struct report_batch *batch;
	struct report_stats stats; /* under the daemon's lock */
	struct report_age age;
	uint64_t stats_until_ns;

	struct spool_writer *writer; /* NULL: cannot be opened now */
	bool had_folder;
	_Atomic bool lost_folder;
	uint64_t retry_ns, retry_gap_ns;
	struct log_repeat failing;

	struct periodic thread;
};

/* ---- the folder ------------------------------------------------------------------ */

static void say_spool_failure(struct reports *r, const char *what)
{
	uint64_t now = r->p.env->boottime_ns();

	r->retry_gap_ns = r->retry_gap_ns ? 2 * r->retry_gap_ns : RETRY_MIN_NS;
	if (r->retry_gap_ns > RETRY_MAX_NS)
		r->retry_gap_ns = RETRY_MAX_NS;
	r->retry_ns = now + r->retry_gap_ns;
	if (log_repeat_due(&r->failing, now))
		log_warn("reports: %s: units wait for it in the unit table, those that "
			 "end for a while only (--reports.spool)",
			 what);
}

static bool open_spool(struct reports *r)
{
	const struct spool_limits limits = {.max_bytes = r->p.max_bytes};
	struct spool_stats stats;
	struct err err;

	if (r->writer)
		return true;
	if (spool_writer_open(r->folder, &limits, &r->writer, &err) < 0) {
		r->writer = NULL;
		r->lost_folder = r->had_folder && access(r->folder, F_OK) < 0;
		say_spool_failure(r, err.text);
		return false;
	}
	r->had_folder = true;
	if (spool_stats(r->folder, &stats, &err) == 0)
		report_age_begin(&r->age, r->folder, stats.acked,
				 r->p.env->realtime_ns(), r->p.env->boottime_ns());
	return true;
}

/* ---- a round --------------------------------------------------------------------- */

/* How many items of the batch are durably in the spool. */
static uint32_t write_batch(struct reports *r)
{
	const struct report_batch *b = r->batch;
	struct err err = {""};
	uint64_t seq = 0, first = 0;
	uint32_t n = 0;
	int rc = 0;

	for (; n < b->count; n++) {
		const struct report_item *item = &b->items[n];
		enum spool_class cls =
			item->type == REPORT_INTERVAL ? SPOOL_INTERVAL : SPOOL_FINAL;
		rc = spool_try(r->writer, cls, b->data + item->at, item->len, &seq,
			       &err);
		if (rc < 0)
			break;
		if (!n)
			first = seq;
	}
	if (n)
		report_age_note(&r->age, first, seq, r->p.env->boottime_ns());
	if (n && spool_sync(r->writer, &err) < 0) {
		rc = -EIO;
		n = 0; /* report them again: what is on the disk is unknown */
	} else if (spool_writer_is_stale(r->writer)) {
		rc = err_set(&err, -ESTALE, "%s: removed or replaced while in use",
			     r->folder);
		n = 0; /* nobody would read them there */
		spool_writer_close(r->writer);
		r->writer = NULL;
	}
	if (rc < 0) {
		say_spool_failure(r, err.text);
	} else {
		r->retry_gap_ns = 0;
		if (log_repeat_over(&r->failing))
			log_info("reports: %s can be written again", r->folder);
	}
	return n;
}

static void gather_batch(struct reports *r, bool begin)
{
	const struct env *env = r->p.env;

	pthread_mutex_lock(r->p.lock);
	if (begin)
		reporter_round(r->reporter, env->boottime_ns());
	reporter_gather(r->reporter, r->batch, env->boottime_ns());
	pthread_mutex_unlock(r->p.lock);
}

static void settle_batch(struct reports *r, uint32_t n)
{
	pthread_mutex_lock(r->p.lock);
	reporter_settle(r->reporter, r->batch, n);
	r->stats.failures += n < r->batch->count;
	for (uint32_t t = 0; t < 3; t++)
		r->stats.written[t] = reporter_written(
			r->reporter, (enum report_type)(REPORT_START + t));
	pthread_mutex_unlock(r->p.lock);
}

static void take_stats(struct reports *r)
{
	uint64_t now = r->p.env->boottime_ns();
	struct spool_stats s;

	if (now < r->stats_until_ns)
		return;
	r->stats_until_ns = now + STATS_NS;
	bool known = r->writer && spool_stats(r->folder, &s, NULL) == 0;
	pthread_mutex_lock(r->p.lock);
	r->stats.untold = units_left_untold(r->p.env->units);
	r->stats.has_spool = known;
	if (known) {
		r->stats.lost[0] = s.lost[SPOOL_INTERVAL];
		r->stats.lost[1] = s.lost[SPOOL_FINAL];
		r->stats.spool_bytes = s.bytes;
		r->stats.oldest_age_ns = report_age_ns(&r->age, s.acked, now);
	}
	pthread_mutex_unlock(r->p.lock);
}

static void round_of(struct reports *r, bool last)
{
	bool blocked = !last && r->p.env->boottime_ns() < r->retry_ns;

	if (blocked || !open_spool(r)) {
		pthread_mutex_lock(r->p.lock);
		reporter_round(r->reporter, r->p.env->boottime_ns());
		pthread_mutex_unlock(r->p.lock);
		take_stats(r);
		return;
	}
	for (unsigned k = 0; k < BATCHES_MAX; k++) {
		gather_batch(r, k == 0);
		if (!r->batch->count)
			break;
		uint32_t n = write_batch(r);
		settle_batch(r, n);
		if (n < r->batch->count || !r->batch->more)
			break;
	}
	take_stats(r);
}

/* ---- the thread ------------------------------------------------------------------ */

static uint64_t reports_turn(void *arg)
{
	round_of(arg, false);
	return ROUND_NS / NSEC_PER_MSEC;
}

static void last_round(void *arg)
{
	round_of(arg, true);
}

static int make_reports(struct reports *r, const struct reports_params *p,
			struct err *err)
{
	const struct env *env = p->env;

	r->p = *p;
	r->cluster = strdup(p->cluster);
	r->folder = spool_folder(p->folder, env->hostname);
	r->batch = malloc(sizeof(*r->batch));
	if (!r->cluster || !r->folder || !r->batch)
		return err_set(err, -ENOMEM, "reports: out of memory");
	if (r->folder[0] != '/')
		return err_set(err, -EINVAL, "--reports.spool=%s: not an absolute path",
			       p->folder);
	int rc = boot_id(r->boot, err);
	if (rc < 0)
		return rc;
	const struct reporter_params q = {
		.units = env->units,
		.sample = p->sample,
		.who = {.cluster = r->cluster,
			.hostname = env->hostname,
			.boot_id = r->boot,
			.source_name = meters_source_name},
		.interval_ns = p->interval_ms * NSEC_PER_MSEC,
		.counts = p->counts,
	};
	return reporter_new(&q, env->boottime_ns(), &r->reporter, err);
}

int reports_new(const struct reports_params *p, uid_t uid, gid_t gid,
		struct reports **ret, struct err *err)
{
	struct reports *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "reports: out of memory");
	periodic_init(&r->thread);
	int rc = make_reports(r, p, err);
	if (rc < 0) {
		reports_free(r);
		return rc;
	}
	spool_make_folder(r->folder, uid, gid);
	*ret = r;
	return 0;
}

int reports_start(struct reports *r, struct err *err)
{
	int rc = periodic_start(&r->thread, STACK_BYTES, reports_turn, last_round, r);

	return rc < 0 ? err_set(err, rc, "reports: thread: %s", strerror(-rc)) : 0;
}

void reports_free(struct reports *r)
{
	if (!r)
		return;
	periodic_done(&r->thread);
	spool_writer_close(r->writer);
	reporter_free(r->reporter);
	free(r->batch);
	free(r->folder);
	free(r->cluster);
	free(r);
}

bool reports_folder_lost(const struct reports *r)
{
	return r->lost_folder;
}

const struct report_stats *reports_stats(const struct reports *r)
{
	return &r->stats;
}
