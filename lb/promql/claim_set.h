/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_CLAIM_SET_H
#define CEEMS_LB_PROMQL_CLAIM_SET_H

#include <stddef.h>
#include <stdint.h>

#include "lb/promql/access.h"

/* A plan's claims in the order in which they were made, each (id, time, time range)
 * once. */
struct claim_set {
	struct access_claim *claims;
	size_t count, room;
	uint32_t *index; /* hash table of claim number + 1; a power of two of slots */
	size_t slots;
	uint64_t key[2]; /* of the hash; 0 while there are few claims */
};

/* Zero-initialise. -E2BIG: more than ACCESS_CLAIMS_MAX; -ENOMEM. The id's bytes are
 * borrowed. */
int claim_set_add(struct claim_set *s, const struct access_claim *c)
	__attribute__((warn_unused_result));
void claim_set_done(struct claim_set *s);

#endif
