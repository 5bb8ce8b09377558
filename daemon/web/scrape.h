/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_WEB_SCRAPE_H
#define CEEMS_DAEMON_WEB_SCRAPE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/collector.h"
#include "daemon/env.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/prom.h"

/*
 * Runs the collectors and shares the results. A request is answered from a collection
 * that started after it arrived, so that its numbers are never older than the request;
 * requests that arrive while one runs share the next one. All functions may be called
 * from any thread.
 */

struct scrape;
struct scrape_result;

struct scrape_params {
	const struct env *env; /* borrowed */
	/* The enabled collectors, in the order in which they run; borrowed. */
	const struct collector *const *collectors;
	size_t count;
	/* Held while prepare and the collectors run; NULL: not needed. */
	pthread_mutex_t *lock;
	/* Called under the lock before the collectors, may be NULL: the daemon drains
	 * the ring here, so that the answer includes every stop published before the
	 * request. */
	void (*prepare)(void *arg);
	void *arg;
	/* process_*, promhttp_* and scrape_add_own()'s metrics: off with
	 * --web.disable-exporter-metrics */
	bool exporter_metrics;
	size_t max_bytes; /* of one scrape's samples; 0: 64 MiB */
};

/* Opens the collectors. One that fails to open is logged once and stays off, with
 * success 0, and is retried at scrapes, at most once a minute; -ENODEV is logged once
 * and gives no series. Fails only for lack of memory. */
int scrape_new(const struct scrape_params *params, struct scrape **ret,
	       struct err *err);
/* Closes the collectors. No other call may be running. Accepts NULL. */
void scrape_free(struct scrape *s);

/* Returns a collection that started after this call began; waits for a running one. The
 * caller must unref the result, before scrape_free(). */
int scrape_get(struct scrape *s, struct scrape_result **ret, struct err *err);
struct scrape_result *scrape_result_ref(struct scrape_result *r);
void scrape_result_unref(struct scrape_result *r);

/* The exposition, rendered (and compressed) at the first call for each form. Borrowed
 * until the result is unreferenced. -ENOMEM, -EFBIG. */
int scrape_result_body(struct scrape_result *r, enum prom_format format, bool gzip,
		       const struct buf **ret);
/* The structured samples, for a reader that has the result for itself. */
struct prom *scrape_result_prom(struct scrape_result *r);

/* The longest time in ms between the starts of two collections so far, 0 before the
 * second: --unit.linger must be more than three times that. */
uint64_t scrape_longest_gap_ms(struct scrape *s);
/* How long an ended unit stays exported, in ms: three times that gap, an hour at most,
 * and never less than at_least_ms (which may be more than an hour). */
uint64_t scrape_linger_ms(struct scrape *s, uint64_t at_least_ms);
/* Collections so far. */
uint64_t scrape_count(struct scrape *s);

/* Adds metrics about ceemsd itself: put is called on the collecting thread. NULL: none
 * from the next collection on. */
void scrape_add_own(struct scrape *s, void (*put)(void *arg, struct prom *out),
		    void *arg);

/* For promhttp_metric_handler_requests_{total,in_flight}. begin returns how many
 * requests are in flight, including this one; end takes the status that was
 * answered. */
uint32_t scrape_http_begin(struct scrape *s);
void scrape_http_end(struct scrape *s, unsigned status);

#endif
