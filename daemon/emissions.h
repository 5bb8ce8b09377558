/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_EMISSIONS_H
#define CEEMS_DAEMON_EMISSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/emissions/emission.h"
#include "lib/err.h"

struct options;

/*
 * This node's emission factors: the built-in tables, and what ceems-courier fetched
 * last. The collector exports all of them; emissions_current() is the one for
 * converting joules to grams. Calls are serialised by the daemon's lock.
 */
struct emissions;

/* Reads the tables. If one cannot be read, err says so, and rc is 0 all the same; fails
 * only for lack of memory. */
int emissions_new(const struct options *o, struct emissions **ret, struct err *err);
void emissions_free(struct emissions *e); /* NULL-safe */

/* Whether the provider (index into emission_providers) is enabled. */
bool emissions_enabled(const struct options *o, size_t provider);

/* Adds a provider's factors, replacing those of the same zones. The set is emptied. */
int emissions_take(struct emissions *e, size_t provider, struct emission_set *s,
		   struct err *err);
/* Result of its last fetch: 0 or negative errno. Before the first: -EINPROGRESS. */
void emissions_set_health(struct emissions *e, size_t provider, int rc);
int emissions_health(const struct emissions *e, size_t provider);

/* Takes the latest messages of ceems-courier; link may be NULL.
 * daemon/emissions_link.c */
struct child_link;
void emissions_refresh(struct emissions *e, struct child_link *link);

/* Borrowed until the next take. */
const struct emission_set *emissions_of(const struct emissions *e, size_t provider);

/* Whether it is older than --emissions.max-age. Tables never are. */
bool emissions_is_stale(const struct emissions *e, size_t provider,
			const struct emission_factor *f, uint64_t now_s);

/* Whether the zone is in --emissions.zone, or that is empty. */
bool emissions_wanted_zone(const struct emissions *e, const char *zone);

struct emissions_now {
	uint64_t mg_per_kwh;
	const char *provider; /* its name; static */
	char zone[EMISSION_ZONE_BYTES];
};

/* This node's factor now: that of the first provider, in the order of
 * --emissions.prefer, with one that is fresh enough for one of --emissions.zone, in the
 * order given. The world's mean fits every zone. A single-zone provider that was
 * configured by name is used even without a zone. -ENODATA: none. */
int emissions_current(const struct emissions *e, uint64_t now_s,
		      struct emissions_now *ret);

/* The same for energy ticks: checks for news every ten seconds. NULL: none. Borrowed
 * until the next call. */
const struct emissions_now *emissions_tick(struct emissions *e, struct child_link *link,
					   uint64_t now_s);

#endif
