/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An epoll loop: descriptors, tasks of other threads, and hooks between the batches. */
#include "lib/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/clock.h"

#define BATCH 256

struct loop {
	int epfd, wakefd;
	struct loop_hook *hooks;
	uint64_t now_ms;
	_Atomic(pthread_t) thread;
	atomic_bool running;
	struct epoll_event events[BATCH];
	int count, at; /* of the current batch, and the current event */
	pthread_mutex_t mutex;
	struct loop_task *first, **last; /* posted */
};

static uint64_t read_loop_clock_ms(void)
{
	return clock_read_ns(CLOCK_MONOTONIC) / NSEC_PER_MSEC;
}

int loop_new(struct loop **ret, struct err *err)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set(err, -ENOMEM, "loop: out of memory");
	l->last = &l->first;
	l->now_ms = read_loop_clock_ms();
	pthread_mutex_init(&l->mutex, NULL);
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	l->wakefd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* data NULL: the loop's own */
	struct epoll_event e = {.events = EPOLLIN | EPOLLET};
	if (l->epfd < 0 || l->wakefd < 0 ||
	    epoll_ctl(l->epfd, EPOLL_CTL_ADD, l->wakefd, &e) < 0) {
		int rc = -errno;
		loop_free(l);
		return err_set(err, rc, "loop: %s", strerror(-rc));
	}
	*ret = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	/* waits until whoever posted the last task is done */
	pthread_mutex_lock(&l->mutex);
	pthread_mutex_unlock(&l->mutex);
	if (l->epfd >= 0)
		close(l->epfd);
	if (l->wakefd >= 0)
		close(l->wakefd);
	pthread_mutex_destroy(&l->mutex);
	free(l);
}

int loop_watch(struct loop *l, int fd, uint32_t events, struct loop_watch *w)
{
	struct epoll_event e = {.events = events, .data.ptr = w};

	return epoll_ctl(l->epfd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

void loop_forget(struct loop *l, int fd, struct loop_watch *w)
{
	(void)epoll_ctl(l->epfd, EPOLL_CTL_DEL, fd, NULL);
	for (int i = l->at; i < l->count; i++) {
		if (l->events[i].data.ptr == w)
			l->events[i].events = 0;
	}
}

void loop_post(struct loop *l, struct loop_task *t)
{
	uint64_t one = 1;

	/* wake the loop before releasing the mutex: the task may end the loop */
	pthread_mutex_lock(&l->mutex);
	if (!l->first)
		(void)!write(l->wakefd, &one, sizeof(one));
	if (!t->posted) {
		t->posted = true;
		t->next = NULL;
		*l->last = t;
		l->last = &t->next;
	}
	pthread_mutex_unlock(&l->mutex);
}

void loop_add_hook(struct loop *l, struct loop_hook *h)
{
	struct loop_hook **at = &l->hooks;

	while (*at)
		at = &(*at)->next;
	h->next = NULL;
	*at = h;
}

uint64_t loop_now_ms(const struct loop *l)
{
	return l->now_ms;
}

bool loop_inside(const struct loop *l)
{
	return atomic_load(&l->running) &&
	       pthread_equal(atomic_load(&l->thread), pthread_self());
}

/* Runs the tasks present now; those they post wait for the next turn. */
static void run_tasks(struct loop *l)
{
	struct loop_task *t;

	pthread_mutex_lock(&l->mutex);
	t = l->first;
	l->first = NULL;
	l->last = &l->first;
	pthread_mutex_unlock(&l->mutex);
	while (t) {
		struct loop_task *next = t->next;
		pthread_mutex_lock(&l->mutex);
		t->posted = false;
		pthread_mutex_unlock(&l->mutex);
		t->run(t);
		t = next;
	}
}

/* Returns how long the loop may wait. */
static int run_hooks(struct loop *l)
{
	int wait = -1;

	for (struct loop_hook *h = l->hooks; h; h = h->next) {
		int ms = h->run(h);
		if (ms >= 0 && (wait < 0 || ms < wait))
			wait = ms;
	}
	return wait;
}

void loop_run(struct loop *l, const atomic_bool *stop)
{
	int wait = 0;

	atomic_store(&l->thread, pthread_self());
	atomic_store(&l->running, true);
	while (!atomic_load(stop)) {
		bool woken = false;
		l->count = epoll_wait(l->epfd, l->events, BATCH, wait);
		l->now_ms = read_loop_clock_ms();
		for (l->at = 0; l->at < l->count; l->at++) {
			struct epoll_event *e = &l->events[l->at];
			struct loop_watch *w = e->data.ptr;
			if (!w)
				woken = true;
			else if (e->events)
				w->ready(w, e->events);
		}
		l->count = l->at = 0;
		if (woken)
			run_tasks(l);
		wait = run_hooks(l);
	}
	atomic_store(&l->running, false);
}
