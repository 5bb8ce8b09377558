/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes emission factors from ceems-courier's messages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/emissions.h"
#include "daemon/sources/child_link.h"
#include "lib/cleanup.h"

static int take_factors(struct emissions *e, size_t provider,
			const struct child_factors *m)
{
	struct emission_set s = {0};
	int rc = 0;

	for (uint32_t i = 0; i < m->head.count && rc == 0; i++) {
		const struct child_factor *f = &m->factors[i];
		rc = emission_set_put(&s, f->zone, f->country,
				      (double)f->mg_per_kwh / 1000.0, f->time_s, NULL);
	}
	if (rc == 0)
		return emissions_take(e, provider, &s, NULL);
	emission_set_done(&s);
	return rc;
}

void emissions_refresh(struct emissions *e, struct child_link *link)
{
	auto_free void *message = link ? malloc(CHILD_MESSAGE_MAX) : NULL;
	char name[CHILD_NAME_BYTES];

	for (size_t i = 0; message && i < emission_providers_count; i++) {
		if (!emission_providers[i].fetched)
			continue;
		(void)snprintf(name, sizeof(name), "emissions_%s",
			       emission_providers[i].name);
		if (child_link_get(link, CHILD_FACTORS, name, message,
				   CHILD_MESSAGE_MAX) > 0)
			(void)take_factors(e, i, message);
		if (child_link_get(link, CHILD_HEALTH, name, message,
				   CHILD_MESSAGE_MAX) > 0)
			emissions_set_health(
				e, i, ((const struct child_health *)message)->rc);
	}
}
