/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_KNOWN_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instances whose row the database certainly has, so that an interval report need not
 * identify its unit each time, how their times are placed
 * (aggregator/ingest/ingest_place.h), and which node alone may tell of them. Bounded:
 * forgets everything when full. Thread safe. */

struct known;

struct known_place {
	int64_t shift_ms; /* added to all its times */
	bool flagged;     /* only a wall clock knows them (unit_node.over_by) */
	uint64_t owner;   /* known_owner() of the node that it is of, 0: not known */
};

struct known *known_new(size_t max); /* NULL: no memory */
void known_free(struct known *k);    /* accepts NULL */
/* Sets *ret if it is there. */
bool known_has(struct known *k, int64_t instance, struct known_place *ret);
/* Adds or changes. */
void known_put(struct known *k, int64_t instance, struct known_place at);
/* Forgets everything: the database was down and may be another one now, or another
 * aggregator has moved instances. */
void known_forget(struct known *k);
/* How often everything was forgotten that way. */
uint64_t known_forgotten(struct known *k);
size_t known_count(struct known *k);
/* A number for a node, other for each map. 0: a name is NULL, since there was no memory
 * for it. */
uint64_t known_owner(const struct known *k, const char *cluster, const char *node);

#endif
