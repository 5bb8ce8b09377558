/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_OWNED_H
#define CEEMS_LB_GATE_OWNED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/gate/owned_answer.h"
#include "lb/gate/owned_rule.h"
#include "lb/promql/access.h"
#include "lb/site/site.h"
#include "lib/err.h"
#include "lib/prom.h"

/*
 * Who owns which units: the ownership cache, with answers of the aggregator for as long
 * as lb/gate/owned_rule.h allows, and questions to the aggregator. Look-ups never
 * block; a question is asked by a thread, once for all who need the same answer at the
 * time. Thread safe.
 */

struct owned;
struct owned_question;

/* On whose behalf, and when; borrowed during a call. */
struct owned_who {
	const char *login, *cluster;
	bool has_uid; /* besides the login */
	bool named;   /* identity_who.named: answer as for an ordinary user */
	uint32_t uid;
	int64_t now_ms;   /* since the epoch */
	uint64_t boot_ms; /* of CLOCK_BOOTTIME */
	struct owned_rules rules;
};

/* One question to the aggregator: about units or, with ids NULL, for the caller's own
 * units in a time range, at most most + 1 of them. */
struct owned_ask {
	const char *login, *cluster;
	bool has_uid, named;
	uint32_t uid;
	const struct str *ids; /* no duplicates */
	size_t count;
	bool own;
	int64_t from_ms, to_ms;
	uint32_t most;
	/* also return so many of the caller's own units, the latest */
	uint32_t latest;
};

struct owned_params {
	unsigned threads;
	const char *user_agent; /* borrowed */
	/* Replaces the aggregator in tests. Appends the answer's body. */
	int (*ask)(void *arg, const struct owned_ask *q, struct buf *ret,
		   struct err *err);
	/* Replaces the two clocks; NULL: the machine's */
	void (*clock)(void *arg, int64_t *ret_now_ms, uint64_t *ret_boot_ms);
	void *arg;
};

int owned_new(const struct owned_params *params, struct owned **ret, struct err *err);
int owned_start(struct owned *o, struct err *err);
/* Makes all questions end soon, unanswered. */
void owned_stop(struct owned *o);
void owned_free(struct owned *o); /* accepts NULL */
/* Switches to another site, or none (NULL); forgets everything, including answers on
 * their way. Holds s. entries: limit of cached units, 0: 100 000. */
void owned_set_site(struct owned *o, struct site *s, uint32_t entries);

/* Fills in cached answers. Returns how many are missing, which are ACCESS_UNASKED.
 * Answers that grant access and are about to expire are refreshed in the background. */
size_t owned_look(struct owned *o, const struct owned_who *who,
		  struct access_claim *claims, size_t count);
/* The caller's own units that ran in a time range and were nobody else's within
 * around_ms of it, as literals for access_fill(): 1, and how many (more than most: too
 * many); 0: it must be asked. ids are in ret, one after the other, each with a NUL. */
int owned_look_list(struct owned *o, const struct owned_who *who, int64_t from_ms,
		    int64_t to_ms, int64_t around_ms, uint32_t most, struct buf *ret,
		    size_t *ret_count);
/* False: not cached, or expired. */
bool owned_look_role(struct owned *o, const struct owned_who *who,
		     enum owned_role *ret);

/* A waiting request: owned by the caller until wake() has been called. */
struct owned_waiter {
	struct owned_waiter *next;
	void (*wake)(void *arg);
	void *arg;
};

/* Asks about the claims that are ACCESS_UNASKED (none: about the role only). 0: wake()
 * will be called, once, from any thread. -EBUSY: too many questions are waiting;
 * -EHOSTDOWN: there is no aggregator to ask; -ENOMEM. */
int owned_ask_units(struct owned *o, const struct owned_who *who,
		    const struct access_claim *claims, size_t count,
		    struct owned_waiter *w, struct owned_question **ret,
		    struct err *err);
int owned_ask_list(struct owned *o, const struct owned_who *who, int64_t from_ms,
		   int64_t to_ms, uint32_t most, struct owned_waiter *w,
		   struct owned_question **ret, struct err *err);
/* After wake(): 0, or why there is no answer (-EHOSTDOWN and the like, with a text for
 * the user); fills in *ret_role and the claims that are ACCESS_UNASKED. 1: some still
 * are, since another question was to answer them: look again. */
int owned_answered(const struct owned_question *q, struct access_claim *claims,
		   size_t count, enum owned_role *ret_role, struct err *err);
/* The same for a list, as owned_look_list(). */
int owned_answered_list(const struct owned_question *q, int64_t from_ms, int64_t to_ms,
			int64_t around_ms, struct buf *ret, size_t *ret_count,
			struct err *err);
void owned_question_unref(struct owned_question *q); /* accepts NULL */

void owned_metrics(struct owned *o, struct prom *out);

/* ---- lb/gate/owned_ask.c: over HTTP
 * --------------------------------------------------- */

struct owned_link;
/* Puts the answer's body into ret. -EHOSTDOWN: no answer; -EACCES: this load balancer
 * may not ask. *link is created if NULL, and again for each generation of the site; it
 * belongs to one thread. */
int owned_link_ask(struct owned_link **link, const struct site_api *api,
		   uint64_t generation, const char *user_agent, const atomic_bool *stop,
		   const struct owned_ask *q, struct buf *ret, struct err *err);
void owned_link_free(struct owned_link *l); /* accepts NULL */

#endif
