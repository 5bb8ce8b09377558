/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_UNIT_IO_H
#define CEEMS_DAEMON_GROUPS_UNIT_IO_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/groups/io_cells.h"
#include "daemon/groups/io_paths.h"
#include "daemon/units.h"

/*
 * What units have read and written by mount, and which files they opened: the sum over
 * their steps that have ended, kept here until the unit leaves the table, and over the
 * cells of those that run. It begins anew when ceemsd starts. The caller holds the
 * daemon's lock.
 */
struct unit_io;

/* Mounts of a unit that are told apart; what is beyond counts for path "". */
#define UNIT_IO_MOUNTS_MAX 64u
/* And of the ended steps of all units; what is beyond counts for path "" of its unit.
 */
#define UNIT_IO_KEPT_MAX 16384u

/* With IO_COUNTED_TIMES */
struct mount_io_depth {
	struct io_times times;
	struct io_errors errors;
};

struct mount_io {
	const char *path; /* held->text, until a slot ends */
	struct io_path *held;
	struct io_counts counts;
	struct mount_io_depth *depth; /* NULL without */
};

struct unit_io_total {
	struct mount_io *mounts;
	uint32_t count, room;
	struct io_names names;
};
void unit_io_total_done(struct unit_io_total *t);
/* Empties it, keeps its memory. */
void unit_io_total_reset(struct unit_io_total *t);

/* Takes ownership of cells, also on failure. */
int unit_io_new(struct units *units, struct io_cells *cells, struct unit_io **ret,
		struct err *err);
void unit_io_free(struct unit_io *io); /* accepts NULL */

/* Adds what a slot has by now. -ENOMEM */
int unit_io_add_slot(const struct unit_io *io, uint32_t slot, struct unit_io_total *to);
/* Adds what a unit's ended steps had. -ENOMEM */
int unit_io_add_ended(const struct unit_io *io, uint32_t unit,
		      struct unit_io_total *to);
/* The slot has ended; its counts are this unit's from now on, or nobody's if unit is
 * UNITS_NONE. Its cells are given back. */
void unit_io_end_slot(struct unit_io *io, uint32_t slot, uint32_t unit);

struct unit_io_stats {
	uint64_t no_cell; /* calls that were counted without their mount */
	uint64_t compat;  /* of 32-bit programs, which are not counted */
	uint32_t cells, used;
	uint32_t counted; /* IO_COUNTED_* */
	uint32_t paths;   /* that are held, with "" */
};
void unit_io_stats(const struct unit_io *io, struct unit_io_stats *ret);

#endif
