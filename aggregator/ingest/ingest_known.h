/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_KNOWN_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instances that the database surely has a row of, so that an interval report need not
 * say who it is of each time, and how far their times are moved
 * (aggregator/ingest/ingest_place.h). Bounded: when it is full it forgets all. Thread
 * safe. */

struct known;

struct known *known_new(size_t max); /* NULL: no memory */
void known_free(struct known *k);    /* accepts NULL */
/* *ret_shift_ms (may be NULL) is set when it is there. */
bool known_has(struct known *k, int64_t instance, int64_t *ret_shift_ms);
/* Adds or changes. */
void known_put(struct known *k, int64_t instance, int64_t shift_ms);
/* The database went away and may come back as another. */
void known_forget(struct known *k);
size_t known_count(struct known *k);

#endif
