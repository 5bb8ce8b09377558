/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_ENERGY_H
#define CEEMS_DAEMON_UNITS_ENERGY_H

#include "daemon/energy.h"
#include "daemon/sources/kept.h"
#include "daemon/units.h"

/*
 * The energy accounts of the unit table, in the same file. There are two generations of
 * them: a tick is done on the one that does not count and put in place by one store, so
 * that a daemon killed at any instruction loses that tick and nothing else. Between
 * ticks the generation that counts changes only by transactions of the table: a slot
 * that is taken gets a fresh account, one that is folded leaves its energy to
 * node.ended, together with the unit itself. The caller serialises, as for the table.
 */

struct unit_energy {
	struct energy_account account; /* key: slot + ENERGY_KEYS_RESERVED */
	uint64_t charged_cpu_ns; /* of the unit's CPU time, what ticks have seen */
};

/* What a step has used since the host sensor was asked last */
struct step_energy_open {
	uint64_t used_ns, alloc_us;
};

/* A step's part of what its unit was charged with: never more than that, all steps of a
 * unit together. */
struct step_energy {
	uint64_t uj[ENERGY_DOMAINS];
	uint64_t charged_cpu_ns;
	uint64_t seen; /* by a tick */
	struct step_energy_open open, waiting;
};

_Static_assert(sizeof(struct unit_energy) == 240, "part of a file format");
_Static_assert(sizeof(struct step_energy) == 96, "part of a file format");

/* A unit that was folded before a tick had seen all that it did: the next tick charges
 * node.ended with it. */
struct energy_leaver {
	uint64_t started_ns, ended_ns, cpu_ns, alloc_kib;
	uint32_t alloc_mcpu, pad;
};

/* More in one tick lose what they were allocated, not their CPU time. */
#define ENERGY_LEAVERS 64u

struct energy_state {
	struct energy_node node;
	struct kept kept;
	uint64_t leavers;
	struct energy_leaver leaver[ENERGY_LEAVERS];
};
_Static_assert(sizeof(struct energy_state) == 10664, "part of a file format");

/* The generation that counts. Borrowed, until the next change of the table. i: slots in
 * use */
const struct energy_state *units_energy(const struct units *u);
const struct unit_energy *unit_energy(const struct units *u, uint32_t i);
const struct step_energy *step_energy(const struct units *u, uint32_t i);

/* Begins a tick: the other generation becomes a copy of the one that counts, for all
 * slots in use. The table must not change until units_energy_commit(); without that
 * call nothing has happened. */
struct energy_state *units_energy_draft(struct units *u);
struct unit_energy *unit_energy_draft(struct units *u, uint32_t i);
struct step_energy *step_energy_draft(struct units *u, uint32_t i);
void units_energy_commit(struct units *u);

/* Whether ticks are being made: then a unit that ended stays until one has seen its
 * end, unless room is needed. Not remembered in the file; false at first. */
void units_energy_ticking(struct units *u, bool on);

/* ---- for the files of the unit table only ---------------------------------------- */

/* Has a tick seen all that the unit did, or will none come? */
bool energy_is_charged(const struct units *u, uint32_t i);
/* Within a transaction: fresh accounts for slots that are being taken */
void energy_put_unit(struct units *u, uint32_t i);
void energy_put_step(struct units *u, uint32_t i);
/* Within a transaction: the unit, which has no steps any more, leaves the table. */
void energy_put_fold(struct units *u, uint32_t i);
/* Accounts of a file that was not made by us just now */
bool energy_is_sound(const struct units *u);

#endif
