/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceemsd arms the CPUs' events, and has ceems-profiler sample a step, when it has read
 * the record of a step that asks for that. Until then the step's tasks are held before
 * exec, so that their first instructions are counted, and sampled. */
#include "spank/arm_wait.h"

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/records/ring.h"

/* A ceemsd that has not looked for so long has died or is stopped. */
#define DEAD_NS (5 * NSEC_PER_SEC)

static uint32_t events_to_wait_for(const struct step *s)
{
	uint32_t kinds = 0;

	/* its tasks run in the job's other steps */
	if (s->is_extern)
		return 0;
	if (s->record.flags & RECORD_PERF_HW)
		kinds |= RING_ARMED_HARDWARE;
	if (s->record.flags & RECORD_PERF_CACHE)
		kinds |= RING_ARMED_CACHE;
	return kinds;
}

static bool are_armed(const struct ring *r, uint32_t kinds)
{
	uint32_t armed = ring_armed(r);

	return !(armed & RING_ARMED_SAID) || (armed & kinds) == kinds;
}

/* What the last one said stays in the ring. */
static bool has_consumer(const struct ring *r)
{
	return step_host.boottime_ns() < ring_heartbeat_ns(r) + DEAD_NS;
}

void arm_wait(const struct step *s)
{
	uint32_t kinds = events_to_wait_for(s);
	bool sampled = s->record.profile_hz && !s->is_extern;
	struct ring ring;
	struct err err;

	if ((!kinds && !sampled) || s->ring_failed ||
	    ring_attach_readonly(s->policy->ring, step_host.ring_owner, &ring, &err) <
		    0)
		return;
	if (!has_consumer(&ring)) {
		ring_detach(&ring);
		return;
	}
	uint64_t until_ns = step_host.boottime_ns() + ARM_WAIT_MS * NSEC_PER_MSEC;
	uint64_t pos = sampled ? ring_head(&ring) : 0;
	bool armed = are_armed(&ring, kinds), profiled = ring_is_profiled(&ring, pos);
	while (!(armed && profiled) && step_host.boottime_ns() < until_ns) {
		step_host.nap();
		armed = are_armed(&ring, kinds);
		profiled = ring_is_profiled(&ring, pos);
	}
	ring_detach(&ring);
	if (!profiled)
		slurm_verbose("ceems: job %s: ceems-profiler has not begun in %u ms: "
			      "the step is sampled from when it does",
			      s->record.unit, ARM_WAIT_MS);
	if (!armed)
		slurm_verbose("ceems: job %s: ceemsd has not armed the CPUs' events in "
			      "%u ms: they are counted from when it does",
			      s->record.unit, ARM_WAIT_MS);
}
