/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends connections that are slow on purpose or by accident, or whose client went
 * unseen. The thread sleeps while there are none; a connection over its time is shut
 * down, not closed: the HTTP library owns the descriptor and sees an end of file. */
#include "lib/http/web_conn.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clock.h"
#include "lib/http/web_budget.h"

#define LOOK_AT 256
/* A request of nobody's that takes longer than this may end for another's. */
#define BUSY_NS (5 * NSEC_PER_SEC)

struct web_conn {
	struct web_conn *prev, *next;
	int fd;
	uint64_t deadline_ns;
	uint64_t rests_ns; /* since when it owes a request; 0: one is under way */
	bool over;
	void *data;
	struct auth_known known;
	struct web_conn_from from;
	uint64_t since_ns; /* of being idle, or busy */
	uint64_t who;      /* 0: nothing is proved */
	bool busy;
	bool counted, in_unproved, in_idle, in_proved; /* it counts there */
	bool in_strangers;
};

struct web_conns {
	pthread_mutex_t mutex;
	pthread_cond_t change;
	pthread_t thread;
	bool stopping;
	uint64_t look_ns;     /* between two looks for clients that went */
	uint64_t wake_ns;     /* when the thread looks again by itself */
	struct web_conn list; /* its head */
	size_t most;          /* of each place */
	size_t strangers_most;
	size_t count[WEB_PLACES_MAX];
	size_t strangers[WEB_PLACES_MAX]; /* of them, who prove nothing */
	struct web_budget unproved;       /* by client, of each place */
	struct web_budget idle;   /* the same that ask for nothing, by network */
	struct web_budget proved; /* by who */
	uint64_t ended, refused;
};

static uint64_t now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

/* One number for a client, or whoever, at a place. */
static uint64_t at_place(const struct web_conn_from *from, uint64_t key)
{
	return key ^ (from->place * 0x9e3779b97f4a7c15);
}

static void count_in(struct web_budget *b, uint64_t key, bool want, bool *is)
{
	if (want && !*is)
		*is = web_budget_take(b, key, 1, SIZE_MAX);
	else if (!want && *is) {
		web_budget_give(b, key, 1);
		*is = false;
	}
}

static void count_one(size_t *count, bool want, bool *is)
{
	if (want != *is)
		*count += want ? 1 : (size_t)-1;
	*is = want;
}

/* With the mutex, whenever something of it has changed, and between two who's. */
static void count_conn(struct web_conns *c, struct web_conn *k)
{
	const struct web_conn_from *f = &k->from;
	bool unproved = !k->over && !k->who;

	count_one(&c->count[f->place], !k->over, &k->counted);
	count_one(&c->strangers[f->place], unproved && !f->front_end, &k->in_strangers);
	count_in(&c->unproved, at_place(f, f->client), unproved, &k->in_unproved);
	count_in(&c->idle, at_place(f, f->net), unproved && !k->busy, &k->in_idle);
	count_in(&c->proved, at_place(f, k->who), !k->over && k->who, &k->in_proved);
}

static void end_conn(struct web_conns *c, struct web_conn *k)
{
	shutdown(k->fd, SHUT_RDWR);
	k->over = true;
	count_conn(c, k);
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
			end_gone(c, fds, conns, n);
			n = 0;
		}
	}
	if (n)
		end_gone(c, fds, conns, n);
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

int web_conns_new(uint64_t look_ms, size_t most, bool reserve, struct web_conns **ret,
		  struct err *err)
{
	struct web_conns *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (!c)
		return err_set(err, -ENOMEM, "web: out of memory");
	struct web_budget *const budgets[] = {&c->unproved, &c->idle, &c->proved};
	for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++)
		(void)gnutls_rnd(GNUTLS_RND_NONCE, budgets[i]->hash_key,
				 sizeof(budgets[i]->hash_key));
	c->most = most;
	c->strangers_most = reserve ? most - most / 4 : most;
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

/* How soon it ends for another: by class, by how much of the place its like have, by
 * how long it has been so. */
struct merit {
	unsigned class;
	size_t weight;
	uint64_t since_ns;
};

/* False: it stays. */
static bool weigh_conn(const struct web_conns *c, const struct web_conn *k,
		       uint64_t now, struct merit *ret)
{
	const struct web_conn_from *f = &k->from;

	ret->since_ns = k->since_ns;
	if (!k->who && f->front_end) {
		ret->class = 1;
		ret->weight = web_budget_used(&c->unproved, at_place(f, f->client));
		return !k->busy;
	}
	if (!k->who && !k->busy) {
		ret->class = 3;
		ret->weight = web_budget_used(&c->idle, at_place(f, f->net));
	} else if (!k->who && now - k->since_ns > BUSY_NS) {
		ret->class = 2;
		ret->weight = web_budget_used(&c->unproved, at_place(f, f->client));
	} else if (k->who && !k->busy) {
		ret->class = 1;
		ret->weight = web_budget_used(&c->proved, at_place(f, k->who));
	} else {
		return false;
	}
	return true;
}

static bool is_before(const struct merit *a, const struct merit *b)
{
	if (a->class != b->class)
		return a->class > b->class;
	if (a->weight != b->weight)
		return a->weight > b->weight;
	return a->since_ns < b->since_ns;
}

/* Among whom one is looked for that ends for another: of a place, and where one of the
 * others is given, of those alone. */
struct choice {
	size_t place;
	const uint64_t *client, *who; /* who prove nothing; who are that one */
	bool strangers;               /* who are no front ends and prove nothing */
};

static bool is_among(const struct choice *among, const struct web_conn *k)
{
	const struct web_conn_from *f = &k->from;

	return !k->over && f->place == among->place &&
	       (!among->client || (!k->who && f->client == *among->client)) &&
	       (!among->who || k->who == *among->who) &&
	       (!among->strangers || k->in_strangers);
}

/* NULL: none may end. */
static struct web_conn *find_victim(struct web_conns *c, const struct choice *among)
{
	struct web_conn *victim = NULL;
	struct merit worst = {0}, m;
	uint64_t now = now_ns();

	for (struct web_conn *k = c->list.next; k != &c->list; k = k->next) {
		if (!is_among(among, k) || !weigh_conn(c, k, now, &m))
			continue;
		if (!victim || is_before(&m, &worst)) {
			victim = k;
			worst = m;
		}
	}
	return victim;
}

/* Three quarters of a place are enough for one client that proves nothing. Where front
 * ends have a reserve that is what all strangers have, and half is for one of them. */
static size_t most_of_client(const struct web_conns *c, const struct web_conn_from *f)
{
	if (c->strangers_most == c->most || f->front_end)
		return c->most - c->most / 4;
	return c->most - c->most / 2;
}

static bool make_room(struct web_conns *c, const struct web_conn_from *f)
{
	struct choice among = {.place = f->place};

	if (web_budget_used(&c->unproved, at_place(f, f->client)) >=
	    most_of_client(c, f))
		among.client = &f->client;
	else if (!f->front_end && c->strangers[f->place] >= c->strangers_most)
		among.strangers = true;
	else if (c->count[f->place] < c->most)
		return true;
	struct web_conn *victim = find_victim(c, &among);
	if (!victim)
		return false;
	end_conn(c, victim);
	c->ended++;
	return true;
}

bool web_conns_admit(struct web_conns *c, const struct web_conn_from *from)
{
	pthread_mutex_lock(&c->mutex);
	bool good = make_room(c, from);
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
	k->from = *from;
	k->since_ns = now_ns();
	pthread_mutex_lock(&c->mutex);
	k->next = &c->list;
	k->prev = c->list.prev;
	k->prev->next = k;
	c->list.prev = k;
	count_conn(c, k);
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

/* With the mutex. */
static void set_busy(struct web_conns *c, struct web_conn *k, bool busy)
{
	if (k->busy == busy)
		return;
	k->busy = busy;
	k->since_ns = now_ns();
	count_conn(c, k);
}

void web_conn_begin(struct web_conns *c, struct web_conn *k, uint64_t ms)
{
	pthread_mutex_lock(&c->mutex);
	k->rests_ns = 0;
	set_deadline(c, k, ms);
	set_busy(c, k, true);
	pthread_mutex_unlock(&c->mutex);
}

void web_conn_refused(struct web_conns *c, struct web_conn *k)
{
	pthread_mutex_lock(&c->mutex);
	set_busy(c, k, false);
	pthread_mutex_unlock(&c->mutex);
}

void web_conn_prove(struct web_conns *c, struct web_conn *k, uint64_t who)
{
	if (k->who == who)
		return;
	pthread_mutex_lock(&c->mutex);
	/* out of where it was, then to where it is now */
	count_in(&c->proved, at_place(&k->from, k->who), false, &k->in_proved);
	k->who = who;
	count_conn(c, k);
	if (who && web_budget_used(&c->proved, at_place(&k->from, who)) >
			   c->most - c->most / 4) {
		const struct choice among = {.place = k->from.place, .who = &who};
		struct web_conn *other = find_victim(c, &among);
		if (other && other != k) {
			end_conn(c, other);
			c->ended++;
		}
	}
	pthread_mutex_unlock(&c->mutex);
}

uint64_t web_conn_who(const struct web_conn *k)
{
	return k->who;
}

const struct web_conn_from *web_conn_from(const struct web_conn *k)
{
	return &k->from;
}

void web_conn_rest(struct web_conns *c, struct web_conn *k, uint64_t ms)
{
	pthread_mutex_lock(&c->mutex);
	set_deadline(c, k, ms);
	k->rests_ns = k->deadline_ns - ms * NSEC_PER_MSEC;
	set_busy(c, k, false);
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
	count_conn(c, k);
	k->prev->next = k->next;
	k->next->prev = k->prev;
	pthread_mutex_unlock(&c->mutex);
	free(k);
}
