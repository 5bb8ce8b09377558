/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_HOT_PAGE_H
#define CEEMS_LIB_RECORDS_HOT_PAGE_H

#include <stdint.h>

#include "lib/err.h"

/* Where running steps that asked for a profile and a report spend their CPU time, by
 * what is known by now: a page_file.h beside the ring, made by ceemsd, written by
 * ceems-profiler a few times a second, read by the plugin at the step's end. Names are
 * of users' files: printable ASCII, cut. */

#define HOT_PAGE_ROWS 256u
#define HOT_FUNCTIONS 5u
#define HOT_NAME_BYTES 80u
/* Older values than this are not known. */
#define HOT_PAGE_AGE_MAX_NS UINT64_C(5000000000)

struct hot_function {
	uint64_t samples;          /* in which a CPU was in it */
	char name[HOT_NAME_BYTES]; /* NUL-terminated */
};

/* Key: job, step, stepd_pid, as in the energy page. */
struct hot_page_row {
	uint32_t crc; /* of all that follows */
	uint32_t job, step, stepd_pid;
	uint64_t read_ns; /* CLOCK_BOOTTIME */
	uint64_t samples; /* all, 0: none yet */
	uint32_t hz;      /* samples / hz is CPU time in seconds */
	uint32_t count;
	struct hot_function functions[HOT_FUNCTIONS]; /* the hottest first */
};

/* Creates it anew: the descriptor, to be closed, or negative errno. Mode 0600. */
int hot_page_create(const char *path, struct err *err);
/* One that is there, for writing */
int hot_page_open(const char *path, struct err *err);
/* Sets its checksum. 0 or negative errno. */
int hot_page_write(int fd, uint32_t at, struct hot_page_row *row);

/* What is known of a step; never blocks. Names are printable, whatever the file says.
 * -ENOENT: no page, or no row of this step; -EBADF, -EPERM, -EPROTO: it cannot be
 * trusted. */
int hot_page_find(const char *path, uint32_t job, uint32_t step, uint32_t stepd_pid,
		  uint64_t now_ns, struct hot_page_row *ret, struct err *err);

#endif
