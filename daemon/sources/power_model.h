/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_POWER_MODEL_H
#define CEEMS_DAEMON_SOURCES_POWER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/node/proc_parse.h"
#include "daemon/options.h"
#include "daemon/power_curve.h"

/* The power curve of this machine, and how much of it is ours */
struct power_model {
	bool guest;            /* a share of its host; else a whole machine */
	char coefficients[64]; /* source of the coefficients: a row of the table, or
				  "configured" */
	bool guessed;          /* the CPU has no row; the average is used */
	struct power_curve curve;
	uint32_t curve_cpus; /* CPUs of the curve; 0: the machine's own number */
	uint64_t
		memory_uw; /* constant power of memory beyond what the curve includes */
};

/* From the options, else from the table by CPU. memory_bytes: the machine's, 0:
 * unknown. options_load() has checked the options. */
void power_model_choose(const struct options *o, const struct proc_cpu *cpu,
			uint64_t memory_bytes, struct power_model *ret);

/* Microwatts of `cpus` CPUs at a load of busy / total CPU time */
uint64_t power_model_at(const struct power_model *m, uint32_t cpus, uint64_t busy,
			uint64_t total);

#endif
