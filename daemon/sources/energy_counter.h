/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_ENERGY_COUNTER_H
#define CEEMS_DAEMON_SOURCES_ENERGY_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* What passed between two readings of a counter that takes the values 0 .. range - 1
 * and then begins again; range 0: it has 64 bits. At most one turn can be seen. */
static inline uint64_t counter_delta(uint64_t prev, uint64_t cur, uint64_t range)
{
	if (cur >= prev || range == 0)
		return cur - prev;
	return range > prev ? range - prev + cur : cur;
}

/* An energy counter of some hardware, carried on in 64 bits. Set range_uj and worst_uw,
 * zero the rest. Plain data, not thread safe. */
struct energy_counter {
	uint64_t range_uj; /* one turn; 0: it never wraps, so a fall is a restart */
	uint64_t worst_uw; /* more than what it measures can ever draw */
	uint64_t total_uj; /* since the first reading */
	uint64_t raw_uj, at_ns; /* last reading */
	uint64_t first_ns;
	bool started, moved;
};

enum energy_step {
	ENERGY_STEP_FIRST,
	ENERGY_STEP_COUNTED,
	/* It fell or leapt in a way that no turn and no power explains (suspend, driver
	 * reload, garbage): counted on from here, nothing added. */
	ENERGY_STEP_RESET,
	/* Counted, but so late that a whole turn may have been missed. */
	ENERGY_STEP_LATE,
};

/* Takes a reading made at boot time now_ns. */
enum energy_step energy_counter_take(struct energy_counter *c, uint64_t raw_uj,
				     uint64_t now_ns);

/* After this the next reading is a first one again; the total stays. */
void energy_counter_restart(struct energy_counter *c);

/* How far readings may be apart so that no turn is ever missed: a third of the time of
 * the fastest turn. UINT64_MAX when it never wraps. */
uint64_t energy_counter_gap_ms(const struct energy_counter *c);

/* It has been read for so long without ever moving that it is not a counter: what
 * virtual machines and unsupported domains show. */
#define ENERGY_COUNTER_DEAD_MS 10000u
bool energy_counter_is_dead(const struct energy_counter *c);

#endif
