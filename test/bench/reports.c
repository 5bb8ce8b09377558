/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reports cost ceemsd: for a short job from its first record to its final report
 * in a spool on the disk, and each second for jobs that just run. Processor time of the
 * whole process, so a busy machine changes little. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/reports/reporter.h"
#include "lib/clock.h"
#include "lib/records/spool.h"

#define JOBS 1000u /* a second's worth, many times over */
#define ROUNDS 20u
#define RUNNING 500u
#define IDLE_ROUNDS 1000u

static struct report_batch batch;
static uint64_t now = 1000 * NSEC_PER_SEC, pos;

static void die(const char *what)
{
	fprintf(stderr, "reports: %s\n", what);
	exit(1);
}

static void result(const char *metric, double value, const char *unit)
{
	printf("{\"bench\":\"reports\",\"metric\":\"%s\",\"value\":%.4g,"
	       "\"unit\":\"%s\",\"reach\":null,\"ok\":null}\n",
	       metric, value, unit);
}

static void apply(struct units *u, enum record_type type, uint32_t id, uint32_t step)
{
	struct record r;

	record_init(&r, type, MANAGER_SLURM);
	snprintf(r.unit, sizeof(r.unit), "%u", id);
	snprintf(r.node, sizeof(r.node), "n1");
	r.step = step;
	r.boottime_ns = r.realtime_ns = now;
	if (type == RECORD_STEP_STOP) {
		r.flags = RECORD_LAST;
		r.counters.source = COUNTERS_CGROUP_V1;
		r.counters.cpu_user_ns = id + step;
	}
	if (units_apply(u, &r, ++pos, now, now, NULL) < 0)
		die("a record is refused");
}

/* Records that were written */
static uint64_t tell(struct reporter *r, struct spool_writer *w)
{
	struct err err;
	uint64_t n = 0;

	reporter_round(r, now);
	do {
		reporter_gather(r, &batch, now);
		for (uint32_t i = 0; i < batch.count; i++) {
			const struct report_item *item = &batch.items[i];
			if (spool_append(w, SPOOL_FINAL, batch.data + item->at,
					 item->len, NULL, &err) < 0)
				die(err.text);
		}
		if (batch.count && spool_sync(w, &err) < 0)
			die(err.text);
		reporter_settle(r, &batch, batch.count);
		n += batch.count;
	} while (batch.more);
	return n;
}

static uint64_t cpu_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void short_jobs(struct units *u, struct reporter *r, struct spool_writer *w)
{
	const struct units_policy at_once = {0, 0, 2000};
	uint64_t records_ns = 0, reports_ns = 0, wall_ns = 0, reports = 0;

	for (uint32_t k = 0; k < ROUNDS; k++) {
		uint64_t t0 = cpu_ns();
		for (uint32_t j = 0; j < JOBS; j++) {
			uint32_t id = k * JOBS + j;
			apply(u, RECORD_STEP_START, id, RECORD_STEP_EXTERN);
			apply(u, RECORD_STEP_START, id, 0);
			now += 20 * NSEC_PER_MSEC / JOBS;
			apply(u, RECORD_STEP_STOP, id, 0);
			apply(u, RECORD_STEP_STOP, id, RECORD_STEP_EXTERN);
		}
		uint64_t t1 = cpu_ns(), w1 = clock_read_ns(CLOCK_MONOTONIC);
		now += NSEC_PER_SEC;
		reports += tell(r, w);
		reports_ns += cpu_ns() - t1;
		wall_ns += clock_read_ns(CLOCK_MONOTONIC) - w1;
		records_ns += t1 - t0;
		units_expire(u, now, &at_once);
	}
	if (reports != 2ull * ROUNDS * JOBS || units_left_untold(u))
		die("not every job was told of");
	result("short_job_records_cpu", (double)records_ns / 1000 / (ROUNDS * JOBS),
	       "us");
	result("short_job_reports_cpu", (double)reports_ns / 1000 / (ROUNDS * JOBS),
	       "us");
	result("short_job_reports_with_sync", (double)wall_ns / 1000 / (ROUNDS * JOBS),
	       "us");
}

static void running_jobs(struct units *u, struct reporter *r, struct spool_writer *w)
{
	for (uint32_t j = 0; j < RUNNING; j++)
		apply(u, RECORD_STEP_START, 1000000 + j, RECORD_STEP_EXTERN);
	(void)tell(r, w);
	uint64_t t0 = cpu_ns();
	for (uint32_t k = 0; k < IDLE_ROUNDS; k++) {
		now += NSEC_PER_MSEC; /* no window ends */
		if (tell(r, w))
			die("something was told of jobs that just run");
	}
	result("running_500_jobs_per_round_cpu",
	       (double)(cpu_ns() - t0) / 1000 / IDLE_ROUNDS, "us");
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int main(void)
{
	char dir[] = "/var/tmp/ceems-bench-reports.XXXXXX", spool[64];
	struct reporter *r = NULL;
	struct spool_writer *w = NULL;
	struct units *u = NULL;
	bool made_new;
	struct err err;

	if (!mkdtemp(dir))
		die("no scratch folder");
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(spool, sizeof(spool), "%s/spool", dir);
	if (units_open(dirfd, 4096, &u, &made_new, &err) < 0 ||
	    spool_writer_open(spool, NULL, &w, &err) < 0)
		die(err.text);
	const struct reporter_params p = {
		.units = u,
		.who = {.cluster = "c", .hostname = "n1", .boot_id = "boot"},
		.interval_ns = 300 * NSEC_PER_SEC,
	};
	if (reporter_new(&p, now, &r, &err) < 0)
		die(err.text);
	short_jobs(u, r, w);
	running_jobs(u, r, w);
	reporter_free(r);
	spool_writer_close(w);
	units_close(u);
	close(dirfd);
	return nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS) != 0;
}
