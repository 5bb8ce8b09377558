/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_PPROF_H
#define CEEMS_PROFILER_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "profiler/stacks.h"

/* When the samples were taken (Unix time), for how long, and how far apart on a CPU */
struct pprof_time {
	int64_t begin_ns, duration_ns;
	int64_t period_ns; /* 0: samples are of blocked threads, in nanoseconds */
};

/* Merged stacks as a profile of pprof's kind: sample type "cpu" with that period, or
 * "off_cpu" without one, as OpenTelemetry's profiler and Pyroscope call it;
 * nanoseconds. -ENOMEM */
int pprof_write(const struct stacks *s, const struct pprof_time *t, struct buf *ret,
		struct err *err);
/* Packs it by gzip. -ENOMEM */
int pprof_pack(const struct buf *in, struct buf *ret);

#endif
