/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_OWNERSHIP_IMPL_H
#define CEEMS_LB_GATE_OWNERSHIP_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "lb/gate/lru.h"
#include "lb/gate/ownership.h"
#include "lb/gate/thread_pool.h"
#include "lib/log.h"

/* Shared by ownership.c (the cache) and ownership_question.c (the questions). */

#define OWNERSHIP_ENTRIES 100000u
#define OWNERSHIP_ID_BYTES 128u  /* longest id of a unit (doc/api.md) */
#define OWNERSHIP_IDS_MAX 10000u /* of one question (doc/api.md) */

struct ownership_cache {
	struct ownership_params params;
	struct thread_pool *pool;
	struct lru *units, *lists, *roles;
	pthread_mutex_t mutex; /* protects the members below */
	struct site *site;
	uint64_t generation; /* of the site */
	uint32_t entries;    /* limit for units */
	struct ownership_question *asking;
	struct log_repeat failures;

	atomic_uint_fast64_t hits, misses;
	atomic_uint_fast64_t questions, joined, failed, ask_ns, units_asked, ahead;
};

enum ownership_kind {
	KIND_UNITS = 'u',
	KIND_LIST = 'l',
	KIND_ROLE = 'r',
	KIND_LATEST = 'a', /* units that were asked for in addition */
	KIND_AHEAD = 'h',  /* that it was asked ahead of time */
};

/* kind, login, cluster, whether the user is only named, uid (NULL: none): the beginning
 * of each key, since one login may be two people, and roles widen answers */
void ownership_key(struct buf *out, enum ownership_kind kind, const char *login,
		   const char *cluster, const uint32_t *uid, bool named);
/* Caches the answer to a question. Mutex held. */
void ownership_remember(struct ownership_cache *o, const struct ownership_ask *ask,
			const struct ownership_answer *a, int64_t as_of_ms,
			uint64_t boot_ms, const struct ownership_rules *rules);
/* Whether there is an answer about a unit that was asked for at since_ms or later. */
bool ownership_is_known(struct ownership_cache *o, const struct ownership_ask *ask,
			struct str id, uint64_t since_ms, uint64_t boot_ms);
/* Literals of the units that may be filled in, as ownership_look_list(). */
int ownership_pick(const struct ownership_rules *rules,
		   const struct ownership_unit *units, size_t count,
		   const struct ownership_answer_time *t, int64_t from_ms,
		   int64_t to_ms, int64_t around_ms, struct buf *ret,
		   size_t *ret_count);
/* Whether a text can be a unit's id; if not, it is not asked about. */
bool ownership_is_id(struct str id);

/* ---- lb/gate/ownership_ahead.c: questions before anybody waits for the answer ---- */

/* How many of the user's latest units a question should also ask for. Mutex held. */
uint32_t ownership_ahead_count(struct ownership_cache *o,
			       const struct ownership_ask *ask, uint64_t boot_ms,
			       const struct ownership_rules *rules);
/* Records the outcome of that. Mutex held. */
void ownership_ahead_note(struct ownership_cache *o, const struct ownership_ask *ask,
			  const struct ownership_answer *a, uint64_t boot_ms,
			  const struct ownership_rules *rules);
/* Whether an answer that grants access is old enough to be refreshed. */
bool ownership_ages(const struct ownership_rules *rules, int64_t age_ms);
/* Refreshes these claims, with nobody waiting; once a second per user. */
void ownership_refresh(struct ownership_cache *o, const struct ownership_who *who,
		       const struct access_claim *claims, size_t count);

/* ---- lb/gate/ownership_question.c ------------------------------------------------ */

/* Asks about the claims that have this answer, with nobody waiting. */
void ownership_ask_again(struct ownership_cache *o, const struct ownership_who *who,
			 const struct access_claim *claims, size_t count,
			 enum access_answer which);

/* ---- lb/gate/ownership.c --------------------------------------------------------- */

/* Rounds the times of lists to full minutes, so that the same question is asked
 * again. */
void ownership_round(int64_t *from_ms, int64_t *to_ms);

#endif
