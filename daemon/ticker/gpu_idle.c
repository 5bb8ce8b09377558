/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Learns the idle power of each device. */
#include "daemon/ticker/gpu_idle.h"

static bool is_held(const struct usage_deltas *w, uint32_t device,
		    const struct energy_history *h)
{
	for (size_t k = 0; k < w->count; k++) {
		const struct energy_use *use = &w->use[k];
		if (use->started_ns >= h->to_ns ||
		    (use->ended_ns && use->ended_ns <= h->from_ns))
			continue;
		for (size_t i = 0; i < use->gpu_count; i++) {
			if (use->gpus[i].gpu == device)
				return true;
		}
	}
	return false;
}

/* By the reading, and where a driver lists processes by that, too */
static bool is_working(const struct gpu_readings *r, uint32_t device)
{
	const struct gpu_reading *g = gpu_readings_last(r, device);

	return !g || !(g->have >> CHILD_GPU_BUSY & 1) || g->value[CHILD_GPU_BUSY] ||
	       g->processes;
}

void gpu_idle_learn(struct gpu_idle *g, const struct usage_deltas *w,
		    const struct energy_meter *meters,
		    const struct energy_history *histories, uint32_t count,
		    const struct gpu_readings *r)
{
	for (uint32_t i = 0; i < count && i < METERS_GPUS && !w->gpus_unclear; i++) {
		const struct energy_history *h = &histories[i];
		if (meters[i].source == ENERGY_NO_SOURCE || !energy_history_covers(h) ||
		    is_held(w, i, h) || is_working(r, i))
			continue;
		energy_learn(&g->learner[i], meters[i].energy_uj,
			     h->to_ns - h->from_ns);
		(void)energy_learned(&g->learner[i], &g->uw[i]);
	}
}
