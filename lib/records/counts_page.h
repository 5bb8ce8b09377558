/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_COUNTS_PAGE_H
#define CEEMS_LIB_RECORDS_COUNTS_PAGE_H

#include <stdint.h>

#include "lib/err.h"

/*
 * What running steps that asked for a report (--ceems-report) have used by now, as the
 * kernel programs count and GPUs tell: a file of fixed size beside the ring, written by
 * ceemsd many times a second, read by the plugin in slurmstepd at the step's end. So
 * its values are those of a moment before. The exact ones are in the unit's final
 * report. Software events are not here: the kernel adds most of them when a task exits,
 * too late for this.
 *
 * A page_file.h, little-endian: those of its COUNTS_PAGE_ROWS rows that are in use come
 * first.
 */

#define COUNTS_PAGE_MAGIC "CEEMSCNT"
#define COUNTS_PAGE_VERSION 3u
#define COUNTS_PAGE_ROWS 1024u
/* Older values than this are not known. */
#define COUNTS_PAGE_AGE_MAX_NS UINT64_C(2000000000)

enum counts_page_value {
	COUNTS_READ_BYTES,
	COUNTS_READ_CALLS,
	COUNTS_WRITE_BYTES,
	COUNTS_WRITE_CALLS,
	COUNTS_RX_BYTES,
	COUNTS_TX_BYTES,
	COUNTS_CYCLES,
	COUNTS_INSTRUCTIONS,
	COUNTS_EVENTS_NS, /* CPU time for which these two were armed */
	/* of the whole unit's GPUs, which are its steps' (daemon/units_report.h) */
	COUNTS_GPU_READ_NS,      /* GPUs x time for which they were read; of that: */
	COUNTS_GPU_BUSY_NS,      /* in which a kernel ran */
	COUNTS_GPU_IDLE_NS,      /* readings at which none did */
	COUNTS_GPU_MEMORY_BYTES, /* highest, of all of them together */
	COUNTS_VALUES,
};

enum counts_page_known {
	COUNTS_HAS_FILES = 1 << 0,
	COUNTS_HAS_NETWORK = 1 << 1,
	COUNTS_HAS_CYCLES = 1 << 2,
	COUNTS_HAS_GPU_BUSY = 1 << 3,
	COUNTS_HAS_GPU_MEMORY = 1 << 4,
};

/* A step has as many rows as it has control groups that are followed, and one for GPUs;
 * it has their sum.
 * Key: job, step, stepd_pid, as in the energy page. */
struct counts_page_row {
	uint32_t crc; /* of all that follows */
	uint32_t job, step, stepd_pid;
	uint64_t read_ns; /* CLOCK_BOOTTIME */
	uint64_t known;   /* enum counts_page_known */
	uint64_t values[COUNTS_VALUES];
};

struct step_counts {
	uint64_t known; /* 0: nothing */
	uint64_t values[COUNTS_VALUES];
};

/* Creates it anew: the descriptor, to be closed, or negative errno. Mode 0600. */
int counts_page_create(const char *path, struct err *err);
/* Writes the first rows. Sets their checksums. 0 or negative errno. */
int counts_page_write(int fd, struct counts_page_row *rows, uint32_t count);

/* What a step has by now; never blocks. -ENOENT: no page, or no row of this step;
 * -EBADF, -EPERM, -EPROTO: it cannot be trusted. */
int counts_page_find(const char *path, uint32_t job, uint32_t step, uint32_t stepd_pid,
		     uint64_t now_ns, struct step_counts *ret, struct err *err);

#endif
