/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_COLLECTOR_SLURM_H
#define CEEMS_DAEMON_COLLECTOR_SLURM_H

#include <stdbool.h>

#include "daemon/collector.h"
#include "lib/records/record.h"

/* The collector of one manager's units, for the collectors of the others. */
struct unit_collector {
	enum record_manager manager;
	bool steps, swap, psi, blkio; /* what else to export */
};

/* The functions of struct collector. */
int unit_collector_open(const struct env *env, const struct unit_collector *which,
			void **ret_state, struct err *err);
int unit_collector_collect(void *state, struct prom *out, struct err *err);
void unit_collector_close(void *state);

#endif
