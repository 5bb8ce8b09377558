/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_EMISSIONS_H
#define CEEMS_DAEMON_EMISSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/emission.h"
#include "lib/err.h"

struct options;

/*
 * What this node knows of emission factors: the tables that need nobody, and what
 * ceems-courier learnt last. The collector shows all of it; whoever turns joules into
 * grams takes emissions_current(). Calls are serialised by the daemon's lock.
 */
struct emissions;

/* Reads the tables. A table that cannot be read is said in err and missing, rc is then
 * still 0 but err is not empty; fails for lack of memory only. */
int emissions_new(const struct options *o, struct emissions **ret, struct err *err);
void emissions_free(struct emissions *e); /* NULL-safe */

/* Is the provider (index into emission_providers) one of those that are wanted? */
bool emissions_enabled(const struct options *o, size_t provider);

/* Takes over what a provider said: its factors replace those of the same zones. The set
 * is emptied. */
int emissions_take(struct emissions *e, size_t provider, struct emission_set *s,
		   struct err *err);
/* How its last fetch went: 0 or negative errno. Before the first: -EINPROGRESS. */
void emissions_set_health(struct emissions *e, size_t provider, int rc);
int emissions_health(const struct emissions *e, size_t provider);

/* Takes over what ceems-courier has said; link may be NULL. daemon/emissions_link.c */
struct courier_link;
void emissions_refresh(struct emissions *e, struct courier_link *link);

/* Borrowed until the next take. */
const struct emission_set *emissions_of(const struct emissions *e, size_t provider);

/* Is it too old to be of now (--emissions.max-age)? Tables never are. */
bool emissions_is_stale(const struct emissions *e, size_t provider,
			const struct emission_factor *f, uint64_t now_s);

/* Is the zone one of --emissions.zone? With none given all are. */
bool emissions_wanted_zone(const struct emissions *e, const char *zone);

struct emissions_now {
	uint64_t mg_per_kwh;
	const char *provider; /* its name; static */
	char zone[EMISSION_ZONE_BYTES];
};

/* The factor of this node, now: of the providers in the order of --emissions.prefer the
 * first that has one, not too old, for one of --emissions.zone in the order given. The
 * world's mean serves every zone. A provider of one single zone that was asked for by
 * name serves also where no zone was given. -ENODATA: none. */
int emissions_current(const struct emissions *e, uint64_t now_s,
		      struct emissions_now *ret);

/* The same at the pace of energy ticks: looks for news every ten seconds. NULL: none.
 * Borrowed until the next call. */
const struct emissions_now *emissions_tick(struct emissions *e,
					   struct courier_link *link, uint64_t now_s);

#endif
