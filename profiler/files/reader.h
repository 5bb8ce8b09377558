/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_READER_H
#define CEEMS_PROFILER_FILES_READER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "profiler/files/reader_message.h"

/* Reads what users made, in children that may be lost: each reads one file, which the
 * profiler itself never does. Each request has a deadline: 2 s, without what the child
 * has waited for a CPU, and 10 s in all. A child that is late or has died is replaced,
 * and its file is given up by whoever asked. The user whose process it was for has no
 * new files read for a while, so that nobody makes the profiler wait again and again.
 * One thread. */
struct reader;

struct reader_counts {
	uint64_t late, died; /* children that did not answer */
	uint64_t refused;    /* requests not made: the user has to wait */
};

/* Forks: before threads, sockets and maps. debug_folder: with debug files that were
 * fetched (lib/records/debug_file.h); "": none. */
int reader_start(const char *debug_folder, struct reader **ret, struct err *err);
void reader_end(struct reader *r); /* accepts NULL */
struct reader_counts reader_get_counts(const struct reader *r);

/* Called again and again while an answer is waited for, which may take its whole
 * deadline; it asks nobody. */
void reader_set_meanwhile(struct reader *r, void (*meanwhile)(void *arg), void *arg);
/* The segments of an open file, or of one on a shelf (lib/fd_pass.h), and at most most
 * rows for the kernel program, into rows. uid: whose process maps it. -ENOEXEC: no ELF
 * file; -ETIMEDOUT, -EPIPE, -EPROTO: the child was lost; -EBUSY: the user has to wait.
 */
int reader_read_table(struct reader *r, int fd, uint32_t uid, size_t most,
		      struct unwind_row *rows, struct reader_table *ret);
/* What the functions at an address of the file are called; count 0: nothing. Same
 * errors. */
int reader_read_names(struct reader *r, int fd, uint32_t uid, uint64_t address,
		      struct reader_names *ret);
/* The same without a debug file that was fetched, by a child that has read nothing of
 * the file yet */
int reader_read_local_names(struct reader *r, int fd, uint32_t uid, uint64_t address,
			    struct reader_names *ret);
/* Whether a debug file is missing, and for which build id. -EBUSY: the user has to
 * wait. */
int reader_read_debug(struct reader *r, int fd, uint32_t uid, struct reader_debug *ret);
/* The names of an address of a perf map (perf_map.h). -EBUSY: the user has to wait. */
int reader_read_jit_name(struct reader *r, int fd, uint32_t uid, uint64_t address,
			 struct reader_names *ret);
/* To be called before the descriptor is closed: a child that has the file ends. */
void reader_forget_file(struct reader *r, int fd);

#endif
