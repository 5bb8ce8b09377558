/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hardware counters from one daemon to the next: only differences that are certain. */
#include "daemon/sources/meter_checkpoint.h"

#include "daemon/sources/energy_counter.h"
#include "daemon/sources/source.h"

#define FNV_BASIS 14695981039346656037ull
#define FNV_PRIME 1099511628211ull

static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * FNV_PRIME;
	return h * FNV_PRIME; /* so that "ab", "c" and "a", "bc" differ */
}

static uint64_t id_of(const struct source_channel *c)
{
	return hash_text(hash_text(FNV_BASIS ^ c->epoch, c->name), c->chip);
}

struct meter_checkpoint_channel meter_checkpoint_of(uint32_t source,
						    const struct source_channel *c,
						    uint64_t raw, uint64_t measured_ns)
{
	return (struct meter_checkpoint_channel){.source = source,
						 .index = c->index,
						 .kind = (uint16_t)c->kind,
						 .domain = (uint16_t)c->domain,
						 .id = id_of(c),
						 .raw = raw,
						 .range_uj = c->range_uj,
						 .measured_ns = measured_ns};
}

bool meter_checkpoint_is(const struct meter_checkpoint_channel *k, uint32_t source,
			 const struct source_channel *c)
{
	return k->source == source && k->index == c->index && k->kind == c->kind &&
	       k->domain == c->domain && k->id == id_of(c);
}

bool meter_checkpoint_gain(const struct meter_checkpoint_channel *k,
			   const struct source_channel *c, uint64_t *ret_uj)
{
	struct energy_counter e = {.range_uj = c->range_uj, .worst_uw = c->worst_uw};

	if (!c->worst_uw || c->range_uj != k->range_uj)
		return false;
	(void)energy_counter_take(&e, k->raw, k->measured_ns);
	if (energy_counter_take(&e, c->raw, c->measured_ns) != ENERGY_STEP_COUNTED)
		return false;
	*ret_uj = e.total_uj;
	return true;
}
