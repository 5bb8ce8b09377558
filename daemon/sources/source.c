/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots of energy sources, and the health metrics of every source. */
#include "daemon/sources/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/clock.h"

#define FIRST_CHANNELS 16
/* Longer than the longest configurable period between samplings */
#define STALE_NS (90 * NSEC_PER_SEC)

static const struct prom_family family_age = {
	"ceems_energy_source_age_seconds", PROM_GAUGE,
	"Time since the source's newest measurement (clock of ceemsd)"};
static const struct prom_family family_resets = {
	"ceems_energy_source_resets_total", PROM_COUNTER,
	"Times that a counter of the source was set back, leapt or may have wrapped "
	"unseen: nothing was added (ceemsd)"};

void source_snapshot_done(struct source_snapshot *s)
{
	free(s->channels);
	*s = (struct source_snapshot){.filtering = -1};
}

void source_snapshot_reset(struct source_snapshot *s)
{
	*s = (struct source_snapshot){
		.channels = s->channels, .cap = s->cap, .filtering = -1};
}

static int grow_snapshot(struct source_snapshot *s, size_t cap)
{
	if (cap > SOURCE_CHANNELS_MAX)
		return -EFBIG;
	struct source_channel *p = realloc(s->channels, cap * sizeof(*p));
	if (!p)
		return -ENOMEM;
	s->channels = p;
	s->cap = cap;
	return 0;
}

struct source_channel *source_snapshot_add(struct source_snapshot *s)
{
	if (s->count == s->cap &&
	    grow_snapshot(s, s->cap ? s->cap * 2 : FIRST_CHANNELS) < 0)
		return NULL;
	struct source_channel *c = &s->channels[s->count++];
	memset(c, 0, sizeof(*c));
	return c;
}

int source_snapshot_copy(struct source_snapshot *to, const struct source_snapshot *from)
{
	struct source_channel *channels;

	if (to->cap < from->count) {
		int rc = grow_snapshot(to, from->count);
		if (rc < 0)
			return rc;
	}
	channels = to->channels;
	size_t cap = to->cap;
	*to = *from;
	to->channels = channels;
	to->cap = cap;
	if (from->count)
		memcpy(channels, from->channels, from->count * sizeof(*channels));
	return 0;
}

uint64_t source_newest_ns(const struct source_snapshot *s)
{
	uint64_t newest = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct source_channel *c = &s->channels[i];
		if ((c->kind == SOURCE_ENERGY || c->kind == SOURCE_POWER ||
		     c->kind == SOURCE_POWER_AVG) &&
		    c->measured_ns > newest)
			newest = c->measured_ns;
	}
	return newest;
}

bool source_is_stale(const struct source_channel *c, uint64_t now_ns)
{
	return now_ns > c->measured_ns && now_ns - c->measured_ns > STALE_NS;
}

void source_put_health(struct prom *out, const char *source,
		       const struct source_snapshot *s, uint64_t now_ns)
{
	struct prom_label label = {"source", source};
	uint64_t newest = source_newest_ns(s);

	if (newest) {
		prom_family(out, &family_age);
		prom_put_scaled(out, &label, 1,
				now_ns > newest ? (now_ns - newest) / NSEC_PER_MSEC : 0,
				3);
	}
	prom_family(out, &family_resets);
	prom_put_u64(out, &label, 1, s->resets);
}
