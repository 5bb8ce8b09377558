/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_ENERGY_COUNTER_H
#define CEEMS_DAEMON_SOURCES_ENERGY_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* Growth between two readings of a counter with values 0 .. range - 1 that wraps; range
 * 0: 64 bits. At most one wrap can be detected. */
static inline uint64_t counter_delta(uint64_t prev, uint64_t cur, uint64_t range)
{
	if (cur >= prev || range == 0)
		return cur - prev;
	return range > prev ? range - prev + cur : cur;
}

/* A hardware energy counter, extended to 64 bits. Set range_uj and worst_uw, zero the
 * rest. Plain data, not thread safe. */
struct energy_counter {
	uint64_t range_uj; /* range of the counter; 0: it never wraps, so a decrease is
			      a restart */
	uint64_t worst_uw; /* more than the component can ever draw */
	uint64_t total_uj; /* since the first reading */
	uint64_t raw_uj, at_ns; /* last reading */
	uint64_t first_ns;
	bool started, moved;
};

enum energy_step {
	ENERGY_STEP_FIRST,
	ENERGY_STEP_COUNTED,
	/* It decreased or jumped in a way that no wrap and no power explains (suspend,
	 * driver reload, garbage): counting restarts here, nothing is added. */
	ENERGY_STEP_RESET,
	/* Counted, but so late that a wrap may have been missed. */
	ENERGY_STEP_LATE,
};

/* Takes a reading made at boot time now_ns. */
enum energy_step energy_counter_take(struct energy_counter *c, uint64_t raw_uj,
				     uint64_t now_ns);

/* Makes the next reading a first one; the total stays. */
void energy_counter_restart(struct energy_counter *c);

/* The longest interval between readings with which no wrap is missed: a third of the
 * time of the fastest wrap. UINT64_MAX: it never wraps. */
uint64_t energy_counter_gap_ms(const struct energy_counter *c);

/* A counter that has not moved for so long does not work, as in virtual machines and
 * for unsupported domains. */
#define ENERGY_COUNTER_DEAD_MS 10000u
bool energy_counter_is_dead(const struct energy_counter *c);

#endif
