/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_ENERGY_H
#define CEEMS_DAEMON_UNITS_ENERGY_H

#include "daemon/energy.h"
#include "daemon/sources/meter_checkpoint.h"
#include "daemon/units.h"

/*
 * The energy accounts of the unit table, in the same file. There are two generations: a
 * tick works on the inactive one, which one store then makes active, so that a daemon
 * killed at any instruction loses no more than that tick. Between ticks the active
 * generation changes only in transactions of the table: a slot that is taken gets a
 * fresh account, and a folded unit's energy goes to node.ended together with the unit.
 * The caller serialises, as for the table.
 */

struct unit_energy {
	struct energy_account account; /* key: slot + ENERGY_KEYS_RESERVED */
	uint64_t charged_cpu_ns; /* of the unit's CPU time, what ticks have charged */
};

/* What a step has used since the host sensor was last asked */
struct step_energy_open {
	uint64_t used_ns, alloc_us;
};

/* A step's part of its unit's energy; all steps together have no more than the unit. */
struct step_energy {
	uint64_t uj[ENERGY_DOMAINS];
	uint64_t charged_cpu_ns;
	uint64_t seen; /* by the last tick */
	struct step_energy_open open, waiting;
};

_Static_assert(sizeof(struct unit_energy) == 240, "part of a file format");
_Static_assert(sizeof(struct step_energy) == 96, "part of a file format");

/* A unit that was folded before a tick had charged all of it: the next tick charges
 * node.ended with the rest. */
struct energy_leaver {
	uint64_t started_ns, ended_ns, cpu_ns, alloc_kib;
	uint32_t alloc_mcpu, pad;
};

/* Any more in one tick lose their allocation, but not their CPU time. */
#define ENERGY_LEAVERS 64u

struct energy_state {
	struct energy_node node;
	struct meter_checkpoint checkpoint;
	uint64_t leavers;
	struct energy_leaver leaver[ENERGY_LEAVERS];
};
_Static_assert(sizeof(struct energy_state) == 10664, "part of a file format");

/* The active generation. Borrowed until the table changes. i: slots in use */
const struct energy_state *units_energy(const struct units *u);
const struct unit_energy *unit_energy(const struct units *u, uint32_t i);
const struct step_energy *step_energy(const struct units *u, uint32_t i);

/* Whether uj, what a unit or step has taken in domain d, is a measurement: nobody
 * measures a GPU that a virtual machine has as a whole, which is not 0. */
static inline bool unit_energy_is_measured(const struct unit *unit, const uint64_t *uj,
					   int d)
{
	return d != ENERGY_GPU || uj[d] || unit->manager != MANAGER_LIBVIRT ||
	       !unit->gpus[0];
}

/* Begins a tick: the inactive generation becomes a copy of the active one, for all
 * slots in use. The table must not change until units_energy_commit(); without that
 * call nothing has happened. */
struct energy_state *units_energy_draft(struct units *u);
struct unit_energy *unit_energy_draft(struct units *u, uint32_t i);
struct step_energy *step_energy_draft(struct units *u, uint32_t i);
void units_energy_commit(struct units *u);

/* Whether ticks are being made: then an ended unit stays until a tick has charged its
 * end, unless room is needed. Not stored in the file; false at first. */
void units_energy_ticking(struct units *u, bool on);
/* Boot time up to which GPUs are charged, if that is later than the last tick's end
 * says; 0: with it. Not stored either. */
void units_energy_gpus(struct units *u, uint64_t charged_ns);

/* ---- for the files of the unit table only ---------------------------------------- */

/* Whether ticks have charged all of the unit, or there will be no tick. */
bool energy_is_charged(const struct units *u, uint32_t i);
/* Within a transaction: fresh accounts for slots that are being taken */
void energy_put_unit(struct units *u, uint32_t i);
void energy_put_step(struct units *u, uint32_t i, const struct step *s);
/* Within a transaction: the unit, which has no steps left, leaves the table. */
void energy_put_fold(struct units *u, uint32_t i);
/* Checks the accounts of a file that was not just created. */
bool energy_is_sound(const struct units *u);

#endif
