/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_MAP_LINE_H
#define CEEMS_PROFILER_MAP_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/modules.h"

/* A line of /proc/PID/maps: "start-end rights offset device inode path",
 * proc_pid_maps(5) */
#define MAP_LINE_VDSO "[vdso]"

struct map_line {
	uint64_t start, end, offset;
	struct module_key key;
	bool reads, writes, executes;
	const char *path; /* in the line */
};

/* False: it is of no file, nor of the vDSO. The line is changed. */
bool map_line_parse(char *line, struct map_line *ret);
bool map_line_is_vdso(const struct map_line *l);
bool map_line_is_of(const struct map_line *l, const struct module_key *key);

#endif
