/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_WORKER_H
#define CEEMS_LB_PROXY_WORKER_H

#include <stdint.h>

#include "lb/gate/gate.h"
#include "lib/err.h"
#include "lib/http/web.h"
#include "lib/prom.h"

/*
 * The threads that serve. Each one is a loop of its own: the connections of clients
 * that the web server gave it, the gate's answers, and its connections to backends,
 * kept alive between calls; a request never changes its thread, so that nothing of it
 * needs a lock.
 *
 *   client -> web (lib/http/web.h) -> gate_pass() -> backend_pick() -> upstream ->
 * client
 */

struct workers;

struct workers_params {
	unsigned count; /* 0: one for each CPU that we may run on, at most 16 */
	/* Ports: of Prometheus' API and of Pyroscope's; NULL or none: that one is off
	 */
	const char *const *listen[SITE_PROTOCOLS];
	size_t listen_count[SITE_PROTOCOLS];
	/* Of lib/http/web.h: passed on. Routes are /health, /metrics, and all else. */
	const char *config_file;
	bool systemd_socket;
	uint32_t max_requests;
	uint32_t drain_ms; /* of workers_stop() for answers under way */
	struct gate *gate; /* borrowed */
	/* 200 or 503 with a reason (static); called on any worker */
	const char *(*unhealthy)(void *arg);
	/* Whether whoever sent r may read metrics; else it has been answered. NULL: all
	 */
	bool (*admits_metrics)(void *arg, struct web_request *r);
	void (*metrics)(void *arg, struct prom *out);
	void *arg;
	int (*before_threads)(void *arg, struct err *err);
};

int workers_start(const struct workers_params *params, struct workers **ret,
		  struct err *err);
int workers_reload(struct workers *w, struct err *err); /* web configuration */
/* Takes no new request, ends what is under way within drain_ms, joins. Accepts NULL. */
void workers_stop(struct workers *w);
/* web_is_in_clear() of their server. */
bool workers_in_clear(const struct workers *w);
unsigned workers_port(const struct workers *w, enum site_protocol p, size_t i);
void workers_metrics(struct workers *w, struct prom *out);

#endif
