/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_OWNERSHIP_H
#define CEEMS_LB_GATE_OWNERSHIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/gate/ownership_answer.h"
#include "lb/gate/ownership_rule.h"
#include "lb/promql/access.h"
#include "lb/site/site.h"
#include "lib/err.h"
#include "lib/prom.h"

/*
 * Who owns which units: the ownership cache, with answers of the aggregator for as long
 * as lb/gate/ownership_rule.h allows, and questions to the aggregator. Look-ups never
 * block; a question is asked by a thread, once for all who need the same answer at the
 * time. Thread safe.
 */

struct ownership_cache;
struct ownership_question;

/* On whose behalf, and when; borrowed during a call. */
struct ownership_who {
	const char *login, *cluster;
	bool has_uid; /* besides the login */
	bool named;   /* identity_who.named: answer as for an ordinary user */
	uint32_t uid;
	int64_t now_ms;   /* since the epoch */
	uint64_t boot_ms; /* of CLOCK_BOOTTIME */
	struct ownership_rules rules;
};

/* One question to the aggregator: about units or, with ids NULL, for the caller's own
 * units in a time range, at most most + 1 of them. */
struct ownership_ask {
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

struct ownership_params {
	unsigned threads;
	const char *user_agent; /* borrowed */
	/* Replaces the aggregator in tests. Appends the answer's body. */
	int (*ask)(void *arg, const struct ownership_ask *q, struct buf *ret,
		   struct err *err);
	/* Replaces the two clocks; NULL: the machine's */
	void (*clock)(void *arg, int64_t *ret_now_ms, uint64_t *ret_boot_ms);
	void *arg;
};

int ownership_new(const struct ownership_params *params, struct ownership_cache **ret,
		  struct err *err);
int ownership_start(struct ownership_cache *o, struct err *err);
/* Makes all questions end soon, unanswered. */
void ownership_stop(struct ownership_cache *o);
void ownership_free(struct ownership_cache *o); /* accepts NULL */
/* Switches to another site, or none (NULL); forgets everything, including answers on
 * their way. Holds s. entries: limit of cached units, 0: 100 000. */
void ownership_set_site(struct ownership_cache *o, struct site *s, uint32_t entries);

/* Fills in cached answers. Returns how many are missing, which are ACCESS_UNASKED.
 * Answers that grant access and are about to expire are refreshed in the background. */
size_t ownership_look(struct ownership_cache *o, const struct ownership_who *who,
		      struct access_claim *claims, size_t count);
/* The caller's own units that ran in a time range and were nobody else's within
 * around_ms of it, as literals for access_fill(): 1, and how many (more than most: too
 * many); 0: it must be asked. ids are in ret, one after the other, each with a NUL. */
int ownership_look_list(struct ownership_cache *o, const struct ownership_who *who,
			int64_t from_ms, int64_t to_ms, int64_t around_ms,
			uint32_t most, struct buf *ret, size_t *ret_count);
/* False: not cached, or expired. */
bool ownership_look_role(struct ownership_cache *o, const struct ownership_who *who,
			 enum ownership_role *ret);

/* A waiting request: owned by the caller until wake() has been called. */
struct ownership_waiter {
	struct ownership_waiter *next;
	void (*wake)(void *arg);
	void *arg;
};

/* Asks about the claims that are ACCESS_UNASKED (none: about the role only). 0: wake()
 * will be called, once, from any thread. -EBUSY: too many questions are waiting;
 * -EHOSTDOWN: no aggregator is configured; -ENOMEM. */
int ownership_ask_units(struct ownership_cache *o, const struct ownership_who *who,
			const struct access_claim *claims, size_t count,
			struct ownership_waiter *w, struct ownership_question **ret,
			struct err *err);
int ownership_ask_list(struct ownership_cache *o, const struct ownership_who *who,
		       int64_t from_ms, int64_t to_ms, uint32_t most,
		       struct ownership_waiter *w, struct ownership_question **ret,
		       struct err *err);
/* After wake(): 0, or why there is no answer (-EHOSTDOWN and the like, with a text for
 * the user); fills in *ret_role and the claims that are ACCESS_UNASKED. 1: some still
 * are, since another question was to answer them: look again. */
int ownership_answered(const struct ownership_question *q, struct access_claim *claims,
		       size_t count, enum ownership_role *ret_role, struct err *err);
/* The same for a list, as ownership_look_list(). */
int ownership_answered_list(const struct ownership_question *q, int64_t from_ms,
			    int64_t to_ms, int64_t around_ms, struct buf *ret,
			    size_t *ret_count, struct err *err);
void ownership_question_unref(struct ownership_question *q); /* accepts NULL */

void ownership_metrics(struct ownership_cache *o, struct prom *out);

/* ---- lb/gate/ownership_ask.c: over HTTP
 * --------------------------------------------------- */

struct ownership_link;
/* Puts the answer's body into ret. -EHOSTDOWN: no answer; -EACCES: this load balancer
 * may not ask. *link is created if NULL, and again for each generation of the site; it
 * belongs to one thread. */
int ownership_link_ask(struct ownership_link **link, const struct site_api *api,
		       uint64_t generation, const char *user_agent,
		       const atomic_bool *stop, const struct ownership_ask *q,
		       struct buf *ret, struct err *err);
void ownership_link_free(struct ownership_link *l); /* accepts NULL */

#endif
