/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_SAMPLE_H
#define CEEMS_PROFILER_SAMPLE_H

/* What the kernel program and ceems-profiler share: no libc here, plain
 * types. */
#include "profiler/unwind_row.h"

enum {
	SAMPLE_FRAMES_MAX = 127, /* of the program */
	SAMPLE_KERNEL_MAX = 32,
	PROFILE_MAPPINGS_MAX = 256,
	PROFILE_MODULES_MAX = 4096
};

/* Why a stack has no more frames */
enum sample_end {
	SAMPLE_COMPLETE,   /* the outermost frame was reached */
	SAMPLE_NO_MAPPING, /* an address is in no mapping that is known */
	SAMPLE_NO_ROW,     /* the file does not say how to go on there */
	SAMPLE_NO_MEMORY,  /* the stack could not be read */
	SAMPLE_TOO_DEEP,
	SAMPLE_NEW_PROCESS, /* its mappings are not known yet */
	SAMPLE_NO_PROGRAM   /* a kernel thread */
};

/* One executable mapping of a process. Address in the file = address - base. */
struct profile_mapping {
	unsigned long long start, end, base;
	unsigned module, unused;
};

/* Sorted by start */
struct profile_process {
	unsigned count;
	unsigned learned_s; /* CLOCK_BOOTTIME, when they were read */
	struct profile_mapping mappings[PROFILE_MAPPINGS_MAX];
};

/* Where the rows of a file are */
struct profile_module {
	unsigned first, count;
};

struct sample {
	unsigned process, thread;
	unsigned cpu;
	unsigned char end; /* enum sample_end */
	unsigned char kernel_frames, frames, unused;
	/* kernel_frames of the kernel, then frames of the program, innermost first; of
	 * each but the innermost the address behind its call */
	unsigned long long pcs[SAMPLE_KERNEL_MAX + SAMPLE_FRAMES_MAX];
};

#endif
