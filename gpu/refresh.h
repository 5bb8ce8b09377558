/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_GPU_REFRESH_H
#define CEEMS_GPU_REFRESH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When a counter was refreshed that a device refreshes in its own time (NVIDIA's energy
 * counter every 20 to 100 ms). A reading has the value of the last refresh before it:
 * if it is dated by when it was read, a job of 300 ms is charged for up to one refresh
 * too many or too few, and on a busy machine, which reads late, differently each time.
 * So once a second a refresh is pinned down by readings that are 10 ms apart. The time
 * between two refreshes is learned from that, and the others are dated by it, however
 * late they are read. Of a counter that is refreshed more often than every 40 ms
 * nothing is learned: its readings are dated by when they ended. No locks: of the
 * device's thread.
 */
struct counter_refresh {
	/* private */
	uint64_t began_ns, ended_ns; /* of the reading before; 0: there is none */
	uint64_t at_ns;              /* of the last refresh; 0: none was seen */
	uint64_t sharp_ns;           /* of one that was pinned down, to count from */
	uint64_t period_ns;          /* between two; 0: not known */
	uint64_t known_over_ns;      /* how long it was learned from */
	uint64_t search_ns;          /* when the next one is to be pinned down */
	uint32_t tries;              /* readings since then */
	bool again; /* which refresh the last reading had seen is not certain */
};

/* Takes a reading that began and ended then, by one clock. has_changed: its value is
 * another one than that of the last reading that was taken. Returns when the device
 * refreshed the value; meaningless if it has not changed. 0: it cannot be told which
 * refresh it has, and it was not taken. */
uint64_t refresh_take(struct counter_refresh *r, uint64_t began_ns, uint64_t ended_ns,
		      bool has_changed);

/* How long after the last reading the next one is due: at most period_ns. */
uint64_t refresh_rest_ns(const struct counter_refresh *r, uint64_t period_ns);

#endif
