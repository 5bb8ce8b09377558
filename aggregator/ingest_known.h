/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_KNOWN_H
#define CEEMS_AGGREGATOR_INGEST_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instances that the database surely has a row of, so that an interval report need not
 * say who it is of each time. Bounded: when it is full it forgets all. Thread safe. */

struct known;

struct known *known_new(size_t max); /* NULL: no memory */
void known_free(struct known *k);    /* accepts NULL */
bool known_has(struct known *k, int64_t instance);
void known_add(struct known *k, int64_t instance);
/* The database went away and may come back as another. */
void known_forget(struct known *k);
size_t known_count(struct known *k);

#endif
