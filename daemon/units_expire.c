/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How steps and units leave the table: their counters are added to the totals above
 * them, each in one transaction. */
#include "daemon/units_expire.h"

#include "daemon/units_store.h"
#include "daemon/units_totals.h"
#include "lib/clamp.h"
#include "lib/clock.h"

/* ---- tombstones ------------------------------------------------------------------ */

/* The pid that ran the step distinguishes the runs of a job, which its restart count
 * does not (find_run()). 0: a step known from its directory only. */
uint64_t expire_tombstone_key(const struct unit *unit, uint32_t step,
			      uint32_t stepd_pid)
{
	uint64_t h = store_key(unit->manager, unit->node, unit->id);
	h = store_mix(store_mix(h, stepd_pid), step);
	return h ? h : 1;
}

/* Within a transaction; expire_tombstone_put_done() follows its commit. */
void expire_tombstone_put(struct units *u, uint64_t key, const struct unit_totals *t)
{
	struct tombstone tombstone = {key, *t};
	uint32_t at = u->h->tombstone_next % STORE_TOMBSTONES,
		 next = (at + 1) % STORE_TOMBSTONES;
	store_tombstone_index(u, at, false);
	txn_put(u, &u->tombstones[at], &tombstone, sizeof(tombstone));
	txn_put(u, &u->h->tombstone_next, &next, sizeof(next));
}

void expire_tombstone_put_done(struct units *u)
{
	store_tombstone_index(
		u, (u->h->tombstone_next + STORE_TOMBSTONES - 1) % STORE_TOMBSTONES,
		true);
}

/* ---- leaving the table ----------------------------------------------------------- */

/* Whether no further stop record will come; a part that still runs is over with its
 * unit */
static bool is_step_settled(const struct step *s)
{
	return s->state == UNIT_PART ||
	       (s->state == UNIT_ENDED && (s->flags & RECORD_LAST));
}

void expire_step(struct units *u, uint32_t i)
{
	const struct step *s = &u->steps[i];
	uint32_t next = steps_after(u, i), prev = u->places[i].prev;
	struct unit *unit = &u->units[steps_unit(u, i)];
	struct unit_totals folded = unit->folded;
	uint32_t state = UNIT_FREE;
	bool tombstone = !is_step_settled(s);

	if (!step_is_part(s))
		totals_add(&folded, &s->totals);
	txn_begin(u);
	txn_put(u, &unit->folded, &folded, sizeof(folded));
	if (tombstone)
		expire_tombstone_put(u,
				     expire_tombstone_key(unit, s->step, s->stepd_pid),
				     &s->totals);
	if (prev)
		txn_put(u, &u->steps[prev - 1].next, &next, sizeof(next));
	else
		txn_put(u, &unit->first_step, &next, sizeof(next));
	txn_put(u, &u->steps[i].state, &state, sizeof(state));
	txn_commit(u);
	if (tombstone)
		expire_tombstone_put_done(u);
	store_step_drop(u, i);
}

static void count_end_of(struct node_totals *n, const struct unit *unit)
{
	uint32_t end = *(const volatile uint32_t *)&unit->end;
	n->ended[end < UNIT_END_STATES ? end : UNIT_END_LOST]++;
}

void expire_unit_now(struct units *u, uint32_t i, bool early)
{
	struct unit *unit = &u->units[i];
	uint32_t state = UNIT_FREE, s;

	report_leaves(u, i);
	while ((s = units_first_step(u, i)) != UNITS_NONE)
		expire_step(u, s);
	store_mend_unit(u, i);
	struct node_totals *node = store_node(u, unit->manager), n = *node;
	totals_add(&n.units, &unit->folded);
	if (!(unit->marks & UNIT_COUNTED))
		count_end_of(&n, unit);
	if (early) {
		n.short_units++;
		totals_add(&n.short_totals, &unit->folded);
	}
	txn_begin(u);
	txn_put(u, node, &n, sizeof(n));
	txn_put(u, &unit->state, &state, sizeof(state));
	energy_put_fold(u, i);
	txn_commit(u);
	store_unit_drop(u, i);
}

/* ---- expiry ---------------------------------------------------------------------- */

static uint64_t unit_age_ns(const struct unit *unit, uint64_t now_boottime_ns)
{
	return clamp_minus(unit->state == UNIT_ENDED ? unit->ended_boottime_ns
						     : now_boottime_ns,
			   unit->started_boottime_ns);
}

bool units_exported(const struct units *u, uint32_t i, uint64_t now_boottime_ns,
		    const struct units_policy *policy)
{
	return unit_age_ns(&u->units[i], now_boottime_ns) >=
	       policy->min_export_ms * NSEC_PER_MSEC;
}

static bool all_settled(const struct units *u, uint32_t i)
{
	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s)) {
		if (!is_step_settled(&u->steps[s]))
			return false;
	}
	return true;
}

static void count_end(struct units *u, uint32_t i)
{
	struct unit *unit = &u->units[i];
	struct node_totals *node = store_node(u, unit->manager), n = *node;
	uint32_t marks = unit->marks | UNIT_COUNTED;
	count_end_of(&n, unit);
	txn_begin(u);
	txn_put(u, node, &n, sizeof(n));
	txn_put(u, &unit->marks, &marks, sizeof(marks));
	txn_commit(u);
}

static void expire_unit(struct units *u, uint32_t i, uint64_t now,
			const struct units_policy *policy)
{
	const struct unit *unit = &u->units[i];
	uint64_t gone_ms = clamp_minus(now, unit->left_boottime_ns) / NSEC_PER_MSEC;
	bool is_short = !units_exported(u, i, now, policy);
	bool final = (unit->marks & UNIT_DEFINITE) || gone_ms >= UNITS_GRACE_MS;

	if (final && !(unit->marks & UNIT_COUNTED))
		count_end(u, i);
	if (gone_ms < policy->linger_ms && !(is_short && final))
		return;
	if (gone_ms < UNITS_LATE_MS && !energy_is_charged(u, i))
		return; /* the next tick will come in a moment */
	if (report_is_owed(u, i, gone_ms))
		return;
	if (gone_ms >= UNITS_LATE_MS || (final && all_settled(u, i)))
		expire_unit_now(u, i, is_short);
}

void units_expire(struct units *u, uint64_t now_boottime_ns,
		  const struct units_policy *policy)
{
	uint32_t next;
	for (uint32_t i = links_first(&u->units_ended); i != UNITS_NONE; i = next) {
		next = links_after(&u->units_ended, i);
		expire_unit(u, i, now_boottime_ns, policy);
	}
	for (uint32_t i = links_first(&u->units_ended);
	     i != UNITS_NONE && u->units_count > policy->max_exported; i = next) {
		uint64_t gone_ns =
			clamp_minus(now_boottime_ns, u->units[i].left_boottime_ns);
		next = links_after(&u->units_ended, i);
		if (u->units_count < u->capacity / 4 * 3 &&
		    report_is_owed(u, i, gone_ns / NSEC_PER_MSEC))
			continue;
		expire_unit_now(u, i, gone_ns < policy->linger_ms * NSEC_PER_MSEC);
	}
	for (uint32_t i = links_first(&u->steps_ended); i != UNITS_NONE; i = next) {
		const struct step *s = &u->steps[i];
		uint64_t gone_ms = clamp_minus(now_boottime_ns, s->left_boottime_ns) /
				   NSEC_PER_MSEC;
		next = links_after(&u->steps_ended, i);
		if (gone_ms < policy->linger_ms)
			break; /* in the order in which they ended */
		if (report_step_is_owed(u, i))
			continue;
		if (gone_ms >= UNITS_LATE_MS || is_step_settled(s))
			expire_step(u, i);
	}
}
