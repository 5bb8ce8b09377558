/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_PROFILING_FILE_H
#define CEEMS_DAEMON_PROFILING_FILE_H

#include "daemon/options.h"
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"

/* The peer's options for profiles: --profiling.ebpf and the file of
 * --profiling.ebpf.config.file (its ceems_profiler). */

#define PROFILING_FILE_MAX ((size_t)64 << 10)

struct profiling_file {
	uint64_t interval_ms, hz; /* 0: not given */
	const char *url, *tenant, *token_file, *ca_file;
};

/* Parses a text into ret, whose texts live in arena. notes: lines of keys without
 * effect. -EINVAL with file and line. */
int profiling_file_parse(const char *text, size_t len, const char *file, bool expand,
			 struct arena *arena, struct buf *notes,
			 struct profiling_file *ret, struct err *err);

/* Turns what these options ask for into ours, where ours are not set. */
int profiling_apply(struct options *o, struct buf *warnings, struct err *err);

#endif
