/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/io_cells.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/records/group_slots.h"

#define MAPS 7u /* all but IO_FD_MOUNTS */

struct io_map {
	void **at;
	enum io_fd fd;
	size_t bytes;
};

static void list_maps(struct io_cells *c, struct io_map ret[MAPS])
{
	const size_t cells = c->cells, slots = c->slots, stripes = c->stripes;
	const size_t timed = c->counted & IO_COUNTED_TIMES ? cells + slots : 0;
	const size_t times = timed * io_times_stripes(c->stripes);
	const struct io_map maps[MAPS] = {
		{(void **)&c->counts, IO_FD_COUNTS,
		 (cells + slots) * stripes * sizeof(*c->counts)},
		{(void **)&c->names, IO_FD_NAMES, slots * stripes * sizeof(*c->names)},
		{(void **)&c->rows, IO_FD_ROWS, slots * IO_ROW * sizeof(*c->rows)},
		{(void **)&c->free, IO_FD_FREE, cells * sizeof(*c->free)},
		{(void **)&c->control, IO_FD_CONTROL, sizeof(*c->control)},
		{(void **)&c->times, IO_FD_TIMES,
		 (times ? times : 1) * sizeof(*c->times)},
		{(void **)&c->errors, IO_FD_ERRORS,
		 (timed ? timed : 1) * sizeof(*c->errors)},
	};

	memcpy(ret, maps, sizeof(maps));
}

static bool is_size(uint32_t n, uint32_t max)
{
	return n && n <= max && !(n & (n - 1));
}

int io_cells_open(struct io_cells *c, const int fds[IO_FDS], uint32_t cells,
		  uint32_t slots, uint32_t stripes, uint32_t counted, struct err *err)
{
	struct io_map maps[MAPS];

	*c = (struct io_cells){
		.cells = cells, .slots = slots, .stripes = stripes, .counted = counted};
	memcpy(c->fds, fds, sizeof(c->fds));
	if (!is_size(slots, GROUP_SLOTS_MAX) ||
	    !is_size(cells, GROUP_SLOTS_MAX * IO_ROW) ||
	    !is_size(stripes, IO_STRIPES_MAX)) {
		io_cells_close(c);
		return err_set(err, -EPROTO, "%u cells, %u slots, %u stripes", cells,
			       slots, stripes);
	}
	list_maps(c, maps);
	for (size_t i = 0; i < MAPS; i++) {
		void *map = mmap(NULL, maps[i].bytes, PROT_READ | PROT_WRITE,
				 MAP_SHARED, fds[maps[i].fd], 0);
		if (map == MAP_FAILED) {
			int rc = -errno;
			io_cells_close(c);
			return err_set(err, rc, "map the cells: %s", strerror(-rc));
		}
		*maps[i].at = map;
	}
	return 0;
}

void io_cells_close(struct io_cells *c)
{
	struct io_map maps[MAPS];

	if (!c->cells)
		return;
	list_maps(c, maps);
	for (size_t i = 0; i < MAPS; i++) {
		if (*maps[i].at)
			munmap(*maps[i].at, maps[i].bytes);
	}
	for (unsigned i = 0; i < IO_FDS; i++) {
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	}
	*c = (struct io_cells){0};
}

static uint32_t list_row(const struct io_cells *c, uint32_t slot, uint32_t ret[IO_ROW])
{
	uint32_t n = 0;

	if (slot >= c->slots)
		return 0;
	for (uint32_t i = 0; i < IO_ROW; i++) {
		uint64_t entry =
			__atomic_load_n(&c->rows[slot * IO_ROW + i], __ATOMIC_ACQUIRE);
		uint32_t cell = (uint32_t)entry - 1;
		if (entry && cell < c->cells)
			ret[n++] = cell;
	}
	return n;
}

static uint64_t read_count(const unsigned long long *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

void io_counts_add(struct io_counts *to, const struct io_counts *c)
{
	to->read_bytes += c->read_bytes;
	to->read_calls += c->read_calls;
	to->read_errors += c->read_errors;
	to->write_bytes += c->write_bytes;
	to->write_calls += c->write_calls;
	to->write_errors += c->write_errors;
	to->asked_read_bytes += c->asked_read_bytes;
	to->asked_write_bytes += c->asked_write_bytes;
}

void io_cells_sum(const struct io_cells *c, uint32_t cell, struct io_counts *ret)
{
	*ret = (struct io_counts){0};
	for (uint32_t i = 0; cell < c->cells + c->slots && i < c->stripes; i++) {
		const struct io_counts *s = &c->counts[(size_t)cell * c->stripes + i];
		ret->read_bytes += read_count(&s->read_bytes);
		ret->read_calls += read_count(&s->read_calls);
		ret->read_errors += read_count(&s->read_errors);
		ret->write_bytes += read_count(&s->write_bytes);
		ret->write_calls += read_count(&s->write_calls);
		ret->write_errors += read_count(&s->write_errors);
		ret->asked_read_bytes += read_count(&s->asked_read_bytes);
		ret->asked_write_bytes += read_count(&s->asked_write_bytes);
	}
}

static bool has_errors(const struct io_cells *c, uint32_t cell)
{
	struct io_errors e = {0};
	unsigned long long any = 0;

	io_cells_add_errors(c, cell, &e);
	for (unsigned i = 0; i < IO_ERROR_CALLS * IO_ERROR_CLASSES; i++)
		any |= e.of[i / IO_ERROR_CLASSES][i % IO_ERROR_CLASSES];
	return any;
}

uint32_t io_cells_of_slot(const struct io_cells *c, uint32_t slot,
			  uint32_t ret[IO_CELLS_OF_SLOT_MAX])
{
	uint32_t n = list_row(c, slot, ret);
	struct io_counts own;

	if (slot >= c->slots)
		return 0;
	io_cells_sum(c, c->cells + slot, &own);
	bool failed = c->counted & IO_COUNTED_TIMES && has_errors(c, c->cells + slot);
	if (failed || own.read_calls || own.write_calls || own.asked_read_bytes ||
	    own.asked_write_bytes)
		ret[n++] = c->cells + slot;
	return n;
}

static void add_words(void *to, const void *from, size_t bytes)
{
	const unsigned long long *words = from;
	unsigned long long *sums = to;

	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		sums[i] += read_count(&words[i]);
}

void io_cells_add_times(const struct io_cells *c, uint32_t cell, struct io_times *to)
{
	uint32_t stripes = io_times_stripes(c->stripes);

	for (uint32_t i = 0; cell < c->cells + c->slots && i < stripes; i++)
		add_words(to, &c->times[(size_t)cell * stripes + i], sizeof(*to));
}

void io_cells_add_errors(const struct io_cells *c, uint32_t cell, struct io_errors *to)
{
	if (cell < c->cells + c->slots)
		add_words(to, &c->errors[cell], sizeof(*to));
}

static void clear_cell(struct io_cells *c, uint32_t cell)
{
	uint32_t stripes = io_times_stripes(c->stripes);

	memset(&c->counts[(size_t)cell * c->stripes], 0,
	       c->stripes * sizeof(*c->counts));
	if (!(c->counted & IO_COUNTED_TIMES))
		return;
	memset(&c->times[(size_t)cell * stripes], 0, stripes * sizeof(*c->times));
	memset(&c->errors[cell], 0, sizeof(*c->errors));
}

void io_cells_sum_names(const struct io_cells *c, uint32_t slot, struct io_names *ret)
{
	*ret = (struct io_names){0};
	for (uint32_t i = 0; slot < c->slots && i < c->stripes; i++) {
		const struct io_names *s = &c->names[(size_t)slot * c->stripes + i];
		ret->opens += read_count(&s->opens);
		ret->open_errors += read_count(&s->open_errors);
		ret->creates += read_count(&s->creates);
		ret->create_errors += read_count(&s->create_errors);
		ret->unlinks += read_count(&s->unlinks);
		ret->unlink_errors += read_count(&s->unlink_errors);
	}
}

/* A user may name a folder anything. Two names that a reader cannot tell apart are to
 * be one mount here, too. */
static void replace_unprintable(char *path)
{
	size_t left = strlen(path), n;

	for (; left; path += n, left -= n) {
		n = utf8_len(path, left);
		if (n == 0 || (unsigned char)*path < ' ' || *path == 0x7f) {
			*path = '?';
			n = 1;
		}
	}
}

/* A whole mapping would be a third of the memory of a ceemsd with very many mounts. */
static int read_mount(const struct io_cells *c, uint32_t cell, struct io_mount *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), at = cell * sizeof(*ret);
	size_t in_page = at % page, bytes = in_page + sizeof(*ret);
	char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, c->fds[IO_FD_MOUNTS],
			 (off_t)(at - in_page));

	if (map == MAP_FAILED)
		return -errno;
	memcpy(ret, map + in_page, sizeof(*ret));
	munmap(map, bytes);
	return 0;
}

/* names: from the last part of the path to its first, each with its NUL */
int io_cells_path(const struct io_cells *c, uint32_t cell, char ret[IO_PATH_BYTES])
{
	struct io_mount m;
	char *to = ret;

	*ret = '\0';
	int rc = cell < c->cells ? read_mount(c, cell, &m) : 0;
	if (rc < 0 || cell >= c->cells)
		return rc;
	size_t end = m.bytes < sizeof(m.names) ? m.bytes : sizeof(m.names);
	m.names[sizeof(m.names) - 1] = '\0';
	if (m.cut) {
		memcpy(to, "...", 3);
		to += 3;
	}
	while (end) {
		size_t begin = end - 1;
		while (begin && m.names[begin - 1])
			begin--;
		size_t len = strnlen(m.names + begin, end - begin);
		*to++ = '/';
		memcpy(to, m.names + begin, len);
		to += len;
		end = begin;
	}
	if (to == ret)
		*to++ = '/';
	*to = '\0';
	replace_unprintable(ret);
	return 0;
}

void io_cells_release(struct io_cells *c, uint32_t slot)
{
	uint32_t cells[IO_ROW], n;

	if (slot >= c->slots)
		return;
	n = list_row(c, slot, cells);
	memset(&c->rows[(size_t)slot * IO_ROW], 0, IO_ROW * sizeof(*c->rows));
	memset(&c->names[(size_t)slot * c->stripes], 0, c->stripes * sizeof(*c->names));
	clear_cell(c, c->cells + slot);
	for (uint32_t i = 0; i < n; i++) {
		clear_cell(c, cells[i]);
		uint64_t tail = c->control->cell_tail;
		c->free[tail & (c->cells - 1)] = cells[i];
		__atomic_store_n(&c->control->cell_tail, tail + 1, __ATOMIC_RELEASE);
	}
}
