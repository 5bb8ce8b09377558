/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_WORKER_H
#define CEEMS_LB_PROXY_WORKER_H

#include <stdint.h>

#include "lb/gate/gate.h"
#include "lib/err.h"
#include "lib/http/web.h"
#include "lib/prom.h"

/*
 * The serving threads. Each runs a loop with its clients' connections, the gate's
 * answers, and its own kept-alive connections to backends. A request never changes
 * threads, so it needs no lock.
 *
 *   client, web (lib/http/web.h), gate_pass(), backend_pick(), upstream, and back
 */

struct workers;

struct workers_params {
	unsigned count; /* 0: one per CPU that we may use, at most 16 */
	/* Addresses for Prometheus' API and for Pyroscope's; NULL or none: off */
	const char *const *listen[SITE_PROTOCOLS];
	size_t listen_count[SITE_PROTOCOLS];
	/* Passed on to lib/http/web.h. Routes are /health, /metrics, and everything
	 * else. */
	const char *config_file;
	bool systemd_socket;
	uint32_t max_requests;
	uint32_t drain_ms; /* limit for running answers in workers_stop() */
	struct gate *gate; /* borrowed */
	/* Reason (static) for a 503, NULL for 200; called on any worker */
	const char *(*unhealthy)(void *arg);
	/* Whether the sender of r may read metrics; if not, r has been answered. NULL:
	 * everybody */
	bool (*admits_metrics)(void *arg, struct web_request *r);
	void (*metrics)(void *arg, struct prom *out);
	void *arg;
	int (*before_threads)(void *arg, struct err *err);
};

int workers_start(const struct workers_params *params, struct workers **ret,
		  struct err *err);
int workers_reload(struct workers *w, struct err *err); /* web configuration */
/* Accepts no new requests, finishes running ones within drain_ms, joins the threads.
 * Accepts NULL. */
void workers_stop(struct workers *w);
/* web_is_in_clear() of its web server. */
bool workers_in_clear(const struct workers *w);
unsigned workers_port(const struct workers *w, enum site_protocol p, size_t i);
void workers_metrics(struct workers *w, struct prom *out);

#endif
