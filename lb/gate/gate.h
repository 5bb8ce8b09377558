/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_GATE_H
#define CEEMS_LB_GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/gate/call.h"
#include "lb/gate/protocol.h"
#include "lb/site/site.h"
#include "lib/err.h"
#include "lib/identity/identity.h"
#include "lib/prom.h"

/*
 * From a request to a verdict: who asks (lib/identity/identity.h), for which cluster,
 * with which role; is it read and proved (lb/gate/protocol.h, lb/promql/access.h) by
 * what is known about ownership; may this user have one more request. gate_pass() is
 * called on the thread that serves and never waits: what it must wait for (MUNGE, keys,
 * the aggregator) is asked for by threads of the gate, then the request is woken and
 * gate_pass() called again.
 */

struct gate;
struct owned_params;

struct gate_params {
	const char *user_agent;
	const struct identity_params *identity; /* copied */
	unsigned threads;                       /* that wait; 0: 4 */
	const struct owned_params *tests; /* in place of aggregator and clocks; NULL */
};

int gate_new(const struct gate_params *params, struct gate **ret, struct err *err);
/* To be called when threads may be started. */
int gate_start(struct gate *g, struct err *err);
/* Wakes all that wait; from here on gate_pass() refuses with 503. */
void gate_stop(struct gate *g);
void gate_free(struct gate *g); /* accepts NULL */
/* Another site from now on; decisions made under the old one are forgotten. g holds s.
 */
void gate_set_site(struct gate *g, struct site *s);
/* Anew, on a reload; what fails leaves the old in force. */
int gate_set_identity(struct gate *g, const struct identity_params *p, struct err *err);

/* Calls use() with the identity that is in force. */
void gate_with_identity(struct gate *g, void (*use)(void *arg, const struct identity *),
			void *arg);

/* One request. Zero-initialise, fill in the first part; all of it borrowed and alive
 * until gate_end(). */
/* Memory of requests that ended, for the next ones of the same thread. Zeroed. */
struct gate_spare {
	struct gate_state *first;
	unsigned count;
};

void gate_spare_done(struct gate_spare *spare);

struct gate_request {
	struct gate_spare *spare; /* NULL: none */
	enum site_protocol protocol;
	/* What identity_prove() is told; collected when collect() is called, by the
	 * first gate_pass(), for the identity that will prove it: a reload may bring
	 * another one meanwhile. NULL: they are there. */
	const struct identity_facts *facts;
	void (*collect)(void *arg, const struct identity *id);
	uint64_t client; /* web_client_key() of whoever asks: they wait in turn */
	struct protocol_input input; /* dialect and now_ms are filled in by the gate */
	unsigned cluster_headers;    /* how many X-Ceems-Cluster-Id there are */
	const char *cluster_header;  /* the first */
	void (*wake)(void *arg);     /* from any thread, once for each GATE_WAIT */
	void *arg;                   /* of both */

	/* The verdict */
	unsigned status; /* 0: send call; 200: body is the answer */
	struct call call;
	const struct site_cluster *cluster; /* of site */
	struct site *site;                  /* held */
	struct buf body;                    /* of an answer or a refusal */
	const char *body_type;
	int munge_rc;                     /* of its credential; 0: good, or none */
	char retry_after[8];              /* "" or seconds, with 429 and 503 */
	char login[IDENTITY_LOGIN_BYTES]; /* "" while it is not proved */
	/* as identity_who has it; "": no front end speaks for the user */
	char front[IDENTITY_LOGIN_BYTES + 16];
	void *state; /* the gate's */
};

enum gate_answer { GATE_DONE, GATE_WAIT };
enum gate_answer gate_pass(struct gate *g, struct gate_request *r);
/* Once, whatever the verdict was: the user may have another one, memory goes. After
 * GATE_WAIT only when wake() has been called (a client that went waits that long). */
void gate_end(struct gate *g, struct gate_request *r);

/* Whether front ends of the site's list connect from there. Any thread. */
bool gate_is_front_end(struct gate *g, const struct netaddr *peer);

void gate_metrics(struct gate *g, struct prom *out);

#endif
