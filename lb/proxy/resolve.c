/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that resolves names, and its answers. */
#include "lb/proxy/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/signals.h"

#define TOLD_MAX 64 /* loops */

struct resolved_name {
	struct resolved_name *next;
	char *host;
	uint16_t port;
	bool wanted, failed;
	uint64_t at_ms; /* of the answer; 0: none came yet */
	struct resolve_list list;
};

struct resolver {
	pthread_mutex_t mutex;
	pthread_cond_t change;
	pthread_t thread;
	bool started, stopping;
	struct resolved_name *names;
	size_t count;
	struct {
		struct loop *loop;
		struct loop_task *task;
	} told[TOLD_MAX];
	size_t told_count;
};

static uint64_t resolver_clock_ms(void)
{
	return clock_read_ns(CLOCK_MONOTONIC) / NSEC_PER_MSEC;
}

int resolver_new(struct resolver **ret, struct err *err)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "names: out of memory");
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->change, NULL);
	*ret = r;
	return 0;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->mutex);
	r->stopping = true;
	pthread_cond_signal(&r->change);
	pthread_mutex_unlock(&r->mutex);
	if (r->started)
		pthread_join(r->thread, NULL);
	while (r->names) {
		struct resolved_name *n = r->names;
		r->names = n->next;
		free(n->host);
		free(n);
	}
	pthread_cond_destroy(&r->change);
	pthread_mutex_destroy(&r->mutex);
	free(r);
}

int resolver_tell(struct resolver *r, struct loop *loop, struct loop_task *task)
{
	if (r->told_count == TOLD_MAX)
		return -ENOSPC;
	r->told[r->told_count].loop = loop;
	r->told[r->told_count++].task = task;
	return 0;
}

static void add_address(struct resolve_list *list, const struct sockaddr *sa,
			socklen_t len)
{
	if (list->count == RESOLVE_ADDRESSES_MAX || len > sizeof(list->at[0].sa))
		return;
	memcpy(&list->at[list->count].sa, sa, len);
	list->at[list->count++].len = len;
}

/* An address needs no look-up. */
static bool parse_literal_address(const char *host, uint16_t port,
				  struct resolve_list *ret)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	ret->count = 0;
	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
		add_address(ret, (struct sockaddr *)&v4, sizeof(v4));
	else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1)
		add_address(ret, (struct sockaddr *)&v6, sizeof(v6));
	return ret->count > 0;
}

static bool look_up_name(const char *host, uint16_t port, struct resolve_list *ret)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	char text[8];

	ret->count = 0;
	snprintf(text, sizeof(text), "%u", (unsigned)port);
	if (getaddrinfo(host, text, &hints, &list) != 0)
		return false;
	for (struct addrinfo *a = list; a; a = a->ai_next)
		add_address(ret, a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	return ret->count > 0;
}

/* Mutex held, but released during the look-up. Names are never removed. */
static void answer_name(struct resolver *r, struct resolved_name *n)
{
	struct resolve_list list;

	pthread_mutex_unlock(&r->mutex);
	bool good = look_up_name(n->host, n->port, &list);
	pthread_mutex_lock(&r->mutex);
	n->wanted = false;
	n->failed = !good;
	n->at_ms = resolver_clock_ms();
	if (good)
		n->list = list;
	for (size_t i = 0; i < r->told_count; i++)
		loop_post(r->told[i].loop, r->told[i].task);
}

static void *resolver_thread(void *arg)
{
	struct resolver *r = arg;

	pthread_mutex_lock(&r->mutex);
	while (!r->stopping) {
		struct resolved_name *n = r->names;
		while (n && !n->wanted)
			n = n->next;
		if (n)
			answer_name(r, n);
		else
			pthread_cond_wait(&r->change, &r->mutex);
	}
	pthread_mutex_unlock(&r->mutex);
	return NULL;
}

/* Mutex held. */
static int start_resolver_thread(struct resolver *r)
{
	sigset_t old;

	if (r->started)
		return 0;
	signals_block(&old);
	int rc = -pthread_create(&r->thread, NULL, resolver_thread, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	r->started = rc == 0;
	return rc;
}

/* Mutex held. NULL: no room. */
static struct resolved_name *find_or_add_name(struct resolver *r, const char *host,
					      uint16_t port)
{
	struct resolved_name *n = r->names;

	while (n && (n->port != port || strcmp(n->host, host) != 0))
		n = n->next;
	if (n || r->count == RESOLVE_NAMES_MAX)
		return n;
	n = calloc(1, sizeof(*n));
	if (n)
		n->host = strdup(host);
	if (!n || !n->host) {
		free(n);
		return NULL;
	}
	n->port = port;
	n->next = r->names;
	r->names = n;
	r->count++;
	return n;
}

int resolver_get(struct resolver *r, const char *host, uint16_t port,
		 struct resolve_list *ret)
{
	int rc = 0;

	if (parse_literal_address(host, port, ret))
		return 0;
	pthread_mutex_lock(&r->mutex);
	struct resolved_name *n = find_or_add_name(r, host, port);
	uint64_t age = n ? resolver_clock_ms() - n->at_ms : 0;
	if (!n) {
		rc = -ENOSPC;
	} else if (!n->wanted && (!n->at_ms || age > (n->failed ? RESOLVE_FAILED_MS
								: RESOLVE_FRESH_MS))) {
		n->wanted = true;
		rc = start_resolver_thread(r);
		pthread_cond_signal(&r->change);
	}
	if (rc == 0 && n->list.count)
		*ret = n->list;
	else if (rc == 0)
		rc = n->wanted ? -EAGAIN : -EHOSTUNREACH;
	pthread_mutex_unlock(&r->mutex);
	return rc;
}
