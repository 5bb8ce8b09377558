/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_IO_CELLS_H
#define CEEMS_DAEMON_GROUPS_IO_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/io_cells.h"

/* The maps of the IO program, mapped into ceemsd but for the largest, of which each
 * element is read once (io_cells_path()). No value read from a map is trusted as an
 * index. One thread at a time. */
struct io_cells {
	struct io_counts *counts;
	struct io_names *names;
	uint64_t *rows, *free;
	struct io_control *control;
	struct io_times *times;         /* these two of one element without */
	struct io_errors *errors;       /* IO_COUNTED_TIMES */
	uint32_t cells, slots, stripes; /* powers of two; cells 0: not open */
	uint32_t counted;               /* IO_COUNTED_* */
	int fds[IO_FDS];
};

/* Maps them. The descriptors' ownership is taken, also on failure. */
int io_cells_open(struct io_cells *c, const int fds[IO_FDS], uint32_t cells,
		  uint32_t slots, uint32_t stripes, uint32_t counted, struct err *err);
/* Unmaps them and detaches the program. Accepts what was zeroed. */
void io_cells_close(struct io_cells *c);

/* The cells that count for a slot, with its own if that has counted anything. Returns
 * how many. */
#define IO_CELLS_OF_SLOT_MAX (IO_ROW + 1u)
uint32_t io_cells_of_slot(const struct io_cells *c, uint32_t slot,
			  uint32_t ret[IO_CELLS_OF_SLOT_MAX]);
void io_cells_sum(const struct io_cells *c, uint32_t cell, struct io_counts *ret);
void io_cells_sum_names(const struct io_cells *c, uint32_t slot, struct io_names *ret);
void io_counts_add(struct io_counts *to, const struct io_counts *c);
/* With IO_COUNTED_TIMES. Both add. */
void io_cells_add_times(const struct io_cells *c, uint32_t cell, struct io_times *to);
void io_cells_add_errors(const struct io_cells *c, uint32_t cell, struct io_errors *to);
/* Where the cell's mount is: "/", "/lustre/scratch"; "" for a slot's own cell. A path
 * that was cut begins with "..."; what is no printable UTF-8 is "?". Maps it for that
 * moment: -ENOMEM or another error of mmap(2). */
#define IO_PATH_BYTES (IO_NAMES_BYTES + 8u)
int io_cells_path(const struct io_cells *c, uint32_t cell, char ret[IO_PATH_BYTES]);
/* The slot has ended and its counts have been taken: all its cells are cleared and
 * given back. Before group_slots_release(). */
void io_cells_release(struct io_cells *c, uint32_t slot);

#endif
