/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact integer split of microjoules by weights: rounding neither loses nor adds
 * energy, so sums over units equal what was measured. */
#include "daemon/energy_impl.h"

#define NSEC 1000000000ull

/* Whether a gets a left-over microjoule before b */
static bool has_precedence(const struct energy_slot *slots, uint32_t a, uint32_t b)
{
	if (slots[a].remainder != slots[b].remainder)
		return slots[a].remainder > slots[b].remainder;
	return slots[a].key < slots[b].key;
}

static void sift_remainder_down(const struct energy_slot *slots, uint32_t *heap,
				size_t n, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= n)
			return;
		if (child + 1 < n &&
		    has_precedence(slots, heap[child + 1], heap[child]))
			child++;
		if (!has_precedence(slots, heap[child], heap[i]))
			return;
		uint32_t tmp = heap[i];
		heap[i] = heap[child];
		heap[child] = tmp;
		i = child;
	}
}

/* A heap rather than a sort: only as many elements are taken out as microjoules are
 * left, and the worst case is n log n whatever the weights. */
static void hand_out(uint64_t left, const struct energy_slot *slots, size_t n,
		     uint64_t *shares, uint32_t *heap)
{
	size_t size = 0;
	for (size_t i = 0; i < n; i++)
		if (slots[i].remainder)
			heap[size++] = (uint32_t)i;
	for (size_t i = size / 2; i-- > 0;)
		sift_remainder_down(slots, heap, size, i);
	for (; left && size; left--) {
		shares[heap[0]]++;
		heap[0] = heap[--size];
		sift_remainder_down(slots, heap, size, 0);
	}
}

/* Total x weight must fit 128 bits: a common shift keeps proportions except for the
 * last bits, and depends on the sum only, not on the order. */
static unsigned __int128 fit_weights(struct energy_slot *slots, size_t n)
{
	unsigned __int128 sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += slots[i].weight;
	unsigned shift = 0;
	while (sum >> shift >> 63)
		shift++;
	if (!shift)
		return sum;
	sum = 0;
	for (size_t i = 0; i < n; i++) {
		slots[i].weight >>= shift;
		sum += slots[i].weight;
	}
	return sum;
}

bool energy_split(uint64_t total, struct energy_slot *slots, size_t n, uint64_t *shares,
		  uint32_t *order)
{
	unsigned __int128 sum = fit_weights(slots, n);
	uint64_t given = 0;
	for (size_t i = 0; i < n; i++) {
		shares[i] = 0;
		slots[i].remainder = 0;
		if (!sum || !slots[i].weight)
			continue;
		unsigned __int128 part = slots[i].weight * total;
		shares[i] = (uint64_t)(part / sum);
		slots[i].remainder = part - sum * shares[i];
		given += shares[i];
	}
	if (sum && given < total)
		hand_out(total - given, slots, n, shares, order);
	return sum != 0;
}

uint64_t energy_of_power(uint64_t uw, uint64_t ns)
{
	unsigned __int128 uj = (unsigned __int128)uw * ns / NSEC;
	return uj > UINT64_MAX ? UINT64_MAX : (uint64_t)uj;
}

uint64_t energy_power_of(uint64_t uj, uint64_t ns)
{
	unsigned __int128 uw = (unsigned __int128)uj * NSEC / ns;
	return uw > UINT64_MAX ? UINT64_MAX : (uint64_t)uw;
}

/* ---- a device's counter between its readings ------------------------------------- */

#define CUTS_MAX 256u /* pieces; the last one is the rest */

static uint64_t value_at(const struct energy_history *h, uint64_t t)
{
	size_t i = 1;

	while (i + 1 < h->count && h->points[i].at_ns < t)
		i++;
	const struct energy_point *a = &h->points[i - 1], *b = &h->points[i];
	if (t <= a->at_ns)
		return a->uj;
	if (t >= b->at_ns)
		return b->uj;
	return a->uj +
	       to_u64((u128)(b->uj - a->uj) * (t - a->at_ns) / (b->at_ns - a->at_ns));
}

bool energy_history_covers(const struct energy_history *h)
{
	if (h->count < 2 || h->to_ns <= h->from_ns || h->points[0].at_ns > h->from_ns ||
	    h->points[h->count - 1].at_ns < h->to_ns)
		return false;
	for (size_t i = 1; i < h->count; i++) {
		if (h->points[i].at_ns < h->points[i - 1].at_ns ||
		    h->points[i].uj < h->points[i - 1].uj)
			return false;
	}
	return true;
}

uint64_t energy_history_uj(const struct energy_history *h, uint64_t from_ns,
			   uint64_t to_ns)
{
	uint64_t from = value_at(h, from_ns), to = value_at(h, to_ns);

	return to > from ? to - from : 0;
}

/* ---- the meter's time, cut where holders come and go ----------------------------- */

static bool holds_at(const struct energy_use *u, uint64_t t)
{
	return u->gpu_count && u->started_ns <= t && (!u->ended_ns || t < u->ended_ns);
}

/* All parts that are held at a moment */
struct held_parts {
	uint64_t share_ppm, use_ppm;
};

/* The next moment after t when a holder comes or goes, else the end; and the parts that
 * are held until then. */
static uint64_t next_cut(const struct split *s, uint64_t t, struct held_parts *held)
{
	uint64_t next = s->tick->histories[s->gpu].to_ns;

	*held = (struct held_parts){0, 0};
	for (size_t i = 0; i < s->n; i++) {
		const struct energy_use *u = &s->uses[i];
		uint64_t ppm = u->gpu_count ? energy_gpu_part_ppm(s, u, false) : 0;
		if (!ppm)
			continue;
		if (u->started_ns > t && u->started_ns < next)
			next = u->started_ns;
		if (u->ended_ns > t && u->ended_ns < next)
			next = u->ended_ns;
		if (!holds_at(u, t))
			continue;
		held->share_ppm += ppm;
		held->use_ppm += energy_gpu_part_ppm(s, u, true);
	}
	return next;
}

void energy_weigh_drawn(const struct split *s, uint64_t idle_uw)
{
	struct energy_slot *slots = s->w->slots;
	const struct energy_history *h = &s->tick->histories[s->gpu];
	uint64_t t = h->from_ns;

	for (unsigned cuts = 1; t < h->to_ns; cuts++) {
		struct held_parts held;
		uint64_t next = next_cut(s, t, &held);
		if (cuts == CUTS_MAX)
			next = h->to_ns;
		uint64_t uj = energy_history_uj(h, t, next);
		uint64_t idle_uj = energy_of_power(idle_uw, next - t);
		u128 drawn = (u128)ENERGY_ONE_PPM * (uj > idle_uj ? uj - idle_uj : 0);
		bool used = held.use_ppm != 0;
		uint64_t all_ppm = used ? held.use_ppm : held.share_ppm;
		slots[SLOT_IDLE].weight += all_ppm ? 0 : drawn;
		for (size_t i = 0; all_ppm && i < s->n; i++) {
			const struct energy_use *u = &s->uses[i];
			if (holds_at(u, t))
				slots[SLOT_UNITS + i].weight +=
					drawn * energy_gpu_part_ppm(s, u, used) /
					all_ppm;
		}
		t = next;
	}
}
