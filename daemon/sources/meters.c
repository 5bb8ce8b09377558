/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts snapshots of energy sources to microjoules per domain. Channels are tracked
 * by identity, not position, so that sensors may come and go; energy that was not
 * measured is never made up. */
#include "daemon/sources/meters_impl.h"

#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

/* Readings further apart than this are not integrated over: three periods, within
 * limits that fit all sensors. */
#define GAP_PERIODS 3u
#define GAP_LEAST_NS (10 * NSEC_PER_SEC)
#define GAP_MOST_NS (90 * NSEC_PER_SEC)
#define UW_NS_PER_UJ 1000000000u

/* The numbers; append only. */
static const char *const names[] = {"",      "rapl",      "cray_pm_counters",
				    "hwmon", "ipmi_dcmi", "redfish",
				    "model", "gpu"};
_Static_assert(SOURCES == sizeof(names) / sizeof(names[0]), "numbers of sources");

/* Best first: for parts the most frequently read source, for the whole node one that
 * measures it all; estimates come last. */
static const uint32_t parts_order[] = {RAPL, GPU, CRAY, HWMON, REDFISH, IPMI, MODEL};
static const uint32_t host_order[] = {CRAY, REDFISH, IPMI, HWMON, RAPL, GPU, MODEL};
#define ORDER (sizeof(host_order) / sizeof(host_order[0]))

const char *meters_source_name(uint32_t source)
{
	return source < SOURCES ? names[source] : "";
}

uint32_t meters_source_number(const char *name)
{
	for (uint32_t i = 1; i < SOURCES; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return 0;
}

struct meters *meters_new(struct sampler *sampler, const char *host)
{
	struct meters *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->sampler = sampler;
	m->only_host = strcmp(host, "none") == 0 ? SOURCES : meters_source_number(host);
	for (size_t i = 0; i < sampler_count(sampler); i++) {
		const struct source *source = sampler_source(sampler, i);
		uint32_t number = meters_source_number(source->name);
		if (number)
			m->feeds[number].source = source;
	}
	return m;
}

void meters_free(struct meters *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < SOURCES; i++) {
		source_snapshot_done(&m->feeds[i].snapshot);
		free(m->feeds[i].tracks);
	}
	free(m);
}

/* METERS_SLOTS: not divided */
unsigned meters_slot_in(enum source_kind kind, enum source_domain domain,
			uint32_t index)
{
	if (kind != SOURCE_ENERGY && !is_power(kind))
		return METERS_SLOTS;
	switch (domain) {
	case SOURCE_DOMAIN_PACKAGE:
		return METERS_PACKAGE;
	case SOURCE_DOMAIN_DRAM:
		return METERS_DRAM;
	case SOURCE_DOMAIN_PSYS:
		return METERS_PSYS;
	case SOURCE_DOMAIN_HOST:
		return METERS_HOST;
	case SOURCE_DOMAIN_GPU:
		return index < METERS_GPUS ? METERS_GPU + index : METERS_SLOTS;
	case SOURCE_DOMAIN_NONE:
	case SOURCE_DOMAINS:
		break;
	}
	return METERS_SLOTS;
}

static unsigned channel_slot(const struct source_channel *c)
{
	return meters_slot_in(c->kind, c->domain, c->index);
}

static bool same_channel(const struct source_channel *a, const struct source_channel *b)
{
	return a->kind == b->kind && a->domain == b->domain && a->index == b->index &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->chip, b->chip) == 0;
}

/* at: its most likely position */
static struct track *track_of(struct feed *f, size_t at, const struct source_channel *c)
{
	if (at < f->count && same_channel(&f->tracks[at].channel, c))
		return &f->tracks[at];
	for (size_t i = 0; i < f->count; i++) {
		if (same_channel(&f->tracks[i].channel, c))
			return &f->tracks[i];
	}
	if (f->count == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 8;
		struct track *grown = realloc(f->tracks, cap * sizeof(*grown));
		if (!grown)
			return NULL;
		f->tracks = grown;
		f->cap = cap;
	}
	struct track *t = &f->tracks[f->count++];
	*t = (struct track){.channel = *c,
			    .slot = channel_slot(c),
			    .taken_raw = raw_of(c),
			    .taken_ns = c->measured_ns};
	return t;
}

/* The mean of two readings times the time between them */
static void add_power(struct sum *s, const struct source_channel *was,
		      const struct source_channel *is)
{
	unsigned __int128 uw_ns = (unsigned __int128)(was->value / 2 + is->value / 2 +
						      (was->value & is->value & 1)) *
				  (is->measured_ns - was->measured_ns);
	uw_ns += s->rest_uw_ns;
	s->total_uj += (uint64_t)(uw_ns / UW_NS_PER_UJ);
	s->rest_uw_ns = (uint64_t)(uw_ns % UW_NS_PER_UJ);
}

static void advance_track(struct feed *f, struct track *t,
			  const struct source_channel *c)
{
	struct sum *s = &f->sums[t->slot];
	const struct source_channel *was = &t->channel;

	t->seen = true;
	if (c->measured_ns > s->measured_ns)
		s->measured_ns = c->measured_ns;
	if (c->measured_ns <= was->measured_ns)
		return;
	bool known = c->measured_ns - was->measured_ns <= f->gap_ns &&
		     (is_power(c->kind) || c->value >= was->value);
	if (known && is_power(c->kind))
		add_power(s, was, c);
	else if (known)
		s->total_uj += c->value - was->value;
	*(known ? &s->gained : &s->partial) = true;
	t->channel = *c;
}

static uint64_t clamp_u64(uint64_t v, uint64_t least, uint64_t most)
{
	return v < least ? least : v > most ? most : v;
}

uint64_t meters_gap_ns(const struct meters *m, const struct feed *f)
{
	uint64_t period_ms = sampler_period_ms(m->sampler, f->source);

	if (f->snapshot.news_ms > period_ms)
		period_ms = f->snapshot.news_ms;
	return clamp_u64(GAP_PERIODS * NSEC_PER_MSEC * period_ms, GAP_LEAST_NS,
			 GAP_MOST_NS);
}

static void read_feed(struct meters *m, uint32_t source)
{
	struct feed *f = &m->feeds[source];
	size_t at = 0;

	if (!f->source || sampler_get(m->sampler, f->source, &f->snapshot, NULL) < 0)
		return;
	if (f->snapshot.sampled_ns == f->sampled_ns)
		return;
	f->sampled_ns = f->snapshot.sampled_ns;
	/* only while it works: a failing one is sampled less often */
	f->gap_ns = meters_gap_ns(m, f);
	for (size_t i = 0; i < f->count; i++)
		f->tracks[i].seen = false;
	for (size_t i = 0; i < f->snapshot.count; i++) {
		const struct source_channel *c = &f->snapshot.channels[i];
		if (channel_slot(c) == METERS_SLOTS) {
			if (c->domain == SOURCE_DOMAIN_GPU && c->index >= METERS_GPUS &&
			    c->index > m->cut)
				m->cut = c->index;
			continue;
		}
		size_t known = f->count;
		struct track *t = track_of(f, at++, c);
		if (!t)
			continue;
		if (f->count > known && !meters_take_up(m, source, t))
			f->sums[t->slot].partial = true;
		advance_track(f, t, c);
	}
	/* one that comes back later begins anew */
	for (size_t i = 0; i < f->count;) {
		if (f->tracks[i].seen)
			i++;
		else
			f->tracks[i] = f->tracks[--f->count];
	}
}

static bool source_answers(const struct meters *m, uint32_t source, unsigned slot,
			   uint64_t now_ns)
{
	const struct feed *f = &m->feeds[source];
	uint64_t measured_ns = f->sums[slot].measured_ns;

	if (meters_waits(m, source, slot))
		return true;
	if (!f->source || !measured_ns || measured_ns + f->gap_ns < now_ns)
		return false;
	for (size_t i = 0; i < f->count; i++) {
		if (f->tracks[i].slot == slot)
			return true;
	}
	return false;
}

static uint32_t choose_slot_source(const struct meters *m, unsigned slot,
				   uint64_t now_ns)
{
	bool host = slot == METERS_HOST;

	if (host && m->only_host)
		return m->only_host < SOURCES &&
				       source_answers(m, m->only_host, slot, now_ns)
			       ? m->only_host
			       : NONE;
	for (size_t i = 0; i < ORDER; i++) {
		uint32_t number = host ? host_order[i] : parts_order[i];
		if (source_answers(m, number, slot, now_ns))
			return number;
	}
	return NONE;
}

static uint64_t idle_of(const struct feed *f, unsigned slot)
{
	for (size_t i = 0; slot == METERS_HOST && i < f->snapshot.count; i++) {
		const struct source_channel *c = &f->snapshot.channels[i];
		if (c->kind == SOURCE_POWER_IDLE && c->domain == SOURCE_DOMAIN_HOST)
			return c->value;
	}
	return ENERGY_LEARN;
}

static void show_slot_source(struct meters *m, unsigned slot, uint32_t number)
{
	const struct feed *f = &m->feeds[number];
	const struct sum *s = &f->sums[slot];

	if (number == NONE) {
		m->meters[slot] = (struct meter){.idle_uw = ENERGY_LEARN};
		return;
	}
	uint64_t asked_ns = f->snapshot.sampled_ns;
	m->meters[slot] = (struct meter){
		.source = number,
		.fresh = s->gained,
		.waits = meters_waits(m, number, slot),
		.partial = s->partial,
		.energy_uj = s->total_uj - s->taken_uj,
		.measured_ns = s->measured_ns,
		.asked_ns = asked_ns < s->measured_ns ? asked_ns : s->measured_ns,
		.idle_uw = idle_of(f, slot),
	};
}

void meters_read(struct meters *m, uint64_t now_ns)
{
	for (uint32_t i = 1; i < SOURCES; i++)
		read_feed(m, i);
	meters_give_up(m, now_ns);
	for (unsigned slot = 0; slot < METERS_SLOTS; slot++)
		show_slot_source(m, slot, choose_slot_source(m, slot, now_ns));
}

const struct meter *meters_get(const struct meters *m, enum meters_slot slot)
{
	return &m->meters[slot];
}

uint32_t meters_cut(const struct meters *m)
{
	return m->cut;
}

bool meters_any(const struct meters *m)
{
	for (unsigned slot = 0; slot < METERS_SLOTS; slot++) {
		if (m->meters[slot].source)
			return true;
	}
	return false;
}

void meters_take(struct meters *m, enum meters_slot slot)
{
	for (uint32_t i = 1; i < SOURCES; i++) {
		struct feed *f = &m->feeds[i];
		struct sum *s = &f->sums[slot];
		s->taken_uj = s->total_uj;
		s->gained = s->partial = false;
		for (size_t k = 0; k < f->count; k++) {
			struct track *t = &f->tracks[k];
			if (t->slot != slot)
				continue;
			t->taken_raw = raw_of(&t->channel);
			t->taken_ns = t->channel.measured_ns;
		}
	}
	meters_drop(m, slot);
	m->meters[slot].energy_uj = 0;
	m->meters[slot].fresh = false;
}

uint64_t meters_asking_ns(const struct meters *m, enum meters_slot slot)
{
	uint32_t number = m->meters[slot].source;

	return number ? sampler_asking_ns(m->sampler, m->feeds[number].source) : 0;
}
