/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bounded list of encoded claims, and the one thread that writes them. */
#include "contrib/k8s/admission/claims.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/records/spool.h"

#define RETRY_S 2

struct claim_item {
	struct claim_item *next;
	size_t len;
	unsigned char data[];
};

struct claims {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct claim_item *head, **tail;
	uint32_t count;
	bool stop;
	uint64_t written, lost;
	/* the thread's alone */
	char *folder;
	struct spool_limits limits;
	struct spool_writer *spool;
	struct log_repeat failing;
};

/* Everything that is queued; waits for it. NULL: the end. */
static struct claim_item *take_claims(struct claims *c)
{
	pthread_mutex_lock(&c->lock);
	while (!c->head && !c->stop)
		pthread_cond_wait(&c->changed, &c->lock);
	struct claim_item *all = c->head;
	c->head = NULL;
	c->tail = &c->head;
	pthread_mutex_unlock(&c->lock);
	return all;
}

static void count_claims(struct claims *c, uint64_t written, uint64_t lost)
{
	pthread_mutex_lock(&c->lock);
	c->written += written;
	c->lost += lost;
	c->count -= (uint32_t)(written + lost);
	pthread_mutex_unlock(&c->lock);
}

/* Sleeps for a while; false: it is the end. */
static bool pause_claims(struct claims *c)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec += RETRY_S;
	pthread_mutex_lock(&c->lock);
	while (!c->stop &&
	       pthread_cond_timedwait(&c->changed, &c->lock, &at) != ETIMEDOUT)
		;
	bool stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return !stop;
}

/* Opens the spool, for as long as that takes. */
static bool open_claims_spool(struct claims *c)
{
	struct err err = {""};

	while (!c->spool &&
	       spool_writer_open(c->folder, &c->limits, &c->spool, &err) < 0) {
		if (log_repeat_due(&c->failing, clock_boottime_ns()))
			log_warn("claims: %s: who creates pods is not told to the "
				 "aggregator for now",
				 err.text);
		if (!pause_claims(c))
			return false;
	}
	if (log_repeat_over(&c->failing))
		log_info("claims: the spool %s can be written again", c->folder);
	return true;
}

static void write_claims(struct claims *c, struct claim_item *all)
{
	uint64_t written = 0, lost = 0;
	struct err err = {""};

	while (all) {
		struct claim_item *next = all->next;
		int rc = c->spool ? spool_append(c->spool, SPOOL_FINAL, all->data,
						 all->len, NULL, &err)
				  : -ENODEV;
		written += rc == 0;
		lost += rc != 0;
		free(all);
		all = next;
	}
	int rc = written ? spool_sync(c->spool, &err) : 0;
	if (c->spool && (lost || rc < 0)) {
		if (log_repeat_due(&c->failing, clock_boottime_ns()))
			log_warn("claims: %s: some are lost, their pods will be their "
				 "namespaces'",
				 err.text);
	} else if (c->spool && log_repeat_over(&c->failing)) {
		log_info("claims: the spool %s can be written again", c->folder);
	}
	count_claims(c, written, lost);
}

static void *run_claims(void *arg)
{
	struct claims *c = arg;

	(void)open_claims_spool(c);
	for (;;) {
		struct claim_item *all = take_claims(c);
		if (!all)
			return NULL;
		write_claims(c, all);
	}
}

int claims_new(const char *spool, uint64_t max_bytes, struct claims **ret,
	       struct err *err)
{
	struct claims *c = calloc(1, sizeof(*c));
	sigset_t all, old;

	if (!c || !(c->folder = strdup(spool))) {
		free(c);
		return err_set(err, -ENOMEM, "out of memory");
	}
	c->tail = &c->head;
	c->limits.max_bytes = max_bytes;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&c->thread, NULL, run_claims, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		free(c->folder);
		free(c);
		return err_set(err, -rc, "claims: cannot start a thread");
	}
	*ret = c;
	return 0;
}

void claims_put(struct claims *c, const struct claim *claim)
{
	unsigned char wire[CLAIM_BYTES_MAX];
	int n = claim_encode(claim, wire, sizeof(wire));
	struct claim_item *item = n > 0 ? malloc(sizeof(*item) + (size_t)n) : NULL;

	if (item) {
		item->next = NULL;
		item->len = (size_t)n;
		memcpy(item->data, wire, (size_t)n);
	}
	pthread_mutex_lock(&c->lock);
	if (item && c->count < CLAIMS_QUEUE_MAX) {
		*c->tail = item;
		c->tail = &item->next;
		c->count++;
		item = NULL;
		pthread_cond_signal(&c->changed);
	} else {
		c->lost++;
	}
	pthread_mutex_unlock(&c->lock);
	free(item);
}

void claims_read_stats(struct claims *c, struct claims_stats *ret)
{
	pthread_mutex_lock(&c->lock);
	*ret = (struct claims_stats){c->written, c->lost, c->count};
	pthread_mutex_unlock(&c->lock);
}

void claims_free(struct claims *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	spool_writer_close(c->spool);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	free(c->folder);
	free(c);
}
