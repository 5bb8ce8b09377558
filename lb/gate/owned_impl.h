/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_OWNED_IMPL_H
#define CEEMS_LB_GATE_OWNED_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "lb/gate/lru.h"
#include "lb/gate/owned.h"
#include "lb/gate/thread_pool.h"
#include "lib/log.h"

/* Shared by owned.c (the cache) and owned_question.c (the questions). */

#define OWNED_ENTRIES 100000u
#define OWNED_ID_BYTES 128u  /* longest id of a unit (doc/api.md) */
#define OWNED_IDS_MAX 10000u /* of one question (doc/api.md) */

struct owned {
	struct owned_params params;
	struct thread_pool *pool;
	struct lru *units, *lists, *roles;
	pthread_mutex_t mutex; /* protects the members below */
	struct site *site;
	uint64_t generation; /* of the site */
	uint32_t entries;    /* limit for units */
	struct owned_question *asking;
	struct log_repeat failures;

	atomic_uint_fast64_t hits, misses;
	atomic_uint_fast64_t questions, joined, failed, ask_ns, units_asked, ahead;
};

enum owned_kind {
	KIND_UNITS = 'u',
	KIND_LIST = 'l',
	KIND_ROLE = 'r',
	KIND_LATEST = 'a', /* units that were asked for in addition */
	KIND_AHEAD = 'h',  /* that it was asked ahead of time */
};

/* kind, login, cluster, whether the user is only named, uid (NULL: none): the beginning
 * of each key, since one login may be two people, and roles widen answers */
void owned_key(struct buf *out, enum owned_kind kind, const char *login,
	       const char *cluster, const uint32_t *uid, bool named);
/* Caches the answer to a question. Mutex held. */
void owned_remember(struct owned *o, const struct owned_ask *ask,
		    const struct owned_answer *a, int64_t as_of_ms, uint64_t boot_ms,
		    const struct owned_rules *rules);
/* Whether there is an answer about a unit that was asked for at since_ms or later. */
bool owned_is_known(struct owned *o, const struct owned_ask *ask, struct str id,
		    uint64_t since_ms, uint64_t boot_ms);
/* Literals of the units that may be filled in, as owned_look_list(). */
int owned_pick(const struct owned_rules *rules, const struct owned_unit *units,
	       size_t count, const struct owned_answer_time *t, int64_t from_ms,
	       int64_t to_ms, int64_t around_ms, struct buf *ret, size_t *ret_count);
/* Whether a text can be a unit's id; if not, it is not asked about. */
bool owned_is_id(struct str id);

/* ---- lb/gate/owned_ahead.c: questions before anybody waits for the answer ------- */

/* How many of the user's latest units a question should also ask for. Mutex held. */
uint32_t owned_ahead_count(struct owned *o, const struct owned_ask *ask,
			   uint64_t boot_ms, const struct owned_rules *rules);
/* Records the outcome of that. Mutex held. */
void owned_ahead_note(struct owned *o, const struct owned_ask *ask,
		      const struct owned_answer *a, uint64_t boot_ms,
		      const struct owned_rules *rules);
/* Whether an answer that grants access is old enough to be refreshed. */
bool owned_ages(const struct owned_rules *rules, int64_t age_ms);
/* Refreshes these claims, with nobody waiting; once a second per user. */
void owned_refresh(struct owned *o, const struct owned_who *who,
		   const struct access_claim *claims, size_t count);

/* ---- lb/gate/owned_question.c --------------------------------------------------- */

/* Asks about the claims that have this answer, with nobody waiting. */
void owned_ask_again(struct owned *o, const struct owned_who *who,
		     const struct access_claim *claims, size_t count,
		     enum access_answer which);

/* ---- lb/gate/owned.c ------------------------------------------------------------ */

/* Rounds the times of lists to full minutes, so that the same question is asked
 * again. */
void owned_round(int64_t *from_ms, int64_t *to_ms);

#endif
