/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What providers of emission factors answer: the first byte says which parser reads the
 * rest. Whatever comes, factors are in their bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/emissions/emissions.h"
#include "lib/rfc3339.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *arg, const char *zone, const char *name)
{
	if (!emission_zone_valid(zone) || !name)
		abort();
	++*(size_t *)arg;
}

static void times(const char *text, size_t len)
{
	char copy[64], again[RFC3339_BYTES];
	uint64_t t, back;

	size_t n = len < sizeof(copy) - 1 ? len : sizeof(copy) - 1;
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (rfc3339_parse(copy, &t) < 0)
		return;
	rfc3339_print(t, again);
	if (rfc3339_parse(again, &back) < 0 || back != t)
		abort();
}

static int run(unsigned which, const char *text, size_t len, struct emission_set *s,
	       struct err *err)
{
	char token[64] = "";
	size_t zones = 0;
	int rc;

	switch (which) {
	case 'r':
		return emissions_rte_parse(text, len, s, err);
	case 'e':
		return emissions_emaps_parse(text, len, "DE", "Germany", s, err);
	case 'w':
		return emissions_wt_parse(text, len, "CAISO_NORTH", s, err);
	case 'f':
		return emissions_file_parse(text, len, 1754560800, s, err);
	case 'o':
		return emission_owid_parse(text, len, s, err);
	case 'z':
		rc = emissions_emaps_zones_parse(text, len, take, &zones, err);
		if (rc == 0 && !zones)
			abort();
		return rc;
	case 'l':
		rc = emissions_wt_login_parse(text, len, token, sizeof(token), err);
		if ((rc == 0) != (token[0] != '\0'))
			abort();
		return rc;
	case 't':
		times(text, len);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct emission_set s = {0};
	struct err err = {""};

	if (!size)
		return 0;
	int rc = run(data[0], (const char *)data + 1, size - 1, &s, &err);
	if (rc > 0 || (rc < 0 && !err.text[0]))
		abort();
	for (size_t i = 0; i < s.count; i++) {
		const struct emission_factor *f = &s.items[i];
		if (!emission_zone_valid(f->zone) || f->mg_per_kwh > EMISSION_MG_MAX ||
		    !memchr(f->country, '\0', sizeof(f->country)) || !f->country[0] ||
		    (i && strcmp(f[-1].zone, f->zone) >= 0))
			abort();
	}
	emission_set_done(&s);
	return 0;
}
