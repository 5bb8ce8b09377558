/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread between web server and scrape: all requests that came before a collection
 * began share it. */
#include "daemon/web/flight.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"

struct flight {
	struct scrape *scrape;
	pthread_mutex_t mutex;
	pthread_cond_t more;
	pthread_t thread;
	bool has_thread, stopping;
	struct flight_wait *waiting;
};

/* One collection for a list of requests. */
static void serve_all(struct flight *f, struct flight_wait *list)
{
	struct scrape_result *result = NULL;
	struct err err = {""};
	int rc = scrape_get(f->scrape, &result, &err);

	if (rc < 0)
		log_error("metrics: %s, requests answered with 500", err_text(&err));
	while (list) {
		/* the request may end as soon as it is notified */
		struct flight_wait *next = list->next;
		if (result)
			scrape_result_ref(result);
		list->done(list->arg, rc, result);
		list = next;
	}
	scrape_result_unref(result);
}

static void *flight_thread(void *arg)
{
	struct flight *f = arg;

	pthread_mutex_lock(&f->mutex);
	for (;;) {
		while (!f->waiting && !f->stopping)
			pthread_cond_wait(&f->more, &f->mutex);
		struct flight_wait *list = f->waiting;
		bool stopping = f->stopping;
		f->waiting = NULL;
		pthread_mutex_unlock(&f->mutex);
		if (!stopping) {
			serve_all(f, list);
		} else {
			while (list) {
				struct flight_wait *next = list->next;
				list->done(list->arg, -ESHUTDOWN, NULL);
				list = next;
			}
			return NULL;
		}
		pthread_mutex_lock(&f->mutex);
	}
}

int flight_new(struct scrape *scrape, struct flight **ret, struct err *err)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (!f)
		return err_set(err, -ENOMEM, "web: out of memory");
	f->scrape = scrape;
	pthread_mutex_init(&f->mutex, NULL);
	pthread_cond_init(&f->more, NULL);
	int rc = -pthread_create(&f->thread, NULL, flight_thread, f);
	if (rc < 0) {
		flight_free(f);
		return err_set(err, rc, "web: start thread: %s", strerror(-rc));
	}
	f->has_thread = true;
	*ret = f;
	return 0;
}

void flight_stop(struct flight *f)
{
	pthread_mutex_lock(&f->mutex);
	f->stopping = true;
	bool join = f->has_thread;
	f->has_thread = false;
	pthread_cond_signal(&f->more);
	pthread_mutex_unlock(&f->mutex);
	if (join)
		pthread_join(f->thread, NULL);
}

void flight_free(struct flight *f)
{
	if (!f)
		return;
	flight_stop(f);
	pthread_cond_destroy(&f->more);
	pthread_mutex_destroy(&f->mutex);
	free(f);
}

int flight_submit(struct flight *f, struct flight_wait *w)
{
	pthread_mutex_lock(&f->mutex);
	int rc = f->stopping ? -ESHUTDOWN : 0;
	if (rc == 0) {
		w->next = f->waiting;
		f->waiting = w;
		pthread_cond_signal(&f->more);
	}
	pthread_mutex_unlock(&f->mutex);
	return rc;
}
