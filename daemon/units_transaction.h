/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_TRANSACTION_H
#define CEEMS_DAEMON_UNITS_TRANSACTION_H

#include "daemon/units_store.h"

/* For the files of the unit table only. */

/* A working copy of what a record touches */
struct units_transaction {
	struct units *u;
	const struct record *r;
	uint64_t pos, boottime_ns, realtime_ns;
	struct unit_totals counters; /* of the record */
	uint32_t ui, si;             /* slots, UNITS_NONE: none */
	bool unit_new, step_new, rekeyed;
	uint64_t tombstone_key; /* counters leave a tombstone under it; 0: none */
	struct unit unit;
	struct step step;
	struct step_name name;
	bool named; /* name has changed */
	struct unit_before before;
	bool before_changed;
	struct node_totals node;
};

/* A copy of slots ui and si (UNITS_NONE: none) and of the manager's totals. */
struct units_transaction units_transaction_load(struct units *u, const struct record *r,
						uint32_t ui, uint32_t si,
						uint64_t boottime_ns,
						uint64_t realtime_ns);
/* Reloads the node's totals after something else has changed them */
void units_transaction_load_node(struct units_transaction *w);
/* Within a transaction: the record's ring position */
void units_transaction_put_pos(struct units_transaction *w);
/* Writes the copy back. */
void units_transaction_commit(struct units_transaction *w);
/* Reopens a unit that goes on, or ends one that has nothing left to wait for. */
void units_transaction_settle_unit(struct units_transaction *w, uint64_t realtime_ns,
				   uint64_t boottime_ns);
void units_transaction_end_step(struct units_transaction *w, uint64_t boottime_ns);
/* The job was requeued: ends what is still running of earlier runs of r's unit. */
void units_transaction_end_older_runs(struct units *u, const struct record *r,
				      uint64_t now_boottime_ns,
				      uint64_t now_realtime_ns);

#endif
