/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/unit_counts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/records/group_slots.h"

struct unit_counts {
	struct units *units;
	struct slot_counts slots;
	uint32_t unit_count;
	/* by unit: unit_serial() that the words belong to, and those of all kinds */
	uint64_t *serials;
	unsigned long long *ended;
};

static size_t slot_words(const struct slot_counts *c)
{
	return (size_t)c->kinds * c->stripes * COUNTS_WORDS;
}

static size_t unit_words(const struct slot_counts *c)
{
	return (size_t)c->kinds * COUNTS_WORDS;
}

static size_t counts_bytes(const struct slot_counts *c)
{
	return ((size_t)c->slots + c->spare) * slot_words(c) * sizeof(*c->words);
}

static bool is_counts_size(uint32_t n, uint32_t max)
{
	return n && n <= max && !(n & (n - 1));
}

int slot_counts_open(struct slot_counts *c, struct err *err)
{
	c->words = NULL;
	if (!is_counts_size(c->slots, GROUP_SLOTS_MAX) ||
	    !is_counts_size(c->stripes, COUNTS_STRIPES_MAX)) {
		int rc = err_set(err, -EPROTO, "%u slots, %u stripes", c->slots,
				 c->stripes);
		slot_counts_close(c);
		return rc;
	}
	void *map = mmap(NULL, counts_bytes(c), PROT_READ | PROT_WRITE, MAP_SHARED,
			 c->fds[0], 0);
	if (map == MAP_FAILED) {
		int rc = -errno;
		slot_counts_close(c);
		return err_set(err, rc, "map the counters: %s", strerror(-rc));
	}
	c->words = map;
	return 0;
}

void slot_counts_close(struct slot_counts *c)
{
	if (c->words)
		munmap(c->words, counts_bytes(c));
	for (uint32_t i = 0; i < c->fd_count; i++) {
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	}
	*c = (struct slot_counts){0};
}

int unit_counts_new(struct units *units, struct slot_counts *slots,
		    struct unit_counts **ret, struct err *err)
{
	struct unit_counts *u = calloc(1, sizeof(*u));

	if (u) {
		u->units = units;
		u->slots = *slots;
		u->unit_count = units_capacity(units);
		u->serials = calloc(u->unit_count, sizeof(*u->serials));
		u->ended = calloc(u->unit_count, unit_words(slots) * sizeof(*u->ended));
		*slots = (struct slot_counts){0};
	}
	if (!u || !u->serials || !u->ended) {
		unit_counts_free(u);
		slot_counts_close(slots);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = u;
	return 0;
}

void unit_counts_free(struct unit_counts *u)
{
	if (!u)
		return;
	slot_counts_close(&u->slots);
	free(u->serials);
	free(u->ended);
	free(u);
}

static void add_slot_words(const struct slot_counts *c, uint32_t slot,
			   unsigned long long *to)
{
	const unsigned long long *w = &c->words[slot * slot_words(c)];

	for (uint32_t kind = 0; kind < c->kinds; kind++, to += COUNTS_WORDS) {
		for (uint32_t i = 0; i < c->stripes * COUNTS_WORDS; i++, w++)
			to[i % COUNTS_WORDS] += __atomic_load_n(w, __ATOMIC_RELAXED);
	}
}

void unit_counts_add_slot(const struct unit_counts *u, uint32_t slot,
			  unsigned long long *to)
{
	if (slot < u->slots.slots)
		add_slot_words(&u->slots, slot, to);
}

void unit_counts_add_nobodys(const struct unit_counts *u, unsigned long long *to)
{
	if (u->slots.spare)
		add_slot_words(&u->slots, u->slots.slots, to);
}

void unit_counts_add_ended(const struct unit_counts *u, uint32_t unit,
			   unsigned long long *to)
{
	size_t n = unit_words(&u->slots);

	if (unit >= u->unit_count || u->serials[unit] != unit_serial(u->units, unit))
		return;
	for (size_t i = 0; i < n; i++)
		to[i] += u->ended[unit * n + i];
}

void unit_counts_end_slot(struct unit_counts *u, uint32_t slot, uint32_t unit)
{
	const struct slot_counts *c = &u->slots;
	size_t n = unit_words(c);

	if (slot >= c->slots)
		return;
	if (unit < u->unit_count) {
		unsigned long long *ended = &u->ended[unit * n];
		if (u->serials[unit] != unit_serial(u->units, unit))
			memset(ended, 0, n * sizeof(*ended));
		u->serials[unit] = unit_serial(u->units, unit);
		add_slot_words(c, slot, ended);
	}
	memset(&c->words[slot * slot_words(c)], 0, slot_words(c) * sizeof(*c->words));
}
