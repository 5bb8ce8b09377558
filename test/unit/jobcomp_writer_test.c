/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobcomp/queue.h"
#include "jobcomp/writer.h"
#include "lib/clock.h"
#include "lib/records/job.h"
#include "lib/records/spool.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

static char folder[256];
static unsigned errors, infos;
static char last_error[1024];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void on_error(const char *text)
{
	pthread_mutex_lock(&lock);
	errors++;
	snprintf(last_error, sizeof(last_error), "%s", text);
	pthread_mutex_unlock(&lock);
}

static void on_info(const char *text)
{
	(void)text;
	pthread_mutex_lock(&lock);
	infos++;
	pthread_mutex_unlock(&lock);
}

static struct writer *start(const struct writer_options *o)
{
	static const struct writer_log log = {.error = on_error, .info = on_info};
	struct writer *w = NULL;
	struct err err = {""};

	assert_int_equal(writer_start(o, &log, &w, &err), 0);
	return w;
}

static struct writer *start_default(void)
{
	const struct writer_options o = {.spool = folder, .max_bytes = 64u << 20};

	return start(&o);
}

static int put_event(struct writer *w, uint32_t job_id, enum job_event event,
		     uint32_t flags)
{
	unsigned char record[1024];
	struct job j;

	job_init(&j);
	j.event = event;
	j.job_id = job_id;
	j.recorded_ns = j.submit_s = 1;
	j.cluster = "c";
	int len = job_encode(&j, record, sizeof(record));
	assert_true(len > 0);
	return writer_put(w, record, (size_t)len, 0, 0, flags);
}

static int put_end(struct writer *w, uint32_t job_id)
{
	return put_event(w, job_id, JOB_EVENT_ENDED, 0);
}

/* Waits for a figure of the writer; the most it may take is a machine that is stuck. */
static void wait_durable(struct writer *w, uint64_t n)
{
	struct writer_stats s = {0};

	for (int i = 0; i < 12000; i++) {
		writer_stats(w, &s);
		if (s.durable >= n)
			return;
		usleep(5000);
	}
	assert_int_equal(s.durable, n);
}

static void wait_errors(unsigned n)
{
	for (int i = 0; i < 12000; i++) {
		pthread_mutex_lock(&lock);
		unsigned have = errors;
		pthread_mutex_unlock(&lock);
		if (have >= n)
			return;
		usleep(5000);
	}
	fail();
}

static bool last_error_says(const char *text)
{
	pthread_mutex_lock(&lock);
	bool ret = strstr(last_error, text) != NULL;
	pthread_mutex_unlock(&lock);
	return ret;
}

/* Job ids in the spool from first on, in order; returns how many. */
static uint32_t spooled(uint32_t first)
{
	struct spool_reader *r;
	struct spool_record rec;
	struct err err = {""};
	uint32_t n = 0;

	assert_int_equal(spool_reader_open(folder, &r, &err), 0);
	while (spool_next(r, &rec, &err) == 1) {
		struct job j;
		assert_int_equal(rec.cls, SPOOL_JOB);
		assert_int_equal(job_decode(rec.data, rec.len, &j, &err), 0);
		assert_int_equal(j.job_id, first + n);
		assert_string_equal(j.user, "root");
		assert_string_equal(j.group, "root");
		job_done(&j);
		n++;
	}
	spool_reader_close(r);
	return n;
}

static uint64_t lost(void)
{
	struct spool_stats s;
	struct err err;

	assert_int_equal(spool_stats(folder, &s, &err), 0);
	return s.lost[SPOOL_JOB];
}

static void records_are_durable_in_their_order_with_names(void **state)
{
	struct writer *w = start_default();

	(void)state;
	for (uint32_t i = 0; i < 2000; i++)
		assert_int_equal(put_end(w, 100 + i), 0);
	wait_durable(w, 2000);
	assert_int_equal(spooled(100), 2000);
	assert_true(writer_stop(w, 60000));
	assert_int_equal(lost(), 0);
	assert_int_equal(errors, 0);
}

static void a_lone_record_is_in_the_file_before_the_sync(void **state)
{
	const struct writer_options o = {
		.spool = folder, .max_bytes = 64u << 20, .sync_after_ms = 3600000};
	struct writer *w = start(&o);
	uint32_t n = 0;

	(void)state;
	assert_int_equal(put_end(w, 1), 0);
	/* a kill of the process now costs nothing */
	for (int i = 0; i < 12000 && n != 1; i++) {
		usleep(5000);
		n = access(folder, F_OK) == 0 ? spooled(1) : 0;
	}
	assert_int_equal(n, 1);
	assert_true(writer_stop(w, 60000));
	assert_int_equal(spooled(1), 1);
}

static void stop_writes_what_is_queued(void **state)
{
	struct writer *w = start_default();

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(put_end(w, 1 + i), 0);
	assert_true(writer_stop(w, 30000));
	assert_int_equal(spooled(1), 5000);
	assert_true(writer_stop(NULL, 0));
}

static void the_lock_of_another_is_waited_for_in_silence(void **state)
{
	struct spool_writer *other;
	struct err err = {""};

	(void)state;
	assert_int_equal(spool_writer_open(folder, NULL, &other, &err), 0);
	struct writer *w = start_default();
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(put_end(w, 1 + i), 0);
	usleep(300000);
	struct writer_stats s;
	writer_stats(w, &s);
	assert_int_equal(s.durable, 0);
	assert_int_equal(s.queued, 50);
	spool_writer_close(other);
	wait_durable(w, 50);
	assert_true(writer_stop(w, 60000));
	assert_int_equal(spooled(1), 50);
	assert_int_equal(errors, 0);
}

static void a_folder_of_the_wrong_mode_costs_nothing_once_it_is_right(void **state)
{
	(void)state;
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	struct writer *w = start_default();
	wait_errors(1);
	assert_true(last_error_says("0755"));
	assert_int_equal(put_end(w, 1), 0);
	assert_int_equal(chmod(folder, 0700), 0);
	wait_durable(w, 1);
	assert_true(writer_stop(w, 60000));
	assert_int_equal(spooled(1), 1);
	assert_int_equal(errors, 1); /* said once */
	assert_int_equal(infos, 1);  /* and when it was over */
}

static void what_the_queue_has_no_room_for_is_counted(void **state)
{
	const struct writer_options o = {
		.spool = folder, .max_bytes = 64u << 20, .queue_count = 10};
	struct writer_stats s;

	(void)state;
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	struct writer *w = start(&o);
	wait_errors(1);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(put_end(w, 1 + i), 0);
	assert_int_equal(put_end(w, 11), -ENOBUFS);
	assert_int_equal(put_end(w, 12), -ENOBUFS);
	writer_count_lost(w);
	writer_stats(w, &s);
	assert_int_equal(s.lost, 3);
	wait_errors(2);
	assert_true(last_error_says("completion records of jobs are lost so far"));
	assert_int_equal(chmod(folder, 0700), 0);
	wait_durable(w, 10);
	assert_true(writer_stop(w, 60000));
	assert_int_equal(spooled(1), 10);
	assert_int_equal(lost(), 3); /* where operators look for it */
}

static void the_queue_is_bounded_in_bytes(void **state)
{
	const struct writer_options o = {
		.spool = folder, .max_bytes = 64u << 20, .queue_bytes = 4096};
	unsigned n = 0;

	(void)state;
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	struct writer *w = start(&o);
	while (n < 100 && put_end(w, 1 + n) == 0)
		n++;
	assert_in_range(n, 2, 20);
	/* ends in bounded time, and says what it costs */
	uint64_t from = clock_boottime_ns();
	assert_true(writer_stop(w, 200));
	assert_true(clock_boottime_ns() - from < 60 * NSEC_PER_SEC);
	assert_true(last_error_says("slurmctld is stopping"));
}

static void a_full_spool_keeps_what_fits_in_memory(void **state)
{
	const struct writer_options o = {.spool = folder, .max_bytes = 32768};
	struct spool_record rec = {0};
	struct spool_reader *r;
	struct err err = {""};
	uint32_t n = 0;

	(void)state;
	struct writer *w = start(&o);
	for (uint32_t i = 0; i < 400; i++)
		assert_int_equal(put_end(w, 1 + i), 0);
	wait_errors(1);
	assert_true(last_error_says("full"));
	/* told records make room, and none is missing at the end */
	assert_int_equal(spool_reader_open(folder, &r, &err), 0);
	for (int i = 0; i < 4000 && n < 400; i++) {
		int rc = spool_next(r, &rec, &err);
		assert_true(rc >= 0);
		if (rc == 0) {
			usleep(10000);
			continue;
		}
		struct job j;
		assert_int_equal(job_decode(rec.data, rec.len, &j, &err), 0);
		assert_int_equal(j.job_id, 1 + n++);
		job_done(&j);
		assert_int_equal(spool_ack(r, rec.seq, &err), 0);
	}
	spool_reader_close(r);
	assert_int_equal(n, 400);
	assert_true(writer_stop(w, 60000));
	assert_int_equal(lost(), 0);
}

static void a_spool_without_room_gives_up_starts_and_no_end(void **state)
{
	const struct writer_options o = {.spool = folder, .max_bytes = 32768};
	struct spool_stats st = {0};
	struct spool_record rec = {0};
	struct spool_reader *r;
	struct err err = {""};
	uint32_t n[JOB_EVENTS] = {0};

	(void)state;
	struct writer *w = start(&o);
	for (uint32_t i = 0; i < 2000; i++)
		assert_int_equal(put_event(w, 1 + i, JOB_EVENT_STARTED, QUEUE_START),
				 0);
	wait_durable(w, 2000);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(put_end(w, 1 + i), 0);
	wait_durable(w, 2100);
	assert_true(writer_stop(w, 60000));
	assert_int_equal(errors, 0);
	assert_int_equal(spool_reader_open(folder, &r, &err), 0);
	while (spool_next(r, &rec, &err) == 1) {
		struct job j;
		assert_int_equal(job_decode(rec.data, rec.len, &j, &err), 0);
		n[j.event]++;
		job_done(&j);
	}
	spool_reader_close(r);
	assert_int_equal(n[JOB_EVENT_ENDED], 100);
	assert_int_equal(spool_stats(folder, &st, &err), 0);
	assert_int_equal(st.lost[SPOOL_JOB], 0);
	assert_true(st.lost[SPOOL_INTERVAL] > 0);
	assert_int_equal(n[JOB_EVENT_STARTED] + st.lost[SPOOL_INTERVAL], 2000);
}

static void a_folder_that_was_removed_is_made_again(void **state)
{
	(void)state;
	struct writer *w = start_default();
	assert_int_equal(put_end(w, 1), 0);
	wait_durable(w, 1);
	scratch_remove(folder);
	assert_int_equal(put_end(w, 2), 0);
	wait_durable(w, 2);
	assert_int_equal(spooled(2), 1);
	assert_true(writer_stop(w, 60000));
	assert_true(last_error_says("removed or replaced"));
}

struct putter {
	struct writer *w;
	unsigned bad;
};

static void *put_many(void *arg)
{
	struct putter *p = arg;

	for (uint32_t i = 0; i < 12000; i++)
		p->bad += put_end(p->w, 7) != 0;
	return NULL;
}

static void several_threads_may_put(void **state)
{
	struct writer *w = start_default();
	struct putter p[4] = {{w, 0}, {w, 0}, {w, 0}, {w, 0}};
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_many, &p[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(p[i].bad, 0);
	}
	wait_durable(w, 8000);
	assert_true(writer_stop(w, 60000));
}

static char base[SCRATCH_PATH];

static int set_up(void **state)
{
	(void)state;
	scratch_make(base);
	snprintf(folder, sizeof(folder), "%s/spool", base);
	errors = infos = 0;
	last_error[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	scratch_remove(base);
	return 0;
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(records_are_durable_in_their_order_with_names),
		T(a_lone_record_is_in_the_file_before_the_sync),
		T(stop_writes_what_is_queued),
		T(the_lock_of_another_is_waited_for_in_silence),
		T(a_folder_of_the_wrong_mode_costs_nothing_once_it_is_right),
		T(what_the_queue_has_no_room_for_is_counted),
		T(the_queue_is_bounded_in_bytes),
		T(a_full_spool_keeps_what_fits_in_memory),
		T(a_spool_without_room_gives_up_starts_and_no_end),
		T(a_folder_that_was_removed_is_made_again),
		T(several_threads_may_put),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
