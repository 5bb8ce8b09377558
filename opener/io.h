/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_IO_H
#define CEEMS_OPENER_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/io_cells.h"

/* The kernel program that counts what units read and write (bpf/io.bpf.c). */

struct io {
	struct io_bpf *skeleton;
	int fds[IO_FDS]; /* owned by the skeleton */
	uint32_t cells, stripes;
	uint32_t counted; /* IO_COUNTED_* */
};

/* Loads and attaches it. groups_map: struct groups' own; slots: as it has. by_cpuacct:
 * tasks belong to the slot of their cpuacct group (cgroup v1). times: also how long
 * calls take and why they fail, if the kernel lets it (io->counted). Errors as
 * groups_open().
 */
int io_open(struct io *io, int groups_map, uint32_t slots, bool by_cpuacct, bool times,
	    struct err *err);
void io_close(struct io *io);

#endif
