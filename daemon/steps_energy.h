/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_STEPS_ENERGY_H
#define CEEMS_DAEMON_STEPS_ENERGY_H

#include "daemon/units_energy.h"

/*
 * Each step's part of its unit's energy. Dynamic energy goes by the CPU time that the
 * step used itself (a GPU's by allocated CPUs), idle energy by the CPUs of the steps
 * that ran. The rest (CPUs that no step holds, steps that have left the table) is in
 * the unit only. {0} is valid.
 */
struct steps_energy {
	struct energy_work work;
	/* of units, by slot, before a host interval is closed */
	struct energy_account *host;
	uint32_t host_cap;
	bool marked;
};

/* A tick, and the time over which GPUs are charged in it, which lies behind: a step
 * that ended meanwhile has its part. */
struct steps_energy_window {
	uint64_t t0_ns, t1_ns, gpu_t0_ns, gpu_t1_ns;
};
/* After a tick on the draft. -ENOMEM: steps got nothing. */
int steps_energy_tick(struct steps_energy *s, struct units *u,
		      const struct steps_energy_window *w);
/* Beside energy_host_mark() and energy_host_restart(): use since the last mark waits
 * for the answer, or will never be measured. */
void steps_energy_mark(struct units *u);
void steps_energy_drop(struct units *u);
void steps_energy_unmark(struct units *u); /* beside energy_host_unmark() */
/* Around energy_host_close(), all on the draft. marked: there was a mark for it */
int steps_energy_before_close(struct steps_energy *s, struct units *u, bool marked);
void steps_energy_after_close(struct steps_energy *s, struct units *u);
void steps_energy_done(struct steps_energy *s);

#endif
