/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_TICKER_GPU_IDLE_H
#define CEEMS_DAEMON_TICKER_GPU_IDLE_H

#include "daemon/sources/meters.h"
#include "daemon/ticker/gpu_readings.h"
#include "daemon/ticker/usage_deltas.h"

/* What each device takes while no unit holds it and nothing runs on it: learned anew by
 * each daemon. {0} is valid. */
struct gpu_idle {
	struct energy_learner learner[METERS_GPUS];
	uint64_t uw[METERS_GPUS]; /* 0: not known yet */
};

/* After a tick: meters are what each device took in the time of its history. */
void gpu_idle_learn(struct gpu_idle *g, const struct usage_deltas *w,
		    const struct energy_meter *meters,
		    const struct energy_history *histories, uint32_t count,
		    const struct gpu_readings *r);

#endif
