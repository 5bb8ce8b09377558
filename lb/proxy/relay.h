/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_RELAY_H
#define CEEMS_LB_PROXY_RELAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lb/gate/gate.h"
#include "lb/proxy/upstream.h"
#include "lb/site/site.h"
#include "lib/http/web.h"
#include "lib/loop.h"

/*
 * One request on its way from the web server through the gate to a backend, and the
 * answer back, all on one loop.
 */

struct relay;

/* Counters of one loop; one writer. */
struct relay_counts {
	atomic_ullong status[6]; /* by hundreds; [0]: the client left before */
	atomic_ullong retries, cancelled, broken; /* broken: within an answer */
};

/* A loop's requests. */
struct relays {
	struct loop *loop;
	struct gate *gate;
	struct upstreams *upstreams;
	struct relay *first; /* all running requests */
	struct relay *spare; /* memory for reuse */
	unsigned spares;
	struct gate_spare gate_spare;
	struct loop_hook hook;
	uint64_t looked_ms;
	atomic_bool ending; /* tells running requests to end */
	struct relay_counts counts[SITE_PROTOCOLS];
};

void relays_init(struct relays *rs); /* its first three members are set */
void relays_done(struct relays *rs); /* no request may be running */

/* For web_route's handle() and end(). */
void relay_handle(struct relays *rs, enum site_protocol protocol,
		  struct web_request *r);
void relay_ended(struct relays *rs, struct web_request *r, unsigned status);

#endif
