/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/learn_queue.h"

#include "lib/clock.h"
#include "lib/records/profile_sample.h"

#define MASK (LEARN_PLACES - 1)
#define PRICE_NS (NSEC_PER_SEC / LEARN_RATE)

void learn_queue_put(struct learn_queue *q, uint32_t pid, uint64_t now_ns)
{
	uint32_t place = profile_place(pid, MASK), free = LEARN_PLACES;

	for (uint32_t i = 0; i < PROFILE_PROBES; i++) {
		uint32_t at = (place + i) & MASK;
		if (q->places[at].pid == pid) {
			q->places[at].last_ns = now_ns;
			return;
		}
		if (!q->places[at].pid && free == LEARN_PLACES)
			free = at;
	}
	if (free == LEARN_PLACES)
		return;
	q->places[free].pid = pid;
	q->places[free].first_ns = q->places[free].last_ns = now_ns;
	q->count++;
}

void learn_queue_drop(struct learn_queue *q, uint32_t pid)
{
	uint32_t place = profile_place(pid, MASK);

	for (uint32_t i = 0; q->count && i < PROFILE_PROBES; i++) {
		uint32_t at = (place + i) & MASK;
		if (q->places[at].pid != pid)
			continue;
		q->places[at].pid = 0;
		q->count--;
	}
}

uint32_t learn_queue_take(struct learn_queue *q, uint64_t now_ns)
{
	for (uint32_t i = 0; q->count && i < LEARN_PLACES; i++) {
		uint32_t at = q->hand++ & MASK, pid = q->places[at].pid;
		if (!pid || (now_ns < q->places[at].last_ns + LEARN_QUIET_NS &&
			     now_ns < q->places[at].first_ns + LEARN_LATEST_NS))
			continue;
		q->places[at].pid = 0;
		q->count--;
		return pid;
	}
	return 0;
}

bool learn_queue_may(struct learn_queue *q, uint64_t now_ns)
{
	uint64_t most = LEARN_BURST * PRICE_NS;

	q->credit_ns += now_ns - q->credited_ns;
	q->credited_ns = now_ns;
	if (q->credit_ns > most)
		q->credit_ns = most;
	if (q->credit_ns < PRICE_NS)
		return false;
	q->credit_ns -= PRICE_NS;
	return true;
}
