/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rdma/rdma_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/periodic.h"
#include "lib/wait.h"

#define STACK_BYTES ((size_t)512 << 10)
#define BUSY_SHARE 10u     /* rests so many times as long as it worked */
#define FIRST_WAIT_MS 200u /* of a scrape, once */
#define STALE_MS 60000u
#define END_MS 10000u

struct rdma_reader {
	const struct env *env;
	struct periodic periodic;
	bool started;
	struct log_repeat failing, full; /* of the thread */
	uint64_t left_out_said;
	pthread_mutex_t mutex; /* protects last and counts */
	pthread_cond_t first;
	struct rdma_sample *last;
	struct rdma_counts counts;
};

int rdma_reader_new(const struct env *env, struct rdma_reader **ret, struct err *err)
{
	struct rdma_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->env = env;
	periodic_init(&r->periodic);
	pthread_mutex_init(&r->mutex, NULL);
	wait_cond_init(&r->first);
	*ret = r;
	return 0;
}

void rdma_reader_free(struct rdma_reader *r)
{
	if (!r || periodic_done_within(&r->periodic, END_MS) < 0)
		return; /* the thread still uses r */
	pthread_cond_destroy(&r->first);
	pthread_mutex_destroy(&r->mutex);
	rdma_sample_free(r->last);
	rdma_counts_done(&r->counts);
	free(r);
}

static void say_partial(struct rdma_reader *r, const struct err *why)
{
	if (why->text[0] && log_repeat_due(&r->failing, r->env->boottime_ns()))
		log_warn("rdma: %s: not shown until it can be read", why->text);
	else if (!why->text[0] && log_repeat_over(&r->failing))
		log_info("rdma: all can be read again");
}

static void say_left_out(struct rdma_reader *r, uint64_t left_out)
{
	if (left_out == r->left_out_said ||
	    !log_repeat_due(&r->full, r->env->boottime_ns()))
		return;
	r->left_out_said = left_out;
	log_warn("rdma: there are more than %u counters of queue pairs: those of some "
		 "processes are not added up",
		 RDMA_COUNTS_MAX);
}

static uint64_t sample_once(void *arg)
{
	struct rdma_reader *r = arg;
	uint64_t begun_ns = clock_read_ns(CLOCK_MONOTONIC);
	struct rdma_sample *s = NULL;
	struct err err = {""};
	int rc = rdma_sample_take(r->env, &r->periodic.stopping, &s, &err);

	if (rc == -ECANCELED)
		return PERIODIC_END;
	/* the class goes with its module: nobody holds anything then */
	if (rc == -ENODEV) {
		err.text[0] = '\0';
		s = calloc(1, sizeof(*s));
		if (s)
			s->begun_ns = s->ended_ns = r->env->boottime_ns();
	}
	say_partial(r, s ? &s->partial : &err);
	pthread_mutex_lock(&r->mutex);
	struct rdma_sample *old = s ? r->last : NULL;
	if (s) {
		r->last = s;
		rdma_counts_update(&r->counts, s);
	}
	uint64_t left_out = r->counts.left_out;
	pthread_cond_broadcast(&r->first);
	pthread_mutex_unlock(&r->mutex);
	rdma_sample_free(old);
	say_left_out(r, left_out);
	uint64_t took_ms = (clock_read_ns(CLOCK_MONOTONIC) - begun_ns) / NSEC_PER_MSEC;
	return took_ms * BUSY_SHARE > RDMA_PERIOD_MS ? took_ms * BUSY_SHARE
						     : RDMA_PERIOD_MS;
}

static int start_reader(struct rdma_reader *r, struct err *err)
{
	if (r->started)
		return 0;
	int rc = periodic_start(&r->periodic, STACK_BYTES, sample_once, NULL, r);
	if (rc < 0)
		return err_set(err, rc, "no thread");
	r->started = true;
	const struct timespec until = wait_in(FIRST_WAIT_MS);
	pthread_mutex_lock(&r->mutex);
	while (!r->last && pthread_cond_timedwait(&r->first, &r->mutex, &until) == 0)
		;
	pthread_mutex_unlock(&r->mutex);
	return 0;
}

int rdma_reader_take(struct rdma_reader *r, const struct rdma_sample **ret,
		     struct rdma_counts **ret_counts, struct err *err)
{
	int rc = start_reader(r, err);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&r->mutex);
	const struct rdma_sample *s = r->last;
	uint64_t now_ns = r->env->boottime_ns();
	if (!s) {
		rc = -EAGAIN;
	} else {
		uint64_t took_ns = s->ended_ns - s->begun_ns;
		uint64_t age_ns = now_ns > s->ended_ns ? now_ns - s->ended_ns : 0;
		if (age_ns > STALE_MS * NSEC_PER_MSEC + 3 * BUSY_SHARE * took_ns)
			rc = err_set(err, -ETIMEDOUT,
				     "the kernel has not answered for %llu s",
				     (unsigned long long)(age_ns / NSEC_PER_SEC));
	}
	if (rc < 0) {
		pthread_mutex_unlock(&r->mutex);
		return rc;
	}
	*ret = s;
	*ret_counts = &r->counts;
	return 0;
}

void rdma_reader_give(struct rdma_reader *r)
{
	pthread_mutex_unlock(&r->mutex);
}
