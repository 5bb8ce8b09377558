/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/unit_io.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct ended_io {
	uint64_t serial; /* unit_serial() that it belongs to */
	struct unit_io_total total;
};

struct unit_io {
	struct units *units;
	struct io_cells cells;
	struct io_paths *paths;
	struct io_path **of_cell; /* NULL: not asked for yet */
	struct io_path *none;     /* of what has no mount of its own */
	struct ended_io *ended;   /* by unit */
	uint32_t unit_count;
	uint32_t kept; /* mounts in ended */
};

void unit_io_total_reset(struct unit_io_total *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->mounts[i].depth);
	t->count = 0;
	t->names = (struct io_names){0};
}

void unit_io_total_done(struct unit_io_total *t)
{
	unit_io_total_reset(t);
	free(t->mounts);
	*t = (struct unit_io_total){0};
}

static bool make_unit_io(struct unit_io *io, struct units *units, uint32_t cells)
{
	io->unit_count = units_capacity(units);
	io->ended = calloc(io->unit_count, sizeof(*io->ended));
	io->of_cell = calloc(cells, sizeof(*io->of_cell));
	if (!io->ended || !io->of_cell || io_paths_new(&io->paths) < 0)
		return false;
	io->none = io_paths_take(io->paths, "");
	return io->none;
}

int unit_io_new(struct units *units, struct io_cells *cells, struct unit_io **ret,
		struct err *err)
{
	struct unit_io *io = calloc(1, sizeof(*io));

	if (!io || !make_unit_io(io, units, cells->cells)) {
		unit_io_free(io);
		io_cells_close(cells);
		return err_set(err, -ENOMEM, "out of memory");
	}
	io->units = units;
	io->cells = *cells;
	*cells = (struct io_cells){0};
	*ret = io;
	return 0;
}

void unit_io_free(struct unit_io *io)
{
	if (!io)
		return;
	for (uint32_t i = 0; io->ended && i < io->unit_count; i++)
		unit_io_total_done(&io->ended[i].total);
	io_cells_close(&io->cells);
	io_paths_free(io->paths);
	free(io->of_cell);
	free(io->ended);
	free(io);
}

/* The path of a cell stays as it is until the cell is given back. NULL: no memory */
static struct io_path *find_path(const struct unit_io *io, uint32_t cell)
{
	char path[IO_PATH_BYTES];

	if (cell >= io->cells.cells)
		return io->none;
	if (!io->of_cell[cell]) {
		if (io_cells_path(&io->cells, cell, path) < 0)
			return NULL;
		io->of_cell[cell] = io_paths_take(io->paths, path);
	}
	return io->of_cell[cell];
}

static struct mount_io *find_mount(struct unit_io_total *t, const struct io_path *path)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (t->mounts[i].held == path)
			return &t->mounts[i];
	}
	return NULL;
}

static struct mount_io *mount_room(const struct unit_io *io, struct unit_io_total *t,
				   struct io_path *path, uint32_t max)
{
	struct mount_io *m = find_mount(t, path);

	/* the last place is for what has no place of its own */
	if (!m && t->count + 1 >= max) {
		path = io->none;
		m = find_mount(t, path);
	}
	if (m)
		return m;
	if (t->count == t->room) {
		uint32_t room = t->room ? t->room * 2 : 4;
		m = reallocarray(t->mounts, room, sizeof(*m));
		if (!m)
			return NULL;
		t->mounts = m;
		t->room = room;
	}
	m = &t->mounts[t->count++];
	*m = (struct mount_io){.path = path->text, .held = path};
	return m;
}

static bool make_depth(const struct unit_io *io, struct mount_io *m)
{
	if (!(io->cells.counted & IO_COUNTED_TIMES) || m->depth)
		return true;
	m->depth = calloc(1, sizeof(*m->depth));
	return m->depth;
}

static void add_depth(struct mount_io *m, const struct mount_io_depth *d)
{
	for (unsigned i = 0; i < IO_DIRECTIONS; i++) {
		for (unsigned b = 0; b < IO_BUCKETS; b++)
			m->depth->times.of[i].calls[b] += d->times.of[i].calls[b];
		m->depth->times.of[i].ns += d->times.of[i].ns;
	}
	for (unsigned i = 0; i < IO_ERROR_CALLS; i++) {
		for (unsigned e = 0; e < IO_ERROR_CLASSES; e++)
			m->depth->errors.of[i][e] += d->errors.of[i][e];
	}
}

static int add_cell(const struct unit_io *io, uint32_t cell, uint32_t max,
		    struct unit_io_total *to)
{
	struct io_path *path = find_path(io, cell);
	struct mount_io *m = path ? mount_room(io, to, path, max) : NULL;
	struct io_counts counts;

	if (!m || !make_depth(io, m))
		return -ENOMEM;
	io_cells_sum(&io->cells, cell, &counts);
	io_counts_add(&m->counts, &counts);
	if (m->depth) {
		io_cells_add_times(&io->cells, cell, &m->depth->times);
		io_cells_add_errors(&io->cells, cell, &m->depth->errors);
	}
	return 0;
}

static int add_ended_mount(const struct unit_io *io, const struct mount_io *from,
			   struct unit_io_total *to)
{
	struct mount_io *m = mount_room(io, to, from->held, UNIT_IO_MOUNTS_MAX);

	if (!m || !make_depth(io, m))
		return -ENOMEM;
	io_counts_add(&m->counts, &from->counts);
	if (m->depth && from->depth)
		add_depth(m, from->depth);
	return 0;
}

static void add_names(struct unit_io_total *t, const struct io_names *n)
{
	t->names.opens += n->opens;
	t->names.open_errors += n->open_errors;
	t->names.creates += n->creates;
	t->names.create_errors += n->create_errors;
	t->names.unlinks += n->unlinks;
	t->names.unlink_errors += n->unlink_errors;
}

static int add_slot_counts(const struct unit_io *io, uint32_t slot, uint32_t max,
			   struct unit_io_total *to)
{
	uint32_t cells[IO_CELLS_OF_SLOT_MAX];
	uint32_t n = io_cells_of_slot(&io->cells, slot, cells);
	struct io_names names;
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = add_cell(io, cells[i], max, to);
	io_cells_sum_names(&io->cells, slot, &names);
	add_names(to, &names);
	return rc;
}

int unit_io_add_slot(const struct unit_io *io, uint32_t slot, struct unit_io_total *to)
{
	return add_slot_counts(io, slot, UNIT_IO_MOUNTS_MAX, to);
}

int unit_io_add_ended(const struct unit_io *io, uint32_t unit, struct unit_io_total *to)
{
	const struct ended_io *e = unit < io->unit_count ? &io->ended[unit] : NULL;
	int rc = 0;

	if (!e || e->serial != unit_serial(io->units, unit))
		return 0;
	for (uint32_t i = 0; i < e->total.count && rc == 0; i++)
		rc = add_ended_mount(io, &e->total.mounts[i], to);
	add_names(to, &e->total.names);
	return rc;
}

static void forget_ended_mounts(struct unit_io *io, struct ended_io *e)
{
	io->kept -= e->total.count;
	for (uint32_t i = 0; i < e->total.count; i++)
		io_paths_drop(io->paths, e->total.mounts[i].held);
	unit_io_total_done(&e->total);
}

/* Of units that have left the table */
static void forget_gone_units(struct unit_io *io)
{
	for (uint32_t i = 0; i < io->unit_count; i++) {
		if (io->ended[i].serial != unit_serial(io->units, i))
			forget_ended_mounts(io, &io->ended[i]);
	}
}

static void keep_slot_counts(struct unit_io *io, uint32_t slot, uint32_t max,
			     struct unit_io_total *to)
{
	uint32_t had = to->count;

	/* without memory the mount's counts are lost */
	(void)add_slot_counts(io, slot, max, to);
	for (uint32_t i = had; i < to->count; i++)
		io_paths_hold(to->mounts[i].held);
	io->kept += to->count - had;
}

static void release_cells(struct unit_io *io, uint32_t slot)
{
	uint32_t cells[IO_CELLS_OF_SLOT_MAX];
	uint32_t n = io_cells_of_slot(&io->cells, slot, cells);

	for (uint32_t i = 0; i < n; i++) {
		if (cells[i] >= io->cells.cells)
			continue;
		io_paths_drop(io->paths, io->of_cell[cells[i]]);
		io->of_cell[cells[i]] = NULL;
	}
	io_cells_release(&io->cells, slot);
}

void unit_io_end_slot(struct unit_io *io, uint32_t slot, uint32_t unit)
{
	if (unit < io->unit_count) {
		struct ended_io *e = &io->ended[unit];
		if (e->serial != unit_serial(io->units, unit))
			forget_ended_mounts(io, e);
		e->serial = unit_serial(io->units, unit);
		if (io->kept + IO_CELLS_OF_SLOT_MAX > UNIT_IO_KEPT_MAX)
			forget_gone_units(io);
		bool full = io->kept + IO_CELLS_OF_SLOT_MAX > UNIT_IO_KEPT_MAX;
		keep_slot_counts(io, slot, full ? 0 : UNIT_IO_MOUNTS_MAX, &e->total);
	}
	release_cells(io, slot);
}

void unit_io_stats(const struct unit_io *io, struct unit_io_stats *ret)
{
	const struct io_control *c = io->cells.control;
	uint64_t head = __atomic_load_n(&c->cell_head, __ATOMIC_RELAXED);

	*ret = (struct unit_io_stats){
		.no_cell = __atomic_load_n(&c->no_cell, __ATOMIC_RELAXED),
		.compat = __atomic_load_n(&c->compat, __ATOMIC_RELAXED),
		.cells = io->cells.cells,
		.counted = io->cells.counted,
		.paths = io_paths_count(io->paths),
		.used = io->cells.cells - (uint32_t)(c->cell_tail - head),
	};
}
