/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host intervals: when a slow sensor of the whole node is read, its energy is split by
 * what was collected since the last reading. And the accounts. */
#include <errno.h>
#include <string.h>

#include "daemon/energy_impl.h"
#include "lib/clock.h"

#define RATE_MIN_NS (10 * NSEC_PER_MSEC)

/* ---- host intervals -------------------------------------------------------------- */

static void join_open(struct energy_open *to, struct energy_open *from)
{
	to->alloc_us = add_sat(to->alloc_us, from->alloc_us);
	to->used_ns = add_sat(to->used_ns, from->used_ns);
	to->active_ns = add_sat(to->active_ns, from->active_ns);
	to->parts_uj += from->parts_uj;
	to->idle_uj += from->idle_uj;
	to->other_uj += from->other_uj;
	*from = (struct energy_open){0};
}

static void join_interval(struct energy_interval *to, struct energy_interval *from)
{
	to->elapsed_ns += from->elapsed_ns;
	to->capacity_us = add_sat(to->capacity_us, from->capacity_us);
	to->quiet_ns += from->quiet_ns;
	to->parts_uj += from->parts_uj;
	to->package_ticks += from->package_ticks;
	*from = (struct energy_interval){0};
}

void energy_host_mark(struct energy_node *node, struct energy_account *const *accounts,
		      size_t n)
{
	struct split s = {.node = node, .accounts = accounts, .n = n};
	for (size_t i = 0; i < SLOT_UNITS + n; i++) {
		struct energy_account *a = energy_party(&s, i);
		join_open(&a->waiting, &a->open);
	}
	join_interval(&node->waiting, &node->open);
	node->marked = 1;
}

void energy_host_unmark(struct energy_node *node,
			struct energy_account *const *accounts, size_t n)
{
	struct split s = {.node = node, .accounts = accounts, .n = n};
	for (size_t i = 0; i < SLOT_UNITS + n; i++) {
		struct energy_account *a = energy_party(&s, i);
		join_open(&a->open, &a->waiting);
	}
	join_interval(&node->open, &node->waiting);
	node->marked = 0;
}

/* Modulo 2^64: told + correction stays the settled value whatever a sensor claims. */
static void add_correction(int64_t *correction, uint64_t by)
{
	*correction = (int64_t)((uint64_t)*correction + by);
}

/* The idle power in a share of the host reading, in proportion to that of its parts */
static uint64_t idle_of_host(const struct energy_account *a, uint64_t other_uj,
			     uint64_t other_idle_uj, uint64_t host_uj)
{
	u128 all = (u128)a->waiting.parts_uj + other_uj;
	u128 idle = (u128)a->waiting.idle_uj + other_idle_uj;
	while (all >> 64) {
		all >>= 1;
		idle >>= 1;
	}
	return all ? (uint64_t)((u128)host_uj * idle / all) : 0;
}

/* Settles the open share of one account. */
static void settle_account(struct energy_account *a, uint64_t other_uj,
			   uint64_t other_idle_uj, uint64_t host_uj)
{
	uint64_t told_host = a->waiting.parts_uj + a->waiting.other_uj;
	a->settled_uj[ENERGY_OTHER] += other_uj;
	a->settled_uj[ENERGY_HOST] += host_uj;
	a->idle_uj[ENERGY_OTHER] += other_idle_uj;
	a->idle_uj[ENERGY_HOST] += idle_of_host(a, other_uj, other_idle_uj, host_uj);
	a->told_other_uj += a->waiting.other_uj;
	a->told_host_uj += told_host;
	add_correction(&a->correction_other_uj, other_uj - a->waiting.other_uj);
	add_correction(&a->correction_host_uj, host_uj - told_host);
	a->waiting = (struct energy_open){0};
}

void energy_host_restart(struct energy_node *node, uint32_t source,
			 struct energy_account *const *accounts, size_t n)
{
	struct split s = {.node = node, .accounts = accounts, .n = n};
	energy_host_mark(node, accounts, n);
	for (size_t i = 0; i < SLOT_UNITS + n; i++)
		settle_account(energy_party(&s, i), 0, 0, 0);
	node->given_up_uj += node->waiting.parts_uj;
	node->waiting = (struct energy_interval){0};
	node->marked = 0;
	if (source != ENERGY_NO_SOURCE && source != node->source[ENERGY_OTHER]) {
		/* another sensor: the old one's deficit has no meaning for it */
		node->forgiven_uj += node->deficit_uj;
		node->deficit_uj = 0;
		node->host_known = 0;
		energy_set_source(node, ENERGY_OTHER, source);
	}
	node->source[ENERGY_HOST] = source;
}

/* The part of a host reading for other, after parts and earlier deficits */
static uint64_t take_other(struct energy_node *node, uint64_t energy_uj)
{
	u128 owed = (u128)node->waiting.parts_uj + node->deficit_uj;
	if (energy_uj >= owed) {
		node->deficit_uj = 0;
		return energy_uj - (uint64_t)owed;
	}
	node->deficit_uj = to_u64(owed - energy_uj);
	return 0;
}

static void remember_other(struct energy_node *node, uint64_t other_uj)
{
	const struct energy_interval *i = &node->waiting;
	/* over a shorter time, a single step of the sensor would look like huge
	 * power */
	if (i->elapsed_ns < RATE_MIN_NS)
		return;
	node->host_uw = energy_power_of(other_uj, i->elapsed_ns);
	node->host_known = 1;
	if (i->quiet_ns == i->elapsed_ns)
		energy_learn(&node->learner[ENERGY_OTHER], other_uj, i->elapsed_ns);
}

/* Puts everybody's share of other over the interval into w->others */
static void divide_other(const struct split *s, uint64_t other_uj)
{
	const struct energy_interval *i = &s->node->waiting;
	uint64_t idle_uw = energy_idle_uw(s->node, s->c, ENERGY_OTHER, NULL);
	uint64_t idle = energy_of_power(idle_uw, i->elapsed_ns);
	struct rule rule = energy_other_rule(s, i);
	if (idle > other_uj)
		idle = other_uj;
	energy_divide(s, energy_idle_by(s, &rule), idle);
	memcpy(s->w->others, s->w->shares, (SLOT_UNITS + s->n) * sizeof(uint64_t));
	memcpy(s->w->idles, s->w->shares, (SLOT_UNITS + s->n) * sizeof(uint64_t));
	energy_divide(s, rule.dynamic, other_uj - idle);
	for (size_t k = 0; k < SLOT_UNITS + s->n; k++)
		s->w->others[k] += s->w->shares[k];
}

/* Puts everybody's share of the host reading, by parts and other, into w->shares */
static void divide_host(const struct split *s, uint64_t energy_uj)
{
	struct energy_work *w = s->w;
	for (size_t i = 0; i < SLOT_UNITS + s->n; i++) {
		const struct energy_account *a = energy_party(s, i);
		w->slots[i].key = a->key;
		w->slots[i].weight = (u128)a->waiting.parts_uj + w->others[i];
	}
	if (!energy_split(energy_uj, w->slots, SLOT_UNITS + s->n, w->shares, w->order))
		w->shares[SLOT_IDLE] = energy_uj;
}

int energy_host_close(struct energy_node *node, const struct energy_config *c,
		      uint64_t energy_uj, uint32_t source,
		      struct energy_account *const *accounts, size_t n,
		      struct energy_work *w)
{
	struct split s = {.node = node, .c = c, .accounts = accounts, .n = n, .w = w};
	if (source == ENERGY_NO_SOURCE || source != node->source[ENERGY_HOST])
		return -ESTALE;
	if (energy_work_reserve(w, n) < 0)
		return -ENOMEM;
	if (!node->marked)
		energy_host_mark(node, accounts, n);
	uint64_t other_uj = take_other(node, energy_uj);
	remember_other(node, other_uj);
	divide_other(&s, other_uj);
	divide_host(&s, energy_uj);
	for (size_t i = 0; i < SLOT_UNITS + n; i++)
		settle_account(energy_party(&s, i), w->others[i], w->idles[i],
			       w->shares[i]);
	node->measured_uj[ENERGY_OTHER] += other_uj;
	node->measured_uj[ENERGY_HOST] += energy_uj;
	node->waiting = (struct energy_interval){0};
	node->marked = 0;
	return 0;
}

/* ---- accounts -------------------------------------------------------------------- */

static bool is_open(const struct energy_open *o)
{
	return o->alloc_us || o->used_ns || o->parts_uj || o->other_uj;
}

bool energy_account_open(const struct energy_account *a)
{
	return is_open(&a->open) || is_open(&a->waiting);
}

uint64_t energy_account_now(const struct energy_account *a, enum energy_domain d,
			    uint64_t *ret_provisional_uj)
{
	uint64_t other = a->open.other_uj + a->waiting.other_uj;
	uint64_t parts = a->open.parts_uj + a->waiting.parts_uj;
	uint64_t provisional = d == ENERGY_OTHER  ? other
			       : d == ENERGY_HOST ? other + parts
						  : 0;
	if (ret_provisional_uj)
		*ret_provisional_uj = provisional;
	return a->settled_uj[d] + provisional;
}

void energy_fold(struct energy_node *node, const struct energy_account *a)
{
	struct energy_account *ended = &node->ended, from = *a;
	for (size_t d = 0; d < ENERGY_DOMAINS; d++) {
		ended->settled_uj[d] += from.settled_uj[d];
		ended->idle_uj[d] += from.idle_uj[d];
	}
	join_open(&ended->open, &from.open);
	join_open(&ended->waiting, &from.waiting);
	ended->told_other_uj += from.told_other_uj;
	ended->told_host_uj += from.told_host_uj;
	add_correction(&ended->correction_other_uj, (uint64_t)from.correction_other_uj);
	add_correction(&ended->correction_host_uj, (uint64_t)from.correction_host_uj);
}
