/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of emission factors, and the providers' names. */
#include "lib/emissions/emission.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"

const struct emission_provider emission_providers[] = {
	{"emaps", "Electricity Maps", true}, {"file", "File", true},
	{"global", "World Average", false},  {"owid", "OWID", false},
	{"rte", "RTE eCO2 Mix", true},       {"wt", "Watt Time", true},
};
const size_t emission_providers_count =
	sizeof(emission_providers) / sizeof(emission_providers[0]);

int emission_provider_find(const char *name)
{
	for (size_t i = 0; i < emission_providers_count; i++) {
		if (strcmp(emission_providers[i].name, name) == 0)
			return (int)i;
	}
	return -ENOENT;
}

bool emission_zone_valid(const char *zone)
{
	size_t n = strlen(zone);

	return n && n < EMISSION_ZONE_BYTES &&
	       strspn(zone, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			    "0123456789._-") == n;
}

void emission_set_done(struct emission_set *s)
{
	free(s->items);
	memset(s, 0, sizeof(*s));
}

/* The position where the zone is or would be; *found tells which. */
static size_t search_zone(const struct emission_set *s, const char *zone, bool *found)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(s->items[mid].zone, zone);
		if (c == 0) {
			*found = true;
			return mid;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*found = false;
	return low;
}

const struct emission_factor *emission_set_find(const struct emission_set *s,
						const char *zone)
{
	bool found;
	size_t i = search_zone(s, zone, &found);

	return found ? &s->items[i] : NULL;
}

static int grow_factor_set(struct emission_set *s, struct err *err)
{
	if (s->count < s->cap)
		return 0;
	if (s->count >= EMISSION_FACTORS_MAX)
		return err_set(err, -E2BIG, "more than %d zones", EMISSION_FACTORS_MAX);
	size_t cap = s->cap ? 2 * s->cap : 8;
	struct emission_factor *more = realloc(s->items, cap * sizeof(*more));
	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	s->items = more;
	s->cap = cap;
	return 0;
}

/* A text for people, cut at a character; control characters become blanks. */
static void set_country(struct emission_factor *f, const char *country)
{
	size_t n = 0, len;

	if (!country || !*country)
		country = f->zone;
	for (const char *p = country; *p; p += len) {
		len = utf8_len(p, strnlen(p, 4));
		bool bad = !len || (unsigned char)*p < 0x20 || *p == 0x7f;
		if (!len)
			len = 1;
		if (n + len >= sizeof(f->country))
			break;
		memcpy(f->country + n, p, len);
		if (bad)
			f->country[n] = ' ';
		n += len;
	}
	f->country[n] = '\0';
}

int emission_set_put(struct emission_set *s, const char *zone, const char *country,
		     double grams_per_kwh, uint64_t time_s, struct err *err)
{
	bool found;

	if (!emission_zone_valid(zone))
		return err_set(err, -EINVAL, "not a zone: \"%.40s\"", zone);
	/* NaN compares false with everything */
	if (!(grams_per_kwh >= 0.0 && grams_per_kwh * 1000.0 <= EMISSION_MG_MAX))
		return err_set(err, -EINVAL, "%s: %g g/kWh is out of range", zone,
			       grams_per_kwh);
	size_t at = search_zone(s, zone, &found);
	if (found && s->items[at].time_s > time_s)
		return 0;
	if (!found) {
		int rc = grow_factor_set(s, err);
		if (rc < 0)
			return rc;
		memmove(&s->items[at + 1], &s->items[at],
			(s->count - at) * sizeof(*s->items));
		s->count++;
	}
	struct emission_factor *f = &s->items[at];
	memset(f, 0, sizeof(*f));
	(void)snprintf(f->zone, sizeof(f->zone), "%s", zone);
	set_country(f, country);
	f->mg_per_kwh = (uint64_t)(grams_per_kwh * 1000.0 + 0.5);
	f->time_s = time_s;
	return 0;
}
