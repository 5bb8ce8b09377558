/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_OUTPUT_H
#define CEEMS_PROFILER_OUTPUT_H

#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/records/profile_record.h"

/* Finished profiles go into a spool (lib/records/profile_record.h), from which
 * ceems-courier sends them. One that cannot be opened now is tried again. */
#define OUTPUT_BYTES_MAX (UINT64_C(64) << 20)

struct output {
	const char *folder; /* "": profiles go nowhere */
	struct spool_writer *writer;
	uint64_t written, lost;
	struct log_repeat log;
};

/* plain: pprof as it is. r: all but data, len, plain_bytes and memory. */
void output_put(struct output *o, struct profile_record *r, const struct buf *plain);
void output_close(struct output *o);

#endif
