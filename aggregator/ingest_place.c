/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of reports by clocks that can be trusted. */
#include "aggregator/ingest_place.h"

#include <string.h>

#include "lib/clock.h"

uint64_t ingest_place_latest(const struct report *r)
{
	uint64_t latest = r->started_ns > r->t1_ns ? r->started_ns : r->t1_ns;

	if (r->ended_ns > latest)
		latest = r->ended_ns;
	for (uint32_t i = 0; i < r->step_count; i++) {
		if (r->steps[i].ended_ns > latest)
			latest = r->steps[i].ended_ns;
		if (r->steps[i].started_ns > latest)
			latest = r->steps[i].started_ns;
	}
	return latest;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static int64_t ms_between(uint64_t from_ns, uint64_t to_ns)
{
	return (int64_t)(to_ns / NSEC_PER_MSEC) - (int64_t)(from_ns / NSEC_PER_MSEC);
}

/* Whether it was sent in the boot that it tells of. */
static bool is_of_boot(const struct report *r, const struct report_clock *c)
{
	return r->started_boottime_ns && *r->boot_id &&
	       strcmp(r->boot_id, c->boot_id) == 0 &&
	       r->started_boottime_ns <= c->boottime_ns;
}

/* Of an earlier boot: it was over when this one began. */
static bool is_of_earlier(const struct report *r, const struct report_clock *c)
{
	return c && *r->boot_id && *c->boot_id && strcmp(r->boot_id, c->boot_id) != 0;
}

int64_t ingest_place_shift(const struct report *r, const struct report_clock *c,
			   uint64_t now_ns)
{
	/* A node that is right knows best when it sent: the way here takes time. */
	bool right = c && distance(c->realtime_ns, now_ns) <= INGEST_CLOCKS_AGREE_NS;
	uint64_t sent_ns = right ? c->realtime_ns : now_ns;

	if (c && is_of_boot(r, c)) {
		uint64_t age = c->boottime_ns - r->started_boottime_ns;
		uint64_t began = sent_ns > age ? sent_ns - age : 1;
		return distance(began, r->started_ns) <= INGEST_PLACE_NS
			       ? 0
			       : ms_between(r->started_ns, began);
	}
	uint64_t latest = ingest_place_latest(r);
	bool earlier = is_of_earlier(r, c) && sent_ns > c->boottime_ns;
	uint64_t end = earlier ? sent_ns - c->boottime_ns : sent_ns;
	uint64_t slack = earlier ? INGEST_CLOCKS_AGREE_NS : INGEST_AHEAD_NS;
	return latest > end + slack ? ms_between(latest, end) - 1 : 0;
}

static void move_time(uint64_t *t, int64_t ns)
{
	if (!*t)
		return;
	if (ns < 0 && *t <= (uint64_t)-ns)
		*t = 1;
	else
		*t = (uint64_t)((int64_t)*t + ns);
}

void ingest_place_move(struct report *r, int64_t shift_ms)
{
	int64_t ns;

	if (!shift_ms || __builtin_mul_overflow(shift_ms, (int64_t)NSEC_PER_MSEC, &ns))
		return;
	move_time(&r->started_ns, ns);
	move_time(&r->ended_ns, ns);
	move_time(&r->t0_ns, ns);
	move_time(&r->t1_ns, ns);
	for (uint32_t i = 0; i < r->step_count; i++) {
		move_time(&r->steps[i].started_ns, ns);
		move_time(&r->steps[i].ended_ns, ns);
	}
}
