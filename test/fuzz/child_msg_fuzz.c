/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ceemsd believes of ceems-courier's messages. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/records/child_msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch(const char *s, size_t size)
{
	if (strnlen(s, size) == size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* of its own length, so that reading on is seen */
	uint64_t *copy = malloc(size ? size : 1);
	struct err err;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	int kind = child_msg_check(copy, size, &err);
	if (kind == CHILD_SNAPSHOT) {
		const struct child_snapshot *m = (const void *)copy;
		for (uint32_t i = 0; i < m->head.count; i++) {
			const struct child_channel *c = &m->channels[i];
			touch(c->name, sizeof(c->name));
			touch(c->chip, sizeof(c->chip));
			if (c->kind >= CHILD_CHANNEL_KINDS ||
			    c->domain >= CHILD_DOMAINS)
				abort();
		}
	} else if (kind == CHILD_FACTORS) {
		const struct child_factors *m = (const void *)copy;
		for (uint32_t i = 0; i < m->head.count; i++) {
			const struct child_factor *f = &m->factors[i];
			touch(f->country, sizeof(f->country));
			if (!emission_zone_valid(f->zone) ||
			    f->mg_per_kwh > EMISSION_MG_MAX)
				abort();
		}
	} else if (kind == CHILD_HEALTH) {
		const struct child_health *m = (const void *)copy;
		touch(m->text, sizeof(m->text));
	}
	free(copy);
	return 0;
}
