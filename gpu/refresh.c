/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpu/refresh.h"

#include "lib/clock.h"

#define STEP_NS (10 * NSEC_PER_MSEC)  /* between readings that look for a refresh */
#define SHARP_NS (15 * NSEC_PER_MSEC) /* a refresh is pinned down as well as this */
#define EARLY_NS (5 * NSEC_PER_MSEC)  /* as much too early one may be expected */
#define FAST_NS (40 * NSEC_PER_MSEC)  /* no use to learn when these were */
#define SEARCH_NS NSEC_PER_SEC
#define FAR_NS (10 * NSEC_PER_SEC) /* a period is learned over this */
#define TRIES_MAX 25u              /* longer than a device's refresh takes */

static uint64_t time_between(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Two refreshes were pinned down. Between them is a whole number of periods, by the
 * one that is known; a device that does not keep to it is learned anew. */
static bool learn_period(struct counter_refresh *r, uint64_t gap_ns)
{
	uint64_t n = r->period_ns ? (gap_ns + r->period_ns / 2) / r->period_ns : 1;

	/* the first two have no other between them */
	if (!r->period_ns && (r->sharp_ns != r->at_ns || gap_ns < FAST_NS))
		return false;
	if (!n ||
	    (r->period_ns && time_between(gap_ns, n * r->period_ns) > 2 * SHARP_NS))
		return false;
	if (gap_ns >= r->known_over_ns) {
		r->period_ns = gap_ns / n;
		r->known_over_ns = gap_ns;
	}
	return true;
}

static void forget_period(struct counter_refresh *r, uint64_t search_ns)
{
	r->period_ns = r->known_over_ns = r->sharp_ns = 0;
	r->search_ns = search_ns;
}

/* The better the period is known, the farther it counts: the next one that is pinned
 * down is twice as far from the first. */
static void take_sharp_refresh(struct counter_refresh *r, uint64_t at_ns)
{
	uint64_t gap_ns = r->sharp_ns ? at_ns - r->sharp_ns : 0;

	r->tries = 0;
	if (!gap_ns) {
		r->sharp_ns = r->search_ns = at_ns;
	} else if (!learn_period(r, gap_ns)) {
		forget_period(r, at_ns + SEARCH_NS);
	} else {
		r->search_ns = at_ns + (gap_ns < SEARCH_NS ? gap_ns : SEARCH_NS);
		if (gap_ns >= FAR_NS) {
			r->sharp_ns = at_ns;
			r->known_over_ns = FAR_NS;
		}
	}
}

/* 0: not certain. The reading before had an older value, so the refresh came after it
 * had begun. */
static uint64_t date_refresh(struct counter_refresh *r, uint64_t ended_ns)
{
	uint64_t earliest = r->began_ns > r->at_ns ? r->began_ns : r->at_ns;

	if (ended_ns - earliest <= SHARP_NS) {
		take_sharp_refresh(r, ended_ns);
		return ended_ns;
	}
	if (r->period_ns && ended_ns + SHARP_NS < r->at_ns + r->period_ns)
		forget_period(r, ended_ns); /* it is too early */
	if (!r->period_ns)
		return ended_ns;
	uint64_t n = (ended_ns - r->at_ns) / r->period_ns;
	uint64_t at = r->at_ns + n * r->period_ns;
	/* only one can have come: it was a little earlier than it was expected */
	if (at <= earliest)
		return ended_ns;
	/* too near to one: the value may be from either side of it */
	if (ended_ns - at < EARLY_NS || at + r->period_ns - ended_ns < SHARP_NS)
		return 0;
	return at;
}

uint64_t refresh_take(struct counter_refresh *r, uint64_t began_ns, uint64_t ended_ns,
		      bool has_changed)
{
	uint64_t at = ended_ns;

	if (r->began_ns && has_changed)
		at = date_refresh(r, ended_ns);
	r->ended_ns = ended_ns;
	r->again = !at;
	if (!at)
		return 0;
	if (r->began_ns && has_changed)
		r->at_ns = at;
	else if (r->period_ns && began_ns > r->at_ns + r->period_ns + 2 * SHARP_NS)
		forget_period(r, ended_ns); /* it should have come */
	r->began_ns = began_ns;
	if (ended_ns >= r->search_ns && ++r->tries > TRIES_MAX) {
		r->tries = 0;
		r->search_ns = ended_ns + SEARCH_NS;
	}
	return at;
}

uint64_t refresh_rest_ns(const struct counter_refresh *r, uint64_t period_ns)
{
	uint64_t rest = STEP_NS;

	if (!r->again && r->ended_ns + period_ns <= r->search_ns)
		return period_ns;
	/* nothing is to be seen until shortly before the next one is expected */
	if (!r->again && r->period_ns &&
	    r->at_ns + r->period_ns > r->ended_ns + 3 * STEP_NS)
		rest = r->at_ns + r->period_ns - r->ended_ns - 2 * STEP_NS;
	return rest < period_ns ? rest : period_ns;
}
