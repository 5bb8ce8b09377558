/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact integer split of microjoules by weights: rounding neither loses nor adds
 * energy, so sums over units equal what was measured. */
#include "daemon/energy.h"

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
