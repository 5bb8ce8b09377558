/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/unit_perf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/records/group_slots.h"

struct ended_perf {
	uint64_t serial; /* unit_serial() that it belongs to */
	struct perf_counts counts;
};

struct unit_perf {
	struct units *units;
	struct perf_cells cells;
	struct ended_perf *ended; /* by unit */
	uint32_t unit_count;
};

static size_t counts_bytes(const struct perf_cells *c)
{
	return (size_t)c->slots * c->stripes * sizeof(*c->counts);
}

static bool is_perf_size(uint32_t n, uint32_t max)
{
	return n && n <= max && !(n & (n - 1));
}

int perf_cells_open(struct perf_cells *c, const int fds[PERF_FDS], uint32_t slots,
		    uint32_t stripes, struct err *err)
{
	*c = (struct perf_cells){.slots = slots, .stripes = stripes};
	memcpy(c->fds, fds, sizeof(c->fds));
	if (!is_perf_size(slots, GROUP_SLOTS_MAX) ||
	    !is_perf_size(stripes, PERF_STRIPES_MAX)) {
		perf_cells_close(c);
		return err_set(err, -EPROTO, "%u slots, %u stripes", slots, stripes);
	}
	void *map = mmap(NULL, counts_bytes(c), PROT_READ | PROT_WRITE, MAP_SHARED,
			 fds[PERF_FD_COUNTS], 0);
	if (map == MAP_FAILED) {
		int rc = -errno;
		perf_cells_close(c);
		return err_set(err, rc, "map the events: %s", strerror(-rc));
	}
	c->counts = map;
	return 0;
}

void perf_cells_close(struct perf_cells *c)
{
	if (c->counts)
		munmap(c->counts, counts_bytes(c));
	for (unsigned i = 0; c->slots && i < PERF_FDS; i++) {
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	}
	*c = (struct perf_cells){0};
}

int unit_perf_new(struct units *units, struct perf_cells *cells, struct unit_perf **ret,
		  struct err *err)
{
	struct unit_perf *p = calloc(1, sizeof(*p));

	if (p) {
		p->unit_count = units_capacity(units);
		p->ended = calloc(p->unit_count, sizeof(*p->ended));
	}
	if (!p || !p->ended) {
		free(p);
		perf_cells_close(cells);
		return err_set(err, -ENOMEM, "out of memory");
	}
	p->units = units;
	p->cells = *cells;
	*cells = (struct perf_cells){0};
	*ret = p;
	return 0;
}

void unit_perf_free(struct unit_perf *p)
{
	if (!p)
		return;
	perf_cells_close(&p->cells);
	free(p->ended);
	free(p);
}

static void add_perf_counts(struct perf_counts *to, const struct perf_counts *c)
{
	to->minor_faults += __atomic_load_n(&c->minor_faults, __ATOMIC_RELAXED);
	to->major_faults += __atomic_load_n(&c->major_faults, __ATOMIC_RELAXED);
	to->switches += __atomic_load_n(&c->switches, __ATOMIC_RELAXED);
	to->migrations += __atomic_load_n(&c->migrations, __ATOMIC_RELAXED);
}

void unit_perf_add_slot(const struct unit_perf *p, uint32_t slot,
			struct perf_counts *to)
{
	const struct perf_cells *c = &p->cells;

	for (uint32_t i = 0; i < c->stripes; i++)
		add_perf_counts(to, &c->counts[(size_t)slot * c->stripes + i]);
}

void unit_perf_add_ended(const struct unit_perf *p, uint32_t unit,
			 struct perf_counts *to)
{
	if (unit < p->unit_count &&
	    p->ended[unit].serial == unit_serial(p->units, unit))
		add_perf_counts(to, &p->ended[unit].counts);
}

void unit_perf_end_slot(struct unit_perf *p, uint32_t slot, uint32_t unit)
{
	const struct perf_cells *c = &p->cells;

	if (unit < p->unit_count) {
		struct ended_perf *e = &p->ended[unit];
		uint64_t serial = unit_serial(p->units, unit);
		if (e->serial != serial)
			*e = (struct ended_perf){.serial = serial};
		unit_perf_add_slot(p, slot, &e->counts);
	}
	memset(&c->counts[(size_t)slot * c->stripes], 0,
	       c->stripes * sizeof(*c->counts));
}
