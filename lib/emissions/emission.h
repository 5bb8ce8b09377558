/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_EMISSIONS_EMISSION_H
#define CEEMS_LIB_EMISSIONS_EMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Emission factors: what a kilowatt-hour of electricity emitted, by provider and zone.
 * Used by what fetches them (courier/) and what shows or applies them. Not thread safe.
 * Everything from outside goes through emission_set_put(), which refuses impossible
 * values.
 */

enum {
	EMISSION_ZONE_BYTES = 32,
	EMISSION_COUNTRY_BYTES = 64,
	/* Limit per provider: Electricity Maps has some 350 zones, OWID 250
	 * countries. */
	EMISSION_FACTORS_MAX = 1024
};

/* 3 kg/kWh. The dirtiest grids, and single plants on lignite or oil, are at 1.3;
 * anything above the limit is broken or in another unit. */
#define EMISSION_MG_MAX 3000000u

struct emission_factor {
	char zone[EMISSION_ZONE_BYTES];       /* label country_code: [A-Za-z0-9._-]+ */
	char country[EMISSION_COUNTRY_BYTES]; /* label country */
	uint64_t mg_per_kwh;                  /* milligrams CO2 equivalent */
	uint64_t time_s; /* since 1970 UTC: when it was valid; of a year: its end */
};

struct emission_set {
	struct emission_factor *items; /* owned, sorted by zone */
	size_t count, cap;
};

void emission_set_done(struct emission_set *s); /* may be used again after it */
/* Adds a zone, or replaces it unless the one there is newer. country NULL or "": the
 * zone's code. -EINVAL: impossible zone or value (NaN, negative, above
 * EMISSION_MG_MAX); -E2BIG: too many zones. */
int emission_set_put(struct emission_set *s, const char *zone, const char *country,
		     double grams_per_kwh, uint64_t time_s, struct err *err);
/* Borrowed until the set changes, or NULL. */
const struct emission_factor *emission_set_find(const struct emission_set *s,
						const char *zone);

bool emission_zone_valid(const char *zone);

/* A provider by its label value. Sorted by name. */
struct emission_provider {
	const char *name;    /* label provider: the peer's spelling */
	const char *display; /* label provider_name */
	/* Fetched from a service: its factors age, and come through ceems-courier. The
	 * others are fixed at build or start. */
	bool fetched;
};
extern const struct emission_provider emission_providers[];
extern const size_t emission_providers_count;
/* Index into the table or -ENOENT. */
int emission_provider_find(const char *name);

/* Yearly means per country by Our World in Data: contrib/emissions/owid.csv, built
 * in. */
int emission_owid(struct emission_set *ret, struct err *err);
/* Parses such a table: "code,code3,country,year,grams_per_kwh" and # comments. A bad
 * line is an error that names it. Adds to ret. */
int emission_owid_parse(const char *text, size_t len, struct emission_set *ret,
			struct err *err);
/* The world's mean: one zone, ZZ. */
int emission_global(struct emission_set *ret, struct err *err);

#endif
