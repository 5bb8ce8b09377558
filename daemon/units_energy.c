/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two generations of energy accounts in the unit table's file: the active one is
 * written to by transactions only, and a tick replaces it with one store. */
#include "daemon/units_energy.h"

#include <stdatomic.h>
#include <string.h>

#include "daemon/units_store.h"

static uint32_t now_of(const struct units *u)
{
	return u->h->energy_generation & 1;
}

static uint32_t next_of(const struct units *u)
{
	return !now_of(u);
}

const struct energy_state *units_energy(const struct units *u)
{
	return &u->energy[now_of(u)];
}

const struct unit_energy *unit_energy(const struct units *u, uint32_t i)
{
	return &u->unit_energy[i].generation[now_of(u)];
}

const struct step_energy *step_energy(const struct units *u, uint32_t i)
{
	return &u->step_energy[i].generation[now_of(u)];
}

struct unit_energy *unit_energy_draft(struct units *u, uint32_t i)
{
	return &u->unit_energy[i].generation[next_of(u)];
}

struct step_energy *step_energy_draft(struct units *u, uint32_t i)
{
	return &u->step_energy[i].generation[next_of(u)];
}

struct energy_state *units_energy_draft(struct units *u)
{
	struct energy_state *draft = &u->energy[next_of(u)];

	*draft = *units_energy(u);
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1))
		*unit_energy_draft(u, i) = *unit_energy(u, i);
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE; i = steps_next(u, i + 1))
		*step_energy_draft(u, i) = *step_energy(u, i);
	return draft;
}

void units_energy_commit(struct units *u)
{
	uint32_t next = next_of(u);

	/* Stores survive a killed process in program order: see units_store.h. */
	atomic_signal_fence(memory_order_seq_cst);
	__atomic_store_n(&u->h->energy_generation, next, __ATOMIC_RELEASE);
	atomic_signal_fence(memory_order_seq_cst);
}

void units_energy_ticking(struct units *u, bool on)
{
	u->energy_ticking = on;
}

static uint64_t uncharged_cpu_ns(const struct units *u, uint32_t i)
{
	struct unit_totals t;
	unit_total(u, i, &t);
	uint64_t used = t.cpu_user_ns + t.cpu_system_ns;
	uint64_t charged = unit_energy(u, i)->charged_cpu_ns;
	return used > charged ? used - charged : 0;
}

void units_energy_gpus(struct units *u, uint64_t charged_ns)
{
	u->gpus_charged_ns = charged_ns;
}

bool energy_is_charged(const struct units *u, uint32_t i)
{
	const struct unit *unit = &u->units[i];

	if (!u->energy_ticking)
		return true;
	if (unit->gpus[0] && u->gpus_charged_ns &&
	    unit->ended_boottime_ns > u->gpus_charged_ns)
		return false;
	return unit->ended_boottime_ns <= units_energy(u)->node.last_ns &&
	       !uncharged_cpu_ns(u, i);
}

void energy_put_unit(struct units *u, uint32_t i)
{
	struct unit_energy fresh = {0};
	energy_account_init(&fresh.account, i + ENERGY_KEYS_RESERVED);
	txn_put(u, &u->unit_energy[i].generation[now_of(u)], &fresh, sizeof(fresh));
}

void energy_put_step(struct units *u, uint32_t i, const struct step *s)
{
	struct step_energy fresh = {0};

	if (step_is_part(s)) { /* what it used is charged to another step */
		fresh.seen = 1;
		fresh.charged_cpu_ns = s->totals.cpu_user_ns + s->totals.cpu_system_ns;
	}
	txn_put(u, &u->step_energy[i].generation[now_of(u)], &fresh, sizeof(fresh));
}

static void put_leaver(struct units *u, uint32_t i)
{
	struct energy_state *e = &u->energy[now_of(u)];
	const struct unit *unit = &u->units[i];
	struct energy_leaver l = {.started_ns = unit->started_boottime_ns,
				  .ended_ns = unit->ended_boottime_ns,
				  .cpu_ns = uncharged_cpu_ns(u, i),
				  .alloc_kib = unit->memory_bytes / 1024,
				  .alloc_mcpu = unit_mcpus(unit)};

	uint64_t leavers = *(volatile uint64_t *)&e->leavers;
	if (leavers >= ENERGY_LEAVERS) {
		struct energy_leaver *last = &e->leaver[ENERGY_LEAVERS - 1];
		uint64_t cpu_ns = last->cpu_ns + l.cpu_ns;
		txn_put(u, &last->cpu_ns, &cpu_ns, sizeof(cpu_ns));
		return;
	}
	uint64_t n = leavers + 1;
	txn_put(u, &e->leaver[leavers], &l, sizeof(l));
	txn_put(u, &e->leavers, &n, sizeof(n));
}

void energy_put_fold(struct units *u, uint32_t i)
{
	struct energy_state *e = &u->energy[now_of(u)];
	struct energy_node with = {.ended = e->node.ended};

	energy_fold(&with, &unit_energy(u, i)->account);
	txn_put(u, &e->node.ended, &with.ended, sizeof(with.ended));
	if (!energy_is_charged(u, i))
		put_leaver(u, i);
}

bool energy_is_sound(const struct units *u)
{
	if (u->h->energy_generation > 1 || units_energy(u)->leavers > ENERGY_LEAVERS ||
	    units_energy(u)->checkpoint.count > METER_CHECKPOINT_CHANNELS)
		return false;
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		if (unit_energy(u, i)->account.key != i + ENERGY_KEYS_RESERVED)
			return false;
	}
	return true;
}
