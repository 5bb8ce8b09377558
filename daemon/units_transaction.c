/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes a unit and a step on a copy, and applies them as one transaction, so that
 * each change happens once or not at all. */
#include "daemon/units_transaction.h"

#include "daemon/units_expire.h"
#include "daemon/units_totals.h"

static enum unit_end end_of(const struct unit *unit, const struct unit_totals *t)
{
	if (t->oom_kills)
		return UNIT_END_OOM;
	if (unit->marks & UNIT_FAILED)
		return UNIT_END_FAILED;
	if (unit->steps_lost)
		return UNIT_END_LOST;
	return UNIT_END_COMPLETED;
}

/* Reloads the node's totals after something else has changed them */
void units_transaction_load_node(struct units_transaction *w)
{
	w->node = *store_node(w->u, w->r->manager);
	w->node.records += w->pos != UINT64_MAX;
}

void units_transaction_put_pos(struct units_transaction *w)
{
	if (w->pos == UINT64_MAX)
		return;
	w->u->ring_pos = w->pos;
	txn_put(w->u, &w->u->h->ring_pos, &w->pos, sizeof(w->pos));
}

static void relink_slot(struct links *l, uint32_t i, bool is)
{
	bool was = links_have(l, i);
	if (is && !was)
		links_append(l, i);
	else if (was && !is)
		links_remove(l, i);
}

void units_transaction_commit(struct units_transaction *w)
{
	struct units *u = w->u;

	if (w->ui != UNITS_NONE && !w->unit_new) {
		if ((u->units[w->ui].marks & ~w->unit.marks) & UNIT_DISCOVERED)
			u->discovered--;
		u->unread += !!(w->unit.marks & ~u->units[w->ui].marks & UNIT_UNREAD);
		if (w->rekeyed)
			store_unit_index(u, w->ui, false);
	}
	if (w->si != UNITS_NONE && !w->step_new)
		store_step_index(u, w->si, false);
	txn_begin(u);
	if (w->ui != UNITS_NONE)
		txn_put(u, &u->units[w->ui], &w->unit, sizeof(w->unit));
	if (w->unit_new) {
		energy_put_unit(u, w->ui);
		report_put_unit(u, w->ui);
		found_put_unit(u, w->ui);
	} else if (w->before_changed) {
		txn_put(u, &u->befores[w->ui], &w->before, sizeof(w->before));
	}
	if (w->si != UNITS_NONE)
		txn_put(u, &u->steps[w->si], &w->step, sizeof(w->step));
	if (w->step_new || (w->si != UNITS_NONE && step_is_part(&w->step)))
		energy_put_step(u, w->si, &w->step);
	if (w->step_new || w->named)
		txn_put(u, &u->step_names[w->si], &w->name, sizeof(w->name));
	txn_put(u, store_node(u, w->r->manager), &w->node, sizeof(w->node));
	if (w->tombstone_key)
		expire_tombstone_put(u, w->tombstone_key, &w->counters);
	units_transaction_put_pos(w);
	txn_commit(u);
	if (w->tombstone_key)
		expire_tombstone_put_done(u);

	if (w->ui != UNITS_NONE) {
		if (w->unit_new)
			store_unit_take(u, w->ui);
		else if (w->rekeyed)
			store_unit_index(u, w->ui, true);
		relink_slot(&u->units_ended, w->ui, w->unit.state == UNIT_ENDED);
	}
	if (w->si != UNITS_NONE) {
		if (w->step_new)
			store_step_take(u, w->si, w->ui);
		else
			store_step_index(u, w->si, true);
		relink_slot(&u->steps_ended, w->si, w->step.state == UNIT_ENDED);
	}
}

/* Reopens a unit that goes on, or ends one that has nothing left to wait for. `t` is
 * the unit's total so far. */
void units_transaction_settle_unit(struct units_transaction *w, uint64_t realtime_ns,
				   uint64_t boottime_ns)
{
	struct unit *unit = &w->unit;
	if (unit->steps_running || (unit->marks & UNIT_ANCHORED)) {
		if (unit->state == UNIT_ENDED) {
			unit->state = UNIT_RUNNING;
			unit->end = UNIT_END_NONE;
			unit->ended_realtime_ns = unit->ended_boottime_ns = 0;
			unit->left_boottime_ns = 0;
		}
		return;
	}
	struct unit_totals t = {0};
	if (!w->unit_new)
		unit_total(w->u, w->ui, &t);
	t.oom_kills = w->step.totals.oom_kills > t.oom_kills ? w->step.totals.oom_kills
							     : t.oom_kills;
	unit->end = end_of(unit, &t);
	if (unit->state != UNIT_ENDED) {
		unit->state = UNIT_ENDED;
		unit->ended_realtime_ns = realtime_ns;
		unit->ended_boottime_ns = boottime_ns;
		unit->left_boottime_ns = w->boottime_ns;
	}
	if ((unit->marks & UNIT_DEFINITE) && !(unit->marks & UNIT_COUNTED)) {
		unit->marks |= UNIT_COUNTED;
		w->node.ended[unit->end]++; /* of our copy */
	}
}

void units_transaction_end_step(struct units_transaction *w, uint64_t boottime_ns)
{
	if (w->step.state == UNIT_ENDED)
		return;
	w->step.state = UNIT_ENDED;
	w->step.ended_boottime_ns = boottime_ns;
	w->step.left_boottime_ns = w->boottime_ns;
	if (w->unit.steps_running)
		w->unit.steps_running--;
	if (w->step.lost != STEP_REVIVED)
		w->node.steps_ended++;
}

struct units_transaction units_transaction_load(struct units *u, const struct record *r,
						uint32_t ui, uint32_t si,
						uint64_t boottime_ns,
						uint64_t realtime_ns)
{
	struct units_transaction w = {.u = u,
				      .r = r,
				      .pos = UINT64_MAX,
				      .boottime_ns = boottime_ns,
				      .realtime_ns = realtime_ns,
				      .ui = ui,
				      .si = si};
	if (ui != UNITS_NONE)
		w.unit = *units_get(u, ui);
	if (si != UNITS_NONE)
		w.step = *steps_get(u, si);
	w.node = *store_node(u, r->manager);
	return w;
}

/* ---- changes without a record ---------------------------------------------------- */

void units_step_reading(struct units *u, uint32_t step,
			const struct unit_totals *reading)
{
	/* Plain stores: each only grows, so if the daemon dies in between, a sum is at
	 * most too small, which the next reading corrects. */
	totals_merge(&u->steps[step].totals, reading);
}

void units_step_lost(struct units *u, uint32_t step, uint64_t now_boottime_ns,
		     uint64_t now_realtime_ns)
{
	uint32_t ui = steps_unit(u, step);
	struct record r = {.manager = (uint8_t)u->units[ui].manager};
	struct units_transaction w = units_transaction_load(
		u, &r, ui, step, now_boottime_ns, now_realtime_ns);
	if (w.step.state != UNIT_RUNNING)
		return;
	uint64_t when =
		w.step.gone_boottime_ns ? w.step.gone_boottime_ns : now_boottime_ns;
	units_transaction_end_step(&w, when);
	w.step.lost = STEP_LOST;
	w.unit.steps_lost++;
	if (w.step.step == RECORD_STEP_EXTERN)
		w.unit.marks &= ~(uint32_t)UNIT_ANCHORED;
	units_transaction_settle_unit(&w, now_realtime_ns, when);
	units_transaction_commit(&w);
}

static void drop_anchor(struct units *u, uint32_t i, uint64_t now_boottime_ns,
			uint64_t now_realtime_ns)
{
	struct record r = {.manager = (uint8_t)u->units[i].manager};
	struct units_transaction w = units_transaction_load(
		u, &r, i, UNITS_NONE, now_boottime_ns, now_realtime_ns);
	w.unit.marks &= ~(uint32_t)UNIT_ANCHORED;
	units_transaction_settle_unit(&w, now_realtime_ns, now_boottime_ns);
	units_transaction_commit(&w);
}

void units_drop_anchors(struct units *u, uint64_t now_boottime_ns,
			uint64_t now_realtime_ns)
{
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		if (u->units[i].state == UNIT_RUNNING &&
		    (u->units[i].marks & UNIT_ANCHORED) && !u->units[i].steps_running &&
		    u->units[i].steps_started)
			drop_anchor(u, i, now_boottime_ns, now_realtime_ns);
	}
}

/* The job was requeued: nothing of its earlier run is running any more. */
static void end_unit(struct units *u, uint32_t i, uint64_t now_boottime_ns,
		     uint64_t now_realtime_ns)
{
	for (uint32_t s = units_first_step(u, i); s != UNITS_NONE;
	     s = steps_after(u, s))
		units_step_lost(u, s, now_boottime_ns, now_realtime_ns);
	if (u->units[i].state == UNIT_RUNNING)
		drop_anchor(u, i, now_boottime_ns, now_realtime_ns);
}

void units_transaction_end_older_runs(struct units *u, const struct record *r,
				      uint64_t now_boottime_ns,
				      uint64_t now_realtime_ns)
{
	uint32_t newest = units_find_newest(u, r->manager, r->node, r->unit);
	if (newest == UNITS_NONE || u->units[newest].restarts >= r->restarts ||
	    u->units[newest].state != UNIT_RUNNING ||
	    (u->units[newest].marks & UNIT_DISCOVERED))
		return;
	end_unit(u, newest, now_boottime_ns, now_realtime_ns);
}
