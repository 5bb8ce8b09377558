/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends connections that are slow, deliberately or not, or whose client left unnoticed.
 * The thread sleeps while there are none. An overdue connection is shut down, not
 * closed: the HTTP library owns the descriptor and sees an end of file. */
#include "lib/http/web_conn.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clock.h"
#include "lib/wait.h"

#define LOOK_AT 256

struct web_conn {
	struct web_conn *prev, *next;
	int fd;
	uint64_t deadline_ns;
	uint64_t rests_ns; /* since when it has been idle; 0: a request is running */
	bool over, asked;  /* asked: it has sent a request */
	void *data;
	struct auth_known known;
	uint64_t who; /* proved last */
	/* while busy for a proved user, its place in the order may be that of an
	 * earlier user, until it is idle: a front end's connections serve another user
	 * with each request */
	struct web_order_item item;
};

struct web_conns {
	pthread_mutex_t mutex;
	pthread_cond_t change;
	pthread_t thread;
	bool stopping;
	uint64_t look_ns;     /* interval of checks for clients that left */
	uint64_t wake_ns;     /* when the thread wakes by itself */
	struct web_conn list; /* its head */
	size_t most;          /* limit per place */
	size_t strangers_most;
	struct web_order order;
	uint64_t ended, refused;
};

static uint64_t now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* Of the last tick, which is precise enough for seconds and costs a third. */
static uint64_t tick_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC_COARSE);
}

static void end_conn(struct web_conns *c, struct web_conn *k)
{
	shutdown(k->fd, SHUT_RDWR);
	k->over = true;
	web_order_remove(&c->order, &k->item);
}

static void end_gone(struct web_conns *c, struct pollfd *fds, struct web_conn **conns,
		     nfds_t n)
{
	if (poll(fds, n, 0) <= 0)
		return;
	for (nfds_t i = 0; i < n; i++) {
		if (fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR))
			end_conn(c, conns[i]);
	}
}

/* The library (0.9.75) polls edge-triggered and reads once: if the end of file came
 * together with the last request it is not reported again, and the connection would
 * stay idle for its whole time. A client that has closed its side and been idle for a
 * while sends no more. */
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
			end_gone(c, fds, conns, n);
			n = 0;
		}
	}
	if (n)
		end_gone(c, fds, conns, n);
}

/* Shuts down overdue connections; returns when to check again, UINT64_MAX: there are
 * none. */
static uint64_t sweep_connections(struct web_conns *c)
{
	uint64_t now = now_ns(), next = UINT64_MAX;

	sweep_gone(c, now);
	for (struct web_conn *k = c->list.next; k != &c->list; k = k->next) {
		if (k->over)
			continue;
		if (k->deadline_ns <= now) {
			end_conn(c, k);
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
		uint64_t next = c->wake_ns = sweep_connections(c);
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

int web_conns_new(uint64_t look_ms, size_t most, bool reserve, struct web_conns **ret,
		  struct err *err)
{
	struct web_conns *c = calloc(1, sizeof(*c));
	uint64_t hash_key[2] = {0};

	if (!c)
		return err_set(err, -ENOMEM, "web: out of memory");
	(void)gnutls_rnd(GNUTLS_RND_NONCE, hash_key, sizeof(hash_key));
	web_order_init(&c->order, hash_key);
	c->most = most;
	c->strangers_most = reserve ? most - most / 4 : most;
	c->list.next = c->list.prev = &c->list;
	c->look_ns = look_ms * NSEC_PER_MSEC;
	c->wake_ns = UINT64_MAX;
	pthread_mutex_init(&c->mutex, NULL);
	wait_cond_init(&c->change);
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
	web_order_done(&c->order);
	free(c);
}

/* Mutex held. Wakes the thread only for a deadline earlier than the one it sleeps
 * for. */
static void set_deadline(struct web_conns *c, struct web_conn *k, uint64_t now,
			 uint64_t ms)
{
	k->deadline_ns = now + ms * NSEC_PER_MSEC;
	if (k->deadline_ns < c->wake_ns)
		pthread_cond_signal(&c->change);
}

/* To one that never had a request nothing is on its way: a reset costs the kernel a
 * sixth less than an orderly end, and leaves nothing in TIME_WAIT of a flood of them.
 */
static void reset_unasked(const struct web_conn *k)
{
	const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

	if (!k->asked)
		(void)connect(k->fd, &nobody, sizeof(nobody));
}

/* False: none may be closed. */
static bool end_for_another(struct web_conns *c, const struct web_choice *among,
			    const struct web_conn *stays)
{
	struct web_order_item *i = web_order_find(&c->order, among, tick_ns());

	if (!i || (stays && i == &stays->item))
		return false;
	struct web_conn *k = (void *)((char *)i - offsetof(struct web_conn, item));
	reset_unasked(k);
	end_conn(c, k);
	c->ended++;
	return true;
}

/* A client without proof gets at most three quarters of a place. With a reserve for
 * front ends, that is the limit of all strangers, and each of them gets half. */
static size_t most_of_client(const struct web_conns *c, const struct web_conn_from *f)
{
	if (c->strangers_most == c->most || f->front_end)
		return c->most - c->most / 4;
	return c->most - c->most / 2;
}

static bool make_connection_room(struct web_conns *c, const struct web_conn_from *f)
{
	const struct web_place *place = &c->order.places[f->place];
	struct web_choice among = {.place = f->place};

	if (web_order_of_client(&c->order, f) >= most_of_client(c, f))
		among.client = &f->client;
	else if (!f->front_end && place->strangers >= c->strangers_most)
		among.strangers = true;
	else if (place->count < c->most)
		return true;
	return end_for_another(c, &among, NULL);
}

bool web_conns_admit(struct web_conns *c, const struct web_conn_from *from)
{
	pthread_mutex_lock(&c->mutex);
	bool good = make_connection_room(c, from);
	c->refused += !good;
	pthread_mutex_unlock(&c->mutex);
	return good;
}

void web_conns_counts(struct web_conns *c, uint64_t *ret_ended, uint64_t *ret_refused)
{
	pthread_mutex_lock(&c->mutex);
	*ret_ended = c->ended;
	*ret_refused = c->refused;
	pthread_mutex_unlock(&c->mutex);
}

struct web_conn *web_conn_add(struct web_conns *c, int fd, uint64_t ms, void *data,
			      const struct web_conn_from *from)
{
	struct web_conn *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->fd = fd;
	k->data = data;
	k->item.from = *from;
	pthread_mutex_lock(&c->mutex);
	k->next = &c->list;
	k->prev = c->list.prev;
	k->prev->next = k;
	c->list.prev = k;
	uint64_t now = tick_ns();
	web_order_add(&c->order, &k->item, now);
	set_deadline(c, k, now, ms);
	pthread_mutex_unlock(&c->mutex);
	return k;
}

void web_conn_deadline(struct web_conns *c, struct web_conn *k, uint64_t ms)
{
	pthread_mutex_lock(&c->mutex);
	k->rests_ns = 0;
	set_deadline(c, k, tick_ns(), ms);
	pthread_mutex_unlock(&c->mutex);
}

void web_conn_begin(struct web_conns *c, struct web_conn *k, uint64_t ms)
{
	pthread_mutex_lock(&c->mutex);
	uint64_t now = tick_ns();
	k->rests_ns = 0;
	k->asked = true;
	set_deadline(c, k, now, ms);
	web_order_set_busy(&c->order, &k->item, true, now);
	pthread_mutex_unlock(&c->mutex);
}

/* Mutex held. Moves it in the order to its proved user. */
static void settle_who(struct web_conns *c, struct web_conn *k)
{
	const struct web_choice among = {.place = k->item.from.place, .who = &k->who};

	if (k->item.who == k->who)
		return;
	web_order_set_who(&c->order, &k->item, k->who);
	if (k->who &&
	    web_order_of_who(&c->order, among.place, k->who) > c->most - c->most / 4)
		(void)end_for_another(c, &among, k);
}

void web_conn_refused(struct web_conns *c, struct web_conn *k)
{
	pthread_mutex_lock(&c->mutex);
	settle_who(c, k);
	web_order_set_busy(&c->order, &k->item, false, tick_ns());
	pthread_mutex_unlock(&c->mutex);
}

void web_conn_prove(struct web_conns *c, struct web_conn *k, uint64_t who)
{
	k->who = who;
	/* nobody else changes these two */
	if (k->item.who == who || (who && k->item.who && k->item.busy))
		return;
	pthread_mutex_lock(&c->mutex);
	settle_who(c, k);
	pthread_mutex_unlock(&c->mutex);
}

uint64_t web_conn_who(const struct web_conn *k)
{
	return k->who;
}

const struct web_conn_from *web_conn_from(const struct web_conn *k)
{
	return &k->item.from;
}

void web_conn_rest(struct web_conns *c, struct web_conn *k, uint64_t ms)
{
	pthread_mutex_lock(&c->mutex);
	uint64_t now = tick_ns();
	set_deadline(c, k, now, ms);
	k->rests_ns = now;
	settle_who(c, k);
	web_order_set_busy(&c->order, &k->item, false, now);
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
	k->over = true;
	web_order_remove(&c->order, &k->item);
	k->prev->next = k->next;
	k->next->prev = k->prev;
	pthread_mutex_unlock(&c->mutex);
	free(k);
}
