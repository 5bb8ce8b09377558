/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hardware energy counters extended to 64 bits. A wrap and a reset look the same; the
 * power that the hardware can draw distinguishes them. */
#include "daemon/sources/energy_counter.h"

#include "lib/clock.h"

#define SLACK_MS 100u /* counters are updated every 1 to 100 ms */
#define LONG_MS 100000000u

/* The most the hardware can have used in that time */
static uint64_t most_uj(const struct energy_counter *c, uint64_t ms)
{
	if (ms > LONG_MS)
		ms = LONG_MS;
	return c->worst_uw > UINT64_MAX / LONG_MS ? UINT64_MAX
						  : c->worst_uw * ms / 1000;
}

enum energy_step energy_counter_take(struct energy_counter *c, uint64_t raw_uj,
				     uint64_t now_ns)
{
	uint64_t prev_uj = c->raw_uj, prev_ns = c->at_ns;

	c->raw_uj = raw_uj;
	c->at_ns = now_ns;
	if (!c->started) {
		c->started = true;
		c->first_ns = now_ns;
		return ENERGY_STEP_FIRST;
	}
	if (raw_uj == prev_uj)
		return ENERGY_STEP_COUNTED;
	c->moved = true;
	if (raw_uj < prev_uj && (!c->range_uj || prev_uj >= c->range_uj))
		return ENERGY_STEP_RESET;
	uint64_t delta = counter_delta(prev_uj, raw_uj, c->range_uj);
	uint64_t ms = now_ns > prev_ns ? (now_ns - prev_ns) / NSEC_PER_MSEC : 0;
	/* twice what is possible, as this only detects garbage */
	if (delta / 2 > most_uj(c, ms + SLACK_MS))
		return ENERGY_STEP_RESET;
	c->total_uj += delta;
	return c->range_uj && most_uj(c, ms) >= c->range_uj ? ENERGY_STEP_LATE
							    : ENERGY_STEP_COUNTED;
}

void energy_counter_restart(struct energy_counter *c)
{
	c->started = false;
	c->moved = false;
}

uint64_t energy_counter_gap_ms(const struct energy_counter *c)
{
	if (!c->range_uj || c->worst_uw < 1000)
		return UINT64_MAX;
	uint64_t ms = c->range_uj / (c->worst_uw / 1000) / 3;
	return ms ? ms : 1;
}

bool energy_counter_is_dead(const struct energy_counter *c)
{
	return c->started && !c->moved &&
	       c->at_ns - c->first_ns >= ENERGY_COUNTER_DEAD_MS * NSEC_PER_MSEC;
}
