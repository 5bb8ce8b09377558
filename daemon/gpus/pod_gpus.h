/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_POD_GPUS_H
#define CEEMS_DAEMON_GPUS_POD_GPUS_H

#include "daemon/gpus/driver_gpus.h"
#include "daemon/units.h"
#include "lib/log.h"
#include "lib/records/record.h"

/* A pod's record names devices by UUID or address, and the unit table keeps the
 * driver's numbers. A MIG instance that ceems-gpu has not told of yet is waited for.
 * Serialised by the caller. */

#define POD_GPUS_WAITING GPUS_MAX /* each may have an instance of its own */
#define POD_GPUS_WAIT_NS (60ull * 1000000000)

struct pod_gpus {
	struct pod_gpus_waiting {
		uint64_t until_ns; /* 0: free */
		struct record r;
	} * waiting; /* POD_GPUS_WAITING of them; NULL: none ever waited */
	uint64_t next_ns;
	struct log_repeat unknown;
};

void pod_gpus_done(struct pod_gpus *p);
/* Before units_apply(): fills r's GPUs by its devices. */
void pod_gpus_take(struct pod_gpus *p, const struct env *env, struct record *r);
/* Those that were waited for are told to the table. Cheap while nobody waits. */
void pod_gpus_again(struct pod_gpus *p, const struct env *env, struct units *u);

#endif
