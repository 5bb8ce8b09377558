/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_PROCESS_IMAGE_H
#define CEEMS_PROFILER_PROCESS_IMAGE_H

#include <stdio.h>

#include "profiler/door.h"
#include "profiler/map_line.h"

/* A file that root may not open, as on an NFS with root_squash or a FUSE of a user's,
 * put together from what a process has mapped of it: as much of the ELF file as the
 * loader needed, without sections. Where it was mapped is in its e_entry, since a
 * loader writes addresses of the process into .dynamic. */
#define PROCESS_IMAGE_MAX (16u << 20) /* bytes of one */

/* Where a process's maps speak of the file */
struct image_lines {
	FILE *maps;
	long from; /* its first line, of those that follow each other */
	struct module_key key;
};

/* A descriptor, of memory: at most most bytes, which are ret->size. maps comes back
 * where it stood. */
int process_image_copy(struct door *d, uint32_t pid, const struct image_lines *lines,
		       uint64_t most, struct profile_file *ret, struct err *err);

#endif
