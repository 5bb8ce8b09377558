/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_PROFILE_STEP_H
#define CEEMS_LIB_RECORDS_PROFILE_STEP_H

#include <stdint.h>

#include "lib/records/record.h"

/* What ceemsd tells ceems-profiler of a step that asked for a profile: one datagram
 * each, at its start, at its end, and again whenever ceems-profiler was started anew.
 * Both are of one build. */
#define PROFILE_STEP_MAGIC 0x31535043u /* "CPS1" */

enum profile_step_state { PROFILE_STEP_RUNS = 1, PROFILE_STEP_ENDED = 2 };

struct profile_step {
	uint32_t magic;
	uint32_t state;  /* enum profile_step_state */
	uint64_t key;    /* its own while ceemsd runs */
	uint64_t cgroup; /* profile_group_number() */
	uint32_t hz, uid;
	uint32_t manager; /* enum record_manager */
	uint32_t step, restarts;
	uint32_t stepd_pid; /* of one whose report is asked for, else 0 */
	uint32_t off_cpu;   /* 1: where its threads are blocked, too */
	uint32_t unused;
	uint64_t serial; /* of this datagram: child_profile.told says it back */
	char unit[RECORD_ID_MAX];
	char node[RECORD_NAME_MAX];
};

#endif
