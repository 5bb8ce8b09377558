/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Meters from one daemon to the next: the counters of an earlier one are kept here
 * until their sensors are read again. */
#include "daemon/sources/meters_impl.h"

static unsigned slot_of_checkpoint(const struct meter_checkpoint_channel *k)
{
	return meters_slot_in((enum source_kind)k->kind, (enum source_domain)k->domain,
			      k->index);
}

static void drop_waiting(struct meters *m, size_t i)
{
	m->waiting[i] = m->waiting[--m->waiting_count];
}

bool meters_waits(const struct meters *m, uint32_t source, unsigned slot)
{
	for (size_t i = 0; i < m->waiting_count; i++) {
		if (m->waiting[i].source == source &&
		    slot_of_checkpoint(&m->waiting[i]) == slot)
			return true;
	}
	return false;
}

void meters_resume(struct meters *m, const struct meter_checkpoint *from,
		   uint64_t now_ns)
{
	m->resumed_ns = now_ns;
	for (uint64_t i = 0; i < from->count && i < METER_CHECKPOINT_CHANNELS; i++) {
		const struct meter_checkpoint_channel *k = &from->channel[i];
		struct feed *f = k->source < SOURCES ? &m->feeds[k->source] : NULL;
		unsigned slot = slot_of_checkpoint(k);
		if (!f || !f->source || slot == METERS_SLOTS)
			continue;
		if (sampler_is_open(m->sampler, f->source, NULL) < 0) {
			f->gaps++;
			continue;
		}
		f->gap_ns = meters_gap_ns(m, f);
		m->waiting[m->waiting_count++] = *k;
		if (k->measured_ns > f->sums[slot].measured_ns)
			f->sums[slot].measured_ns = k->measured_ns;
	}
	if (m->feeds[MODEL].source)
		sampler_resume(m->sampler, m->feeds[MODEL].source, &from->mark);
}

bool meters_take_up(struct meters *m, uint32_t source, struct track *t)
{
	const struct meter_checkpoint_channel *k = m->waiting,
					      *end = k + m->waiting_count;
	struct source_channel *c = &t->channel;
	struct feed *f = &m->feeds[source];
	struct sum *s = &f->sums[t->slot];
	uint64_t gain_uj;
	bool known;

	while (k < end && !meter_checkpoint_is(k, source, c))
		k++;
	if (k == end)
		return false;
	if (is_power(c->kind)) {
		/* advance() integrates from there */
		known = c->measured_ns <= k->measured_ns + f->gap_ns;
		c->value = known ? k->raw : c->value;
		c->measured_ns = known ? k->measured_ns : c->measured_ns;
	} else {
		known = meter_checkpoint_gain(k, c, &gain_uj);
		s->total_uj += known ? gain_uj : 0;
		s->gained = s->gained || known;
	}
	if (known) {
		t->taken_raw = k->raw;
		t->taken_ns = k->measured_ns;
	}
	f->gaps += !known;
	drop_waiting(m, (size_t)(k - m->waiting));
	return known;
}

/* Gives up what is still unread: power after the gap, counters after the first
 * ticks. */
void meters_give_up(struct meters *m, uint64_t now_ns)
{
	for (size_t i = 0; i < m->waiting_count;) {
		const struct meter_checkpoint_channel *k = &m->waiting[i];
		struct feed *f = &m->feeds[k->source];
		bool power = k->kind != SOURCE_ENERGY;
		uint64_t until_ns = power ? k->measured_ns + f->gap_ns
					  : m->resumed_ns + METERS_RESUME_NS;
		if (now_ns <= until_ns) {
			i++;
			continue;
		}
		f->gaps++;
		drop_waiting(m, i);
	}
}

/* Whether the channel keeps waiting when its slot is taken: it does if its own source
 * measured the slot. If another source did, the channel's time has been divided
 * already. */
static bool outlives_meter(const struct meters *m,
			   const struct meter_checkpoint_channel *k)
{
	const struct meter *meter = &m->meters[slot_of_checkpoint(k)];

	return meter->fresh && meter->source == k->source;
}

static void keep_channel(struct meter_checkpoint *to,
			 const struct meter_checkpoint_channel *k)
{
	if (to->count < METER_CHECKPOINT_CHANNELS)
		to->channel[to->count++] = *k;
}

static void keep_feed(const struct meters *m, uint32_t source,
		      const bool take[METERS_SLOTS], struct meter_checkpoint *to)
{
	const struct feed *f = &m->feeds[source];

	for (size_t i = 0; i < f->count; i++) {
		const struct track *t = &f->tracks[i];
		const struct source_channel *c = &t->channel;
		struct meter_checkpoint_channel k =
			take[t->slot] ? meter_checkpoint_of(source, c, raw_of(c),
							    c->measured_ns)
				      : meter_checkpoint_of(source, c, t->taken_raw,
							    t->taken_ns);
		keep_channel(to, &k);
	}
}

void meters_keep(const struct meters *m, const bool take[METERS_SLOTS],
		 struct meter_checkpoint *to)
{
	to->count = 0;
	for (uint32_t i = 1; i < SOURCES; i++)
		keep_feed(m, i, take, to);
	for (size_t i = 0; i < m->waiting_count; i++) {
		const struct meter_checkpoint_channel *k = &m->waiting[i];
		if (!take[slot_of_checkpoint(k)] || outlives_meter(m, k))
			keep_channel(to, k);
	}
	to->mark = m->feeds[MODEL].snapshot.mark;
}

void meters_drop(struct meters *m, unsigned slot)
{
	for (size_t i = m->waiting_count; i-- > 0;) {
		if (slot_of_checkpoint(&m->waiting[i]) == slot &&
		    !outlives_meter(m, &m->waiting[i]))
			drop_waiting(m, i);
	}
}

uint64_t meters_gaps(const struct meters *m, uint32_t source)
{
	return m->feeds[source].gaps;
}

bool meters_has(const struct meters *m, uint32_t source)
{
	const struct feed *f = &m->feeds[source];

	return f->gaps ||
	       (f->source && sampler_is_open(m->sampler, f->source, NULL) == 0);
}
