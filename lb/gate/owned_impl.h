/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_OWNED_IMPL_H
#define CEEMS_LB_GATE_OWNED_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "lb/gate/crew.h"
#include "lb/gate/lru.h"
#include "lb/gate/owned.h"
#include "lib/log.h"

/* Between owned.c (what is remembered) and owned_question.c (what is asked). */

#define OWNED_ENTRIES 100000u
#define OWNED_ID_BYTES 128u  /* longest id of a unit (doc/api.md) */
#define OWNED_IDS_MAX 10000u /* of one question (doc/api.md) */

struct owned {
	struct owned_params params;
	struct crew *crew;
	struct lru *units, *lists, *roles;
	pthread_mutex_t mutex; /* of what follows */
	struct site *site;
	uint64_t generation; /* of the site */
	uint32_t entries;    /* that units may have */
	struct owned_question *asking;
	struct log_repeat failures;

	atomic_uint_fast64_t hits, misses;
	atomic_uint_fast64_t questions, joined, failed, ask_ns, units_asked, ahead;
};

enum owned_kind {
	KIND_UNITS = 'u',
	KIND_LIST = 'l',
	KIND_ROLE = 'r',
	KIND_LATEST = 'a', /* what was asked for besides */
	KIND_AHEAD = 'h',  /* that it was tried ahead of time */
};

/* kind, login, cluster, whether that one is only named, uid (NULL: none): what each key
 * begins with, since one login may be two people, and roles widen answers */
void owned_key(struct buf *out, enum owned_kind kind, const char *login,
	       const char *cluster, const uint32_t *uid, bool named);
/* Mutex held: what a question was answered with is remembered. */
void owned_remember(struct owned *o, const struct owned_ask *ask,
		    const struct owned_answer *a, int64_t as_of_ms, uint64_t boot_ms,
		    const struct owned_rules *rules);
/* Whether an answer about a unit that was asked for since since_ms is remembered. */
bool owned_is_known(struct owned *o, const struct owned_ask *ask, struct str id,
		    uint64_t since_ms, uint64_t boot_ms);
/* Literals of the units that may be filled in; as owned_look_list(). */
int owned_pick(const struct owned_rules *rules, const struct owned_unit *units,
	       size_t count, const struct owned_answer_time *t, int64_t from_ms,
	       int64_t to_ms, int64_t around_ms, struct buf *ret, size_t *ret_count);
/* Whether a text can be the id of a unit: what cannot is not asked for. */
bool owned_is_id(struct str id);

/* ---- lb/gate/owned_ahead.c: what is asked before anybody waits for it
 * ------------------
 */

/* Mutex held: of how many of the user's latest units a question is to ask besides. */
uint32_t owned_ahead_count(struct owned *o, const struct owned_ask *ask,
			   uint64_t boot_ms, const struct owned_rules *rules);
/* Mutex held: what became of that. */
void owned_ahead_note(struct owned *o, const struct owned_ask *ask,
		      const struct owned_answer *a, uint64_t boot_ms,
		      const struct owned_rules *rules);
/* Whether what opens is so old that it is to be asked for again. */
bool owned_ages(const struct owned_rules *rules, int64_t age_ms);
/* Asks for these claims again, for nobody; a user once in a second. */
void owned_refresh(struct owned *o, const struct owned_who *who,
		   const struct access_claim *claims, size_t count);

/* ---- lb/gate/owned_question.c
 * ----------------------------------------------------------
 */

/* Asks for the claims that have this answer, for nobody. */
void owned_ask_again(struct owned *o, const struct owned_who *who,
		     const struct access_claim *claims, size_t count,
		     enum access_answer which);

/* ---- lb/gate/owned.c
 * -------------------------------------------------------------------
 */

/* Times of lists are asked for in full minutes, so that they are asked for again. */
void owned_round(int64_t *from_ms, int64_t *to_ms);

#endif
