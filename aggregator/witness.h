/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_WITNESS_H
#define CEEMS_AGGREGATOR_WITNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/prom.h"

/*
 * Checks our own clock against others: the database's, and those of hosts that send
 * reports with their clocks. Each counts once by its proof (a MUNGE daemon's address, a
 * certificate's name, a token), however much it sends and under however many names.
 *
 * Clocks that differ by less than WITNESS_APART_NS agree. When more of them agree with
 * each other and contradict us than agree with us, our clock is wrong, and nothing may
 * be judged by it. Thread safe.
 */

#define WITNESS_APART_NS (120ll * 1000000000)
#define WITNESS_NAME_BYTES 72
#define WITNESS_MAX 4096u /* more: the one silent longest is dropped */
#define WITNESS_TTL_NS (1800ull * 1000000000) /* silent so long: dropped */
#define WITNESS_DATABASE "database"

struct witness;

struct witnesses {
	pthread_mutex_t mutex;
	struct witness *all; /* WITNESS_MAX of them, allocated with the first */
	uint32_t count;
};
#define WITNESSES_INIT                                                                 \
	{                                                                              \
		.mutex = PTHREAD_MUTEX_INITIALIZER                                     \
	}

void witness_done(struct witnesses *w);

/* A witness' CLOCK_REALTIME at our CLOCK_BOOTTIME. The latest counts. */
void witness_tell(struct witnesses *w, const char *who, uint64_t realtime_ns,
		  uint64_t boottime_ns);

enum witness_state {
	WITNESS_UNDECIDED, /* too few, or a tie */
	WITNESS_GOOD,      /* two or more agree with us, and fewer contradict */
	WITNESS_WRONG,     /* our clock is wrong */
};

struct witness_verdict {
	enum witness_state state;
	uint32_t agree, contradict;
	int64_t ahead_s; /* of the others' clocks, the median of those that contradict
			    us and agree with each other; 0: none */
};

/* Judges our clocks' current values. */
struct witness_verdict witness_judge(struct witnesses *w, uint64_t realtime_ns,
				     uint64_t boottime_ns);

#define WITNESS_TEXT_BYTES 192
/* Says what is wrong and what to do. False, "": nothing is. */
bool witness_text(const struct witness_verdict *v, char ret[WITNESS_TEXT_BYTES]);

void witness_metrics(struct witnesses *w, struct prom *out);

#endif
