/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends connections that are slow on purpose or by accident, or whose client went
 * unseen. The thread sleeps while there are none; a connection over its time is shut
 * down, not closed: the HTTP library owns the descriptor and sees an end of file. */
#include "lib/http/web_conn.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clock.h"

#define LOOK_AT 256

struct web_conn {
	struct web_conn *prev, *next;
	int fd;
	uint64_t deadline_ns;
	uint64_t rests_ns; /* since when it owes a request; 0: one is under way */
	bool over;
	void *data;
	struct auth_known known;
};

struct web_conns {
	pthread_mutex_t mutex;
	pthread_cond_t change;
	pthread_t thread;
	bool stopping;
	uint64_t look_ns;     /* between two looks for clients that went */
	uint64_t wake_ns;     /* when the thread looks again by itself */
	struct web_conn list; /* its head */
};

static uint64_t now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static void end(struct web_conn *k)
{
	shutdown(k->fd, SHUT_RDWR);
	k->over = true;
}

static void end_gone(struct pollfd *fds, struct web_conn **conns, nfds_t n)
{
	if (poll(fds, n, 0) <= 0)
		return;
	for (nfds_t i = 0; i < n; i++) {
		if (fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR))
			end(conns[i]);
	}
}

/* The library (0.9.75) asks its kernel for changes alone, and reads what came once: an
 * end that came together with the last request is not heard of again, and the
 * connection would rest for its whole time. Whoever closed his side and has rested for
 * a while sends no more. */
static void sweep_gone(struct web_conns *c, uint64_t now)
{
	struct pollfd fds[LOOK_AT];
	struct web_conn *conns[LOOK_AT];
	nfds_t n = 0;

	for (struct web_conn *k = c->list.next; k != &c->list; k = k->next) {
		if (k->over || !k->rests_ns || now - k->rests_ns < c->look_ns)
			continue;
		conns[n] = k;
		fds[n++] = (struct pollfd){.fd = k->fd, .events = POLLRDHUP};
		if (n == LOOK_AT) {
			end_gone(fds, conns, n);
			n = 0;
		}
	}
	if (n)
		end_gone(fds, conns, n);
}

/* Shuts down what is over; returns when to look again, UINT64_MAX: there is nothing to
 * look at. */
static uint64_t sweep(struct web_conns *c)
{
	uint64_t now = now_ns(), next = UINT64_MAX;

	sweep_gone(c, now);
	for (struct web_conn *k = c->list.next; k != &c->list; k = k->next) {
		if (k->over)
			continue;
		if (k->deadline_ns <= now) {
			end(k);
			continue;
		}
		if (k->deadline_ns < next)
			next = k->deadline_ns;
		if (now + c->look_ns < next)
			next = now + c->look_ns;
	}
	return next;
}

static void *conns_thread(void *arg)
{
	struct web_conns *c = arg;

	pthread_mutex_lock(&c->mutex);
	while (!c->stopping) {
		uint64_t next = c->wake_ns = sweep(c);
		if (next == UINT64_MAX) {
			pthread_cond_wait(&c->change, &c->mutex);
			continue;
		}
		struct timespec ts = {.tv_sec = (time_t)(next / NSEC_PER_SEC),
				      .tv_nsec = (long)(next % NSEC_PER_SEC)};
		pthread_cond_timedwait(&c->change, &c->mutex, &ts);
	}
	pthread_mutex_unlock(&c->mutex);
	return NULL;
}

int web_conns_new(uint64_t look_ms, struct web_conns **ret, struct err *err)
{
	struct web_conns *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (!c)
		return err_set(err, -ENOMEM, "web: out of memory");
	c->list.next = c->list.prev = &c->list;
	c->look_ns = look_ms * NSEC_PER_MSEC;
	c->wake_ns = UINT64_MAX;
	pthread_mutex_init(&c->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->change, &attr);
	pthread_condattr_destroy(&attr);
	int rc = -pthread_create(&c->thread, NULL, conns_thread, c);
	if (rc < 0) {
		pthread_cond_destroy(&c->change);
		pthread_mutex_destroy(&c->mutex);
		free(c);
		return err_set(err, rc, "web: start thread: %s", strerror(-rc));
	}
	*ret = c;
	return 0;
}

void web_conns_free(struct web_conns *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->mutex);
	c->stopping = true;
	pthread_cond_signal(&c->change);
	pthread_mutex_unlock(&c->mutex);
	pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->change);
	pthread_mutex_destroy(&c->mutex);
	free(c);
}

/* With the mutex. The thread is woken only for a deadline before the one that it sleeps
 * for. */
static void set_deadline(struct web_conns *c, struct web_conn *k, uint64_t ms)
{
	k->deadline_ns = now_ns() + ms * NSEC_PER_MSEC;
	if (k->deadline_ns < c->wake_ns)
		pthread_cond_signal(&c->change);
}

struct web_conn *web_conn_add(struct web_conns *c, int fd, uint64_t ms, void *data)
{
	struct web_conn *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->fd = fd;
	k->data = data;
	pthread_mutex_lock(&c->mutex);
	k->next = &c->list;
	k->prev = c->list.prev;
	k->prev->next = k;
	c->list.prev = k;
	set_deadline(c, k, ms);
	pthread_mutex_unlock(&c->mutex);
	return k;
}

void web_conn_deadline(struct web_conns *c, struct web_conn *k, uint64_t ms)
{
	pthread_mutex_lock(&c->mutex);
	k->rests_ns = 0;
	set_deadline(c, k, ms);
	pthread_mutex_unlock(&c->mutex);
}

void web_conn_rest(struct web_conns *c, struct web_conn *k, uint64_t ms)
{
	pthread_mutex_lock(&c->mutex);
	set_deadline(c, k, ms);
	k->rests_ns = k->deadline_ns - ms * NSEC_PER_MSEC;
	pthread_mutex_unlock(&c->mutex);
}

void *web_conn_data(const struct web_conn *k)
{
	return k->data;
}

struct auth_known *web_conn_known(struct web_conn *k)
{
	return &k->known;
}

void web_conn_remove(struct web_conns *c, struct web_conn *k)
{
	pthread_mutex_lock(&c->mutex);
	k->prev->next = k->next;
	k->next->prev = k->prev;
	pthread_mutex_unlock(&c->mutex);
	free(k);
}
