/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_POWER_MODEL_H
#define CEEMS_DAEMON_SOURCES_POWER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/node/proc_parse.h"
#include "daemon/options.h"
#include "daemon/power_curve.h"

/* Which curve stands for this machine, and for how much of it */
struct power_model {
	bool guest;            /* a share of its host, else a whole machine */
	char coefficients[64]; /* where they come from: a row of the table, or
				  "configured" */
	bool guessed; /* the row of average stands in for a CPU that has none */
	struct power_curve curve;
	uint32_t curve_cpus; /* CPUs that the curve is of; 0: the machine's, however
				many */
	uint64_t memory_uw;  /* of memory beyond what the curve holds, drawn always */
};

/* From the options, else from the table by CPU. memory_bytes: of the machine, 0 where
 * unknown. The options have been checked by options_load(). */
void power_model_choose(const struct options *o, const struct proc_cpu *cpu,
			uint64_t memory_bytes, struct power_model *ret);

/* Microwatts of `cpus` CPUs that were busy for busy of total units of CPU time */
uint64_t power_model_at(const struct power_model *m, uint32_t cpus, uint64_t busy,
			uint64_t total);

#endif
