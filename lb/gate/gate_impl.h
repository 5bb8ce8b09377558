/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_GATE_IMPL_H
#define CEEMS_LB_GATE_GATE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "lb/gate/gate.h"
#include "lb/gate/gate_limit.h"
#include "lb/gate/lru.h"
#include "lb/gate/ownership.h"
#include "lb/gate/thread_pool.h"

/* Shared by the files of the gate. */

#define GATE_CLUSTER_LABEL "ceems_id" /* by which a query may name its cluster */

enum gate_reason {
	REASON_OWN,      /* proved */
	REASON_PUBLIC,   /* contains nobody's data */
	REASON_ROLE,     /* by a role */
	REASON_OPEN,     /* the site has no access control */
	REASON_UNPROVED, /* the caller is not proved */
	REASON_REQUEST,  /* malformed or too large */
	REASON_CLUSTER,  /* names none, or two */
	REASON_CLOSED,   /* a call that is closed to all */
	REASON_NO_ROLE,  /* a call that needs a role */
	REASON_UNNAMED,  /* cannot be proved for anybody */
	REASON_FOREIGN,
	REASON_UNKNOWN,
	REASON_MANY,   /* too many units */
	REASON_BUSY,   /* too many concurrent requests of this user */
	REASON_RATE,   /* too many in this second */
	REASON_NOBODY, /* the aggregator does not answer */
	REASON_STOP,
	REASON_ERROR,
	REASONS,
};

/* Identity, replaced at a reload: reference-counted. */
struct gate_keeper {
	atomic_uint refs;
	struct identity *id;
};

struct gate {
	const char *user_agent;
	const struct ownership_params *tests;
	struct ownership_cache *ownership;
	struct thread_pool *provers;
	struct lru *tokens, *decisions;
	struct gate_limits *limits;
	pthread_mutex_t mutex; /* protects the members below */
	struct site *site;
	struct gate_keeper *keeper;
	uint64_t generation; /* of both */
	bool stopped;

	atomic_uint_fast64_t verdicts[SITE_PROTOCOLS][REASONS];
	atomic_uint_fast64_t token_hits, token_misses, decision_hits, decision_misses;
	atomic_uint_fast64_t waited; /* requests that had to wait */
};

/*
 * The way of a request to its verdict. gate_take_step() takes the step where a request
 * is and returns the next. At STEP_WAIT_* it sleeps until it is woken; that step looks
 * at what came. Each step can refuse, which is STEP_DONE, too.
 *
 *    IDENTIFY --> WAIT_IDENTITY      who asks: a thread proves it where that takes time
 *        |             |
 *        v             v
 *       READ <---------+             limits; the cluster; what is asked
 *        |
 *        |- decided before, or answered from the request itself --> DONE
 *        |- tells of nobody --------------------------------------> WRITE
 *        |- for roles only, and the caller has one ---------------> WRITE
 *        |- for roles only, and the caller may have one ----------> ROLE
 *        v
 *      PROVE <-------------------------------------------------+  which units it reads
 *        |- cannot be proved for anybody --> ROLE              |
 *        |- may read everything -----------> DECIDE            |
 *        v                                                     |
 *       OWN <---> WAIT_OWNERS ----+  whose they are; asked     | once more, as
 *        |                        |  LOOKS_MAX times at most   | one who may read
 *        v                        |                            | everything
 *       FILL <--------------------+  selectors that name no    |
 *        |  <---> WAIT_UNITS         unit get the caller's own |
 *        |- more of them than fit in a query --> ROLE          |
 *        v                                                     |
 *      DECIDE -- all is the caller's --> WRITE --> DONE        |
 *        |                                 ^                   |
 *        v                                 | a call of roles   |
 *       ROLE -------------> known ---------+-------------------+
 *        |----> WAIT_ROLE --> asked -------+-------------------+
 *        |                           may read everything
 *        v
 *      DONE, refused
 *
 * Its edges, which test/e2e/docs_fresh.sh compares with the code; each has one to DONE.
 *
 *    IDENTIFY: WAIT_IDENTITY READ
 *    WAIT_IDENTITY: READ
 *    READ: PROVE ROLE WRITE
 *    PROVE: OWN DECIDE ROLE
 *    OWN: WAIT_OWNERS FILL
 *    WAIT_OWNERS: OWN FILL
 *    FILL: WAIT_UNITS DECIDE ROLE
 *    WAIT_UNITS: FILL ROLE
 *    DECIDE: WRITE ROLE
 *    ROLE: WAIT_ROLE PROVE WRITE
 *    WAIT_ROLE: PROVE WRITE
 */
enum gate_step {
	STEP_IDENTIFY,
	STEP_WAIT_IDENTITY,
	STEP_READ,
	STEP_PROVE,
	STEP_OWN,
	STEP_WAIT_OWNERS,
	STEP_FILL,
	STEP_WAIT_UNITS,
	STEP_DECIDE,
	STEP_ROLE,
	STEP_WAIT_ROLE,
	STEP_WRITE,
	STEP_DONE,
};

struct gate_state {
	struct gate_state *next; /* among the spare ones */
	struct gate *g;
	struct gate_request *r;
	enum gate_step step; /* the one to be taken */
	const struct protocol *protocol;
	struct site *site;
	struct gate_keeper *keeper;
	uint64_t generation, boot_ms;

	struct thread_pool_job prove;
	struct identity_who who;
	int who_rc;
	bool counted; /* by the limits */
	struct err err;

	const struct site_cluster *cluster;
	struct access_policy policy;
	void *request;
	struct access_plan *plan;
	struct buf key; /* key of the decision; empty: not remembered */
	bool timed;     /* its times are separate: */
	struct protocol_times times;
	struct buf kept; /* the remembered call */
	/* its units, for the audit; NULL without audit */
	struct access_claim *claims;
	size_t claim_count;

	bool role_known;
	enum ownership_role role;
	enum gate_reason refusal; /* unless a role allows it */
	unsigned refusal_status;
	unsigned looks; /* how often ownership was looked up after another request's
			   question */
	struct ownership_waiter waiter;
	struct ownership_question *question;
	enum gate_reason reason;
};

/* gate.c */
enum gate_step gate_refuse(struct gate_state *s, enum gate_reason why, unsigned status,
			   unsigned retry_s, const char *text); /* STEP_DONE */
struct ownership_who gate_who(struct gate_state *s);

/* gate_identity.c: who asks */
enum gate_step gate_identify(struct gate_state *s);
enum gate_step gate_identity_answered(struct gate_state *s);
int gate_keeper_new(const struct identity_params *p, struct gate_keeper **ret,
		    struct err *err);
void gate_keeper_unref(struct gate_keeper *k); /* accepts NULL */

/* gate_decide.c: takes the step s->step; the next one */
enum gate_step gate_take_step(struct gate_state *s);

/* gate_remember.c: repeated decisions */
bool gate_decision_find(struct gate_state *s);
void gate_decision_keep(struct gate_state *s);

/* gate_audit.c */
void gate_audit(const struct gate_state *s);
const char *gate_reason_name(enum gate_reason why);

#endif
