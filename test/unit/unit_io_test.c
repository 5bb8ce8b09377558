/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's side of the maps is played here, for what it does seldom and for damage;
 * the kernel itself is in test/e2e/ebpf_io.sh. */
#include "daemon/groups/unit_io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fs.h"
#include "test/unit/group_lab.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define SLOTS 64u
#define CELLS 16u
#define STRIPES 2u
#define COUNTED (IO_COUNTED_URING | IO_COUNTED_TIMES)
#define UNITS (UNIT_IO_KEPT_MAX / UNIT_IO_MOUNTS_MAX + 32u)

static char folder[SCRATCH_PATH];
static struct units *units;
static struct io_cells kernel;      /* another mapping of the same maps */
static struct io_mount *mounts_map; /* the same, which ceemsd maps by the page */
static struct unit_io *io;
static uint64_t pos; /* in the ring */

static void open_cells(struct io_cells *ours)
{
	int fds[IO_FDS], copies[IO_FDS];
	struct err err;

	fds[IO_FD_COUNTS] =
		group_lab_map((CELLS + SLOTS) * STRIPES * sizeof(struct io_counts));
	fds[IO_FD_MOUNTS] = group_lab_map(CELLS * sizeof(struct io_mount));
	fds[IO_FD_NAMES] = group_lab_map(SLOTS * STRIPES * sizeof(struct io_names));
	fds[IO_FD_ROWS] = group_lab_map(SLOTS * IO_ROW * sizeof(uint64_t));
	fds[IO_FD_FREE] = group_lab_map(CELLS * sizeof(uint64_t));
	fds[IO_FD_CONTROL] = group_lab_map(sizeof(struct io_control));
	fds[IO_FD_TIMES] =
		group_lab_map((CELLS + SLOTS) * STRIPES * sizeof(struct io_times));
	fds[IO_FD_ERRORS] = group_lab_map((CELLS + SLOTS) * sizeof(struct io_errors));
	fds[IO_FD_CALLS] = fds[IO_FD_URING] = fds[IO_FD_BEGUN] = -1;
	for (unsigned i = 0; i < IO_FDS; i++)
		copies[i] = fds[i] < 0 ? -1 : dup(fds[i]);
	assert_int_equal(io_cells_open(ours, fds, CELLS, SLOTS, STRIPES, COUNTED, &err),
			 0);
	assert_int_equal(
		io_cells_open(&kernel, copies, CELLS, SLOTS, STRIPES, COUNTED, &err),
		0);
	mounts_map = mmap(NULL, CELLS * sizeof(*mounts_map), PROT_READ | PROT_WRITE,
			  MAP_SHARED, kernel.fds[IO_FD_MOUNTS], 0);
	assert_ptr_not_equal(mounts_map, MAP_FAILED);
	for (uint32_t i = 0; i < CELLS; i++)
		kernel.free[i] = i;
	kernel.control->cell_tail = CELLS;
}

static int open_io(void **state)
{
	struct io_cells ours;
	bool made_new;
	struct err err;

	(void)state;
	scratch_make(folder);
	int dirfd = fs_opendir_at(AT_FDCWD, folder, &err);
	assert_int_equal(units_open(dirfd, UNITS, &units, &made_new, &err), 0);
	close(dirfd);
	open_cells(&ours);
	assert_int_equal(unit_io_new(units, &ours, &io, &err), 0);
	return 0;
}

static int close_io(void **state)
{
	(void)state;
	unit_io_free(io);
	munmap(mounts_map, CELLS * sizeof(*mounts_map));
	io_cells_close(&kernel);
	units_close(units);
	scratch_remove(folder);
	return 0;
}

/* As bpf/io.bpf.c does it; names end with their NULs, the last part first */
static uint32_t play_cell(uint32_t slot, uint32_t mark, const char *names, size_t bytes)
{
	struct io_control *c = kernel.control;

	assert_true(c->cell_head != c->cell_tail);
	uint32_t cell = (uint32_t)kernel.free[c->cell_head++ & (CELLS - 1)];
	struct io_mount *m = &mounts_map[cell];
	*m = (struct io_mount){.bytes = (unsigned short)bytes};
	memcpy(m->names, names, bytes);
	for (uint32_t i = 0; i < IO_ROW; i++) {
		uint64_t *entry = &kernel.rows[slot * IO_ROW + i];
		if (!*entry) {
			*entry = (uint64_t)mark << 32 | (cell + 1);
			return cell;
		}
	}
	fail_msg("no place");
	return 0;
}

#define NAMES(text) text, sizeof(text)

static void play_read(uint32_t cell, uint32_t stripe, uint64_t bytes)
{
	kernel.counts[cell * STRIPES + stripe].read_calls++;
	kernel.counts[cell * STRIPES + stripe].read_bytes += bytes;
}

static uint32_t add_unit(const char *id)
{
	struct record r;
	struct err err;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), id);
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.boottime_ns = r.realtime_ns = NSEC_PER_SEC;
	assert_int_equal(
		units_apply(units, &r, pos++, NSEC_PER_SEC, NSEC_PER_SEC, &err), 0);
	return units_find_newest(units, MANAGER_SLURM, "n1", id);
}

static uint64_t read_bytes_of(uint32_t unit, const char *path, uint32_t mounts)
{
	struct unit_io_total t = {0};
	uint64_t bytes = 0;

	assert_int_equal(unit_io_add_ended(io, unit, &t), 0);
	assert_int_equal(t.count, mounts);
	for (uint32_t i = 0; i < t.count; i++) {
		if (strcmp(t.mounts[i].path, path) == 0)
			bytes += t.mounts[i].counts.read_bytes;
	}
	unit_io_total_done(&t);
	return bytes;
}

static void steps_of_a_unit_are_added_up_by_path(void **state)
{
	uint32_t unit = add_unit("7");
	uint32_t a = play_cell(3, 100, NAMES("scratch\0lustre"));
	uint32_t b = play_cell(4, 200, NAMES("scratch\0lustre"));
	uint32_t root = play_cell(4, 300, NULL, 0);
	struct unit_io_stats s;

	(void)state;
	play_read(a, 0, 10);
	play_read(a, 1, 20);
	play_read(b, 0, 5);
	play_read(root, 1, 7);
	kernel.names[4 * STRIPES + 1].opens = 3;
	unit_io_stats(io, &s);
	assert_int_equal(s.used, 3);
	unit_io_end_slot(io, 3, unit);
	assert_int_equal(read_bytes_of(unit, "/lustre/scratch", 1), 30);
	unit_io_end_slot(io, 4, unit);
	assert_int_equal(read_bytes_of(unit, "/lustre/scratch", 2), 35);
	assert_int_equal(read_bytes_of(unit, "/", 2), 7);

	struct unit_io_total t = {0};
	assert_int_equal(unit_io_add_ended(io, unit, &t), 0);
	assert_int_equal(t.names.opens, 3);
	unit_io_total_done(&t);

	/* all is as new for the next step */
	unit_io_stats(io, &s);
	assert_int_equal(s.used, 0);
	assert_int_equal(unit_io_add_slot(io, 4, &t), 0);
	assert_int_equal(t.count, 0);
	assert_int_equal(t.names.opens, 0);
	for (uint32_t i = 0; i < CELLS * STRIPES; i++)
		assert_int_equal(kernel.counts[i].read_bytes, 0);
}

static void times_and_reasons_are_added_up_by_path(void **state)
{
	uint32_t unit = add_unit("7");
	uint32_t cells[] = {play_cell(3, 100, NAMES("home")),
			    play_cell(4, 200, NAMES("home"))};
	struct unit_io_total t = {0};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t stripe = 0; stripe < STRIPES; stripe++) {
			struct io_times *s = &kernel.times[cells[i] * STRIPES + stripe];
			s->of[IO_WRITE].calls[3] = 5;
			s->of[IO_WRITE].ns = 1000;
		}
		kernel.errors[cells[i]].of[IO_ERROR_WRITE][IO_ERROR_SPACE] = 7;
		unit_io_end_slot(io, 3 + i, unit);
	}
	/* of no mount */
	kernel.errors[CELLS + 5].of[IO_ERROR_NAME][IO_ERROR_MISSING] = 1;
	unit_io_end_slot(io, 5, unit);

	assert_int_equal(unit_io_add_ended(io, unit, &t), 0);
	assert_int_equal(t.count, 2);
	const struct mount_io_depth *d = t.mounts[0].depth;
	assert_int_equal(d->times.of[IO_WRITE].calls[3], 20);
	assert_int_equal(d->times.of[IO_WRITE].ns, 4000);
	assert_int_equal(d->times.of[IO_READ].ns, 0);
	assert_int_equal(d->errors.of[IO_ERROR_WRITE][IO_ERROR_SPACE], 14);
	assert_string_equal(t.mounts[1].path, "");
	d = t.mounts[1].depth;
	assert_int_equal(d->errors.of[IO_ERROR_NAME][IO_ERROR_MISSING], 1);
	unit_io_total_done(&t);

	/* all is as new for the next step */
	const struct io_times none = {0};
	for (uint32_t i = 0; i < CELLS * STRIPES; i++)
		assert_memory_equal(&kernel.times[i], &none, sizeof(none));
	assert_int_equal(unit_io_add_slot(io, 5, &t), 0);
	assert_int_equal(t.count, 0);
}

static void a_slot_of_nobody_gives_its_cells_back(void **state)
{
	struct unit_io_stats s;

	(void)state;
	play_read(play_cell(5, 100, NAMES("home")), 0, 10);
	unit_io_end_slot(io, 5, UNITS_NONE);
	unit_io_stats(io, &s);
	assert_int_equal(s.used, 0);
}

static uint32_t count_paths(void)
{
	struct unit_io_stats s;

	unit_io_stats(io, &s);
	return s.paths;
}

static void a_path_is_forgotten_with_what_used_it(void **state)
{
	struct unit_io_total t = {0};
	uint32_t unit = add_unit("7");

	(void)state;
	play_read(play_cell(5, 100, NAMES("home")), 0, 10);
	play_read(play_cell(6, 100, NAMES("home")), 0, 10);
	play_read(play_cell(6, 101, NAMES("gone")), 0, 10);
	assert_int_equal(unit_io_add_slot(io, 5, &t), 0);
	assert_int_equal(unit_io_add_slot(io, 6, &t), 0);
	unit_io_total_done(&t);
	/* and that of what has no mount */
	assert_int_equal(count_paths(), 3);
	unit_io_end_slot(io, 5, unit);
	unit_io_end_slot(io, 6, UNITS_NONE);
	assert_int_equal(count_paths(), 2);
	assert_int_equal(read_bytes_of(unit, "/home", 1), 10);
	/* the cell is another mount's now */
	play_read(play_cell(5, 102, NAMES("other")), 0, 5);
	unit_io_end_slot(io, 5, unit);
	assert_int_equal(read_bytes_of(unit, "/other", 2), 5);
	assert_int_equal(read_bytes_of(unit, "/home", 2), 10);
}

static void the_next_unit_in_a_place_of_the_table_has_nothing_of_the_last(void **state)
{
	const struct units_policy at_once = {0};
	uint32_t unit = add_unit("7"), next;
	struct record r;
	struct err err;

	(void)state;
	play_read(play_cell(5, 100, NAMES("home")), 0, 10);
	unit_io_end_slot(io, 5, unit);
	assert_int_equal(read_bytes_of(unit, "/home", 1), 10);
	record_init(&r, RECORD_UNIT_STOP, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.boottime_ns = r.realtime_ns = 2 * NSEC_PER_SEC;
	assert_int_equal(
		units_apply(units, &r, pos++, 2 * NSEC_PER_SEC, 2 * NSEC_PER_SEC, &err),
		0);
	for (uint32_t s = steps_next(units, 0); s != UNITS_NONE;
	     s = steps_next(units, s + 1))
		units_step_lost(units, s, 2 * NSEC_PER_SEC, 2 * NSEC_PER_SEC);
	units_expire(units, 1000 * NSEC_PER_SEC, &at_once);
	assert_int_equal(units_used(units), 0);
	next = add_unit("8");
	assert_int_equal(next, unit);
	assert_int_equal(read_bytes_of(next, "/home", 0), 0);
}

static void what_has_no_mount_counts_in_the_slots_own_cell(void **state)
{
	uint32_t unit = add_unit("7");

	(void)state;
	play_read(play_cell(6, 100, NAMES("home")), 0, 10);
	play_read(CELLS + 6, 1, 1); /* its own */
	play_read(CELLS + 7, 1, 1);
	/* a mount that is not counted has an entry and no cell, as has a taken place */
	kernel.rows[6 * IO_ROW + 3] = 500ull << 32 | (IO_CELL_IGNORED + 1u);
	kernel.rows[6 * IO_ROW + 4] = (uint64_t)IO_MARK_TAKEN << 32;
	unit_io_end_slot(io, 6, unit);
	assert_int_equal(read_bytes_of(unit, "", 2), 1);
	assert_int_equal(read_bytes_of(unit, "/home", 2), 10);
	/* it is as new, and the other slot's has not been touched */
	unit_io_end_slot(io, 6, unit);
	assert_int_equal(read_bytes_of(unit, "", 2), 1);
	assert_int_equal(kernel.counts[(CELLS + 7) * STRIPES + 1].read_calls, 1);

	struct unit_io_stats s;
	unit_io_stats(io, &s);
	assert_int_equal(s.used, 0);
}

static void a_path_that_was_cut_says_so(void **state)
{
	uint32_t cell = play_cell(1, 100, NAMES("c\0b"));
	char path[IO_PATH_BYTES];

	(void)state;
	mounts_map[cell].cut = 1;
	io_cells_path(&kernel, cell, path);
	assert_string_equal(path, ".../b/c");
}

static void hostile_names_are_readable_and_stay_one_mount(void **state)
{
	uint32_t unit = add_unit("7");
	char path[IO_PATH_BYTES];

	(void)state;
	uint32_t cell = play_cell(1, 100, NAMES("\xff\xc3\xa9\n\"\0a"));
	io_cells_path(&kernel, cell, path);
	assert_string_equal(path, "/a/?\xc3\xa9?\"");
	play_read(cell, 0, 1);
	play_read(play_cell(1, 101, NAMES("\xfe\xc3\xa9\x7f\"\0a")), 0, 2);
	unit_io_end_slot(io, 1, unit);
	assert_int_equal(read_bytes_of(unit, "/a/?\xc3\xa9?\"", 1), 3);
}

static void two_cells_of_one_mount_are_added_up(void **state)
{
	uint32_t unit = add_unit("7");

	(void)state;
	play_read(play_cell(1, 100, NAMES("home")), 0, 1);
	play_read(play_cell(1, 100, NAMES("home")), 0, 2);
	unit_io_end_slot(io, 1, unit);
	assert_int_equal(read_bytes_of(unit, "/home", 1), 3);
}

static void damaged_maps_are_read_without_harm(void **state)
{
	uint32_t unit = add_unit("7"), cells[IO_CELLS_OF_SLOT_MAX];
	char path[IO_PATH_BYTES];
	struct io_counts counts;

	(void)state;
	for (uint32_t i = 0; i < IO_ROW; i++)
		kernel.rows[7 * IO_ROW + i] = 0x1234567890abcdefull * (i + 1);
	assert_true(io_cells_of_slot(&kernel, 7, cells) <= IO_ROW);
	assert_int_equal(io_cells_of_slot(&kernel, SLOTS, cells), 0);
	io_cells_sum(&kernel, CELLS + SLOTS, &counts);
	assert_int_equal(counts.read_calls, 0);
	memset(mounts_map, 0xff, CELLS * sizeof(*mounts_map));
	io_cells_path(&kernel, 0, path);
	assert_true(strlen(path) < sizeof(path));
	memset(mounts_map, 0, CELLS * sizeof(*mounts_map));
	mounts_map[0].bytes = 0xffff;
	io_cells_path(&kernel, 0, path);
	assert_true(strlen(path) < sizeof(path));
	io_cells_path(&kernel, CELLS, path);
	assert_string_equal(path, "");
	unit_io_end_slot(io, 7, unit);
	unit_io_end_slot(io, SLOTS, unit);
}

static void a_unit_of_very_many_mounts_keeps_its_sum(void **state)
{
	uint32_t unit = add_unit("7");
	uint64_t sum = 0;
	struct unit_io_total t = {0};

	(void)state;
	for (unsigned i = 0; i < 2 * UNIT_IO_MOUNTS_MAX; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "m%u", i);
		play_read(play_cell(8, 100 + i, name, (size_t)n + 1), 0, 1);
		unit_io_end_slot(io, 8, unit);
	}
	assert_int_equal(unit_io_add_ended(io, unit, &t), 0);
	assert_int_equal(t.count, UNIT_IO_MOUNTS_MAX);
	for (uint32_t i = 0; i < t.count; i++)
		sum += t.mounts[i].counts.read_bytes;
	assert_int_equal(sum, 2 * UNIT_IO_MOUNTS_MAX);
	unit_io_total_done(&t);
}

static void mounts_of_all_units_together_are_bounded(void **state)
{
	uint32_t mounts = 0;
	uint64_t sum = 0;
	char id[16], name[32];

	(void)state;
	for (unsigned u = 0; u < UNITS; u++) {
		(void)snprintf(id, sizeof(id), "%u", u + 1);
		uint32_t unit = add_unit(id);
		for (unsigned i = 0; i < UNIT_IO_MOUNTS_MAX; i++) {
			int n = snprintf(name, sizeof(name), "m%u", i);
			play_read(play_cell(8, 100 + i, name, (size_t)n + 1), 0, 1);
			unit_io_end_slot(io, 8, unit);
		}
		struct unit_io_total t = {0};
		assert_int_equal(unit_io_add_ended(io, unit, &t), 0);
		mounts += t.count;
		for (uint32_t i = 0; i < t.count; i++)
			sum += t.mounts[i].counts.read_bytes;
		unit_io_total_done(&t);
	}
	assert_int_equal(sum, UNITS * UNIT_IO_MOUNTS_MAX);
	/* one more of each, for what is beyond */
	assert_true(mounts <= UNIT_IO_KEPT_MAX + UNITS);
	assert_true(mounts >= UNIT_IO_KEPT_MAX - IO_CELLS_OF_SLOT_MAX);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	static const uint32_t sizes[][3] = {
		{0, 64, 2},        {16, 0, 2},        {16, 64, 0},
		{15, 64, 2},       {16, 63, 2},       {16, 64, 3},
		{1u << 31, 64, 2}, {16, 1u << 30, 2}, {16, 64, 32}};
	int none[IO_FDS];
	struct io_cells c;
	struct err err;

	(void)state;
	for (unsigned i = 0; i < IO_FDS; i++)
		none[i] = -1;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_int_equal(io_cells_open(&c, none, sizes[i][0], sizes[i][1],
					       sizes[i][2], COUNTED, &err),
				 -EPROTO);
	assert_true(io_cells_open(&c, none, 16, 64, 2, COUNTED, &err) < 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_io, close_io)
	const struct CMUnitTest tests[] = {
		T(steps_of_a_unit_are_added_up_by_path),
		T(times_and_reasons_are_added_up_by_path),
		T(a_slot_of_nobody_gives_its_cells_back),
		T(a_path_is_forgotten_with_what_used_it),
		T(the_next_unit_in_a_place_of_the_table_has_nothing_of_the_last),
		T(what_has_no_mount_counts_in_the_slots_own_cell),
		T(a_path_that_was_cut_says_so),
		T(hostile_names_are_readable_and_stay_one_mount),
		T(two_cells_of_one_mount_are_added_up),
		T(damaged_maps_are_read_without_harm),
		T(a_unit_of_very_many_mounts_keeps_its_sum),
		T(mounts_of_all_units_together_are_bounded),
		T(sizes_that_cannot_be_are_refused),
	};
	return cmocka_run_group_tests_name("unit_io", tests, NULL, NULL);
}
