/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places the times of reports by clocks that can be trusted. */
#include "aggregator/ingest/ingest_place.h"

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

static uint64_t distance_ns(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static int64_t ms_between(uint64_t from_ns, uint64_t to_ns)
{
	return (int64_t)(to_ns / NSEC_PER_MSEC) - (int64_t)(from_ns / NSEC_PER_MSEC);
}

/* Whether it was sent in the boot that it reports on. */
static bool is_of_boot(const struct report *r, const struct report_clock *c)
{
	return r->started_boottime_ns && *r->boot_id &&
	       strcmp(r->boot_id, c->boot_id) == 0 &&
	       r->started_boottime_ns <= c->boottime_ns;
}

/* From an earlier boot: it was over when the present one began. */
static bool is_of_earlier(const struct report *r, const struct report_clock *c)
{
	return c && *r->boot_id && *c->boot_id && strcmp(r->boot_id, c->boot_id) != 0;
}

/* When it was sent: by the sender's clock if that is right, as the way here takes
 * time. */
static uint64_t sent_at(const struct ingest_place *at)
{
	const struct report_clock *c = at->clock;

	return c && distance_ns(c->realtime_ns, at->now_ns) <= INGEST_CLOCKS_AGREE_NS
		       ? c->realtime_ns
		       : at->now_ns;
}

/* When its boot had ended at the latest; *ret_slack_ns: by how much its clock may be
 * ahead of that. */
static uint64_t end_at(const struct report *r, const struct ingest_place *at,
		       uint64_t *ret_slack_ns)
{
	const struct report_clock *c = at->clock;
	uint64_t sent_ns = sent_at(at);
	bool earlier = is_of_earlier(r, c) && sent_ns > c->boottime_ns;

	*ret_slack_ns = earlier ? INGEST_CLOCKS_AGREE_NS : INGEST_AHEAD_NS;
	return earlier ? sent_ns - c->boottime_ns : sent_ns;
}

/* Into what is kept, as far as its boot lasted. */
static int64_t shift_into_kept(const struct report *r, const struct ingest_place *at,
			       uint64_t latest_ns, uint64_t end_ns)
{
	if (r->started_ns >= at->oldest_ns)
		return 0;
	int64_t ms = ms_between(r->started_ns, at->oldest_ns + INGEST_EDGE_NS);
	int64_t most_ms = ms_between(latest_ns, end_ns) - 1;
	if (ms > most_ms)
		ms = most_ms;
	return ms > 0 ? ms : 0;
}

int64_t ingest_place_shift(const struct report *r, const struct ingest_place *at)
{
	const struct report_clock *c = at->clock;
	uint64_t slack_ns, end_ns = end_at(r, at, &slack_ns);

	if (c && is_of_boot(r, c)) {
		uint64_t sent_ns = sent_at(at);
		uint64_t age = c->boottime_ns - r->started_boottime_ns;
		uint64_t began = sent_ns > age ? sent_ns - age : 1;
		uint64_t by_ours = at->now_ns > age ? at->now_ns - age : 1;
		/* half a minute of the sender's clock error does not matter */
		bool there = distance_ns(began, r->started_ns) <= INGEST_PLACE_NS ||
			     distance_ns(by_ours, r->started_ns) <= INGEST_PLACE_NS;
		return there ? 0 : ms_between(r->started_ns, began);
	}
	uint64_t latest = ingest_place_latest(r);
	if (latest > end_ns + slack_ns || latest + INGEST_UNSET_NS < at->oldest_ns)
		return ms_between(latest, end_ns) - 1;
	return shift_into_kept(r, at, latest, end_ns);
}

#define HOUR_MS ((int64_t)3600 * 1000)

/* Whether it could be taken there. */
static bool is_usable(const struct report *r, const struct ingest_place *at,
		      int64_t shift_ms)
{
	int64_t latest_ms = (int64_t)(ingest_place_latest(r) / NSEC_PER_MSEC);
	int64_t t0_ms = (int64_t)(r->t0_ns / NSEC_PER_MSEC);

	return latest_ms + shift_ms <=
		       (int64_t)((at->now_ns + INGEST_AHEAD_NS) / NSEC_PER_MSEC) &&
	       (r->type != REPORT_INTERVAL ||
		t0_ms + shift_ms > (int64_t)(at->oldest_ns / NSEC_PER_MSEC));
}

static struct ingest_placed find_by_age(const struct report *r,
					const struct ingest_place *at,
					const struct known_place *known)
{
	struct ingest_placed p = {.shift_ms = known->shift_ms, .move = known->flagged};
	int64_t off_ms = ingest_place_shift(r, at) - known->shift_ms;
	int64_t anew_ms = (int64_t)(INGEST_ANEW_NS / NSEC_PER_MSEC);

	if (off_ms <= anew_ms && off_ms >= -anew_ms)
		return p;
	p.judged = !is_usable(r, at, known->shift_ms);
	if (!at->sure && !p.judged)
		return (struct ingest_placed){.shift_ms = known->shift_ms};
	p.move = true;
	p.shift_ms +=
		(off_ms + (off_ms > 0 ? 1 : -1) * HOUR_MS / 2) / HOUR_MS * HOUR_MS;
	return p;
}

static struct ingest_placed find_by_wall(const struct report *r,
					 const struct ingest_place *at,
					 const struct known_place *known)
{
	struct ingest_placed p = {.shift_ms = known->shift_ms};
	uint64_t slack_ns, end_ns = end_at(r, at, &slack_ns);
	int64_t late_ms = ms_between(end_ns, ingest_place_latest(r)) + p.shift_ms;

	if (late_ms <= (int64_t)(slack_ns / NSEC_PER_MSEC))
		return p;
	p.move = p.judged = true;
	p.shift_ms -= (late_ms + HOUR_MS - 1) / HOUR_MS * HOUR_MS;
	return p;
}

struct ingest_placed ingest_place_find(const struct report *r,
				       const struct ingest_place *at,
				       const struct known_place *known)
{
	bool of_boot = at->clock && is_of_boot(r, at->clock);
	struct ingest_placed p = {0};

	if (known) {
		p = of_boot ? find_by_age(r, at, known) : find_by_wall(r, at, known);
	} else {
		p.shift_ms = ingest_place_shift(r, at);
		/* back to the end of its boot it may go by what its node says */
		p.judged = !of_boot && p.shift_ms > 0;
	}
	p.aged = of_boot;
	return p;
}

uint64_t ingest_place_over(const struct report *r, const struct ingest_place *at,
			   int64_t shift_ms, bool again)
{
	uint64_t slack_ns;

	if (at->clock && is_of_boot(r, at->clock))
		return 0;
	return is_of_earlier(r, at->clock) || shift_ms || again
		       ? end_at(r, at, &slack_ns)
		       : 0;
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
	move_time(&r->sized_ns, ns);
	move_time(&r->t0_ns, ns);
	move_time(&r->t1_ns, ns);
	for (uint32_t i = 0; i < r->step_count; i++) {
		move_time(&r->steps[i].started_ns, ns);
		move_time(&r->steps[i].ended_ns, ns);
	}
}
