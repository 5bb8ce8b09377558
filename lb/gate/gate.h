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
 * with which role; is the query proved (lb/gate/protocol.h, lb/promql/access.h) by the
 * known ownership; may this user have one more request. gate_pass() is called on the
 * serving thread and never blocks: threads of the gate ask MUNGE, key servers and the
 * aggregator, then the request is woken and gate_pass() called again.
 */

struct gate;
struct ownership_params;

struct gate_params {
	const char *user_agent;
	const struct identity_params *identity; /* copied */
	unsigned threads;                       /* threads that may block; 0: 4 */
	const struct ownership_params *tests; /* replaces aggregator and clocks; NULL */
};

int gate_new(const struct gate_params *params, struct gate **ret, struct err *err);
/* Call when threads may be started. */
int gate_start(struct gate *g, struct err *err);
/* Wakes all waiting requests; from now on gate_pass() refuses with 503. */
void gate_stop(struct gate *g);
void gate_free(struct gate *g); /* accepts NULL */
/* Switches to another site and forgets decisions made under the old one. g holds s. */
void gate_set_site(struct gate *g, struct site *s);
/* For a reload; on failure the old identity stays in force. */
int gate_set_identity(struct gate *g, const struct identity_params *p, struct err *err);

/* Calls use() with the identity in force. */
void gate_with_identity(struct gate *g, void (*use)(void *arg, const struct identity *),
			void *arg);

/* One request. Zero-initialise, then fill in the first part, all of which is borrowed
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
	/* Input of identity_prove(), gathered when the first gate_pass() calls
	 * collect(), for the identity that will prove it, as a reload may replace that.
	 * NULL: already filled in. */
	const struct identity_facts *facts;
	void (*collect)(void *arg, const struct identity *id);
	uint64_t client;             /* web_client_key(): clients wait in turn */
	struct protocol_input input; /* dialect and now_ms are filled in by the gate */
	unsigned cluster_headers;    /* number of X-Ceems-Cluster-Id headers */
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
	char retry_after[8];              /* "" or seconds, for 429 and 503 */
	char login[IDENTITY_LOGIN_BYTES]; /* "" until it is proved */
	/* as in identity_who; "": not named by a front end */
	char front[IDENTITY_LOGIN_BYTES + 16];
	void *state; /* the gate's */
};

enum gate_answer { GATE_DONE, GATE_WAIT };
enum gate_answer gate_pass(struct gate *g, struct gate_request *r);
/* Call once, whatever the verdict: it releases memory and the user's slot. After
 * GATE_WAIT only when wake() has been called, even if the client has left. */
void gate_end(struct gate *g, struct gate_request *r);

/* Whether this is the address of a configured front end. Any thread. */
bool gate_is_front_end(struct gate *g, const struct netaddr *peer);

void gate_metrics(struct gate *g, struct prom *out);

#endif
