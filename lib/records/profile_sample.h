/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_PROFILE_SAMPLE_H
#define CEEMS_LIB_RECORDS_PROFILE_SAMPLE_H

/*
 * What the kernel program of profiles (bpf/profile.bpf.c), its opener and
 * ceems-profiler share: no libc here, plain types. All but the ring buffer are arrays
 * that ceems-profiler maps (BPF_F_MMAPABLE), since it makes no bpf() call. Both sides
 * are from one build.
 *
 * ceems-profiler writes all of them; the kernel program writes the counters of the
 * control, and takes a process out (its pid becomes 0) when that executes another
 * program or ends. A process's place is the first of PROFILE_PROBES from
 * profile_place(pid) on that holds its pid.
 */

enum {
	SAMPLE_FRAMES_MAX = 127, /* of the program */
	SAMPLE_KERNEL_MAX = 32,
	PROFILE_MAPPINGS_MAX = 4096, /* of a process */
	PROFILE_MODULES_MAX = 4096,
	PROFILE_GROUPS_MAX = 1024, /* of steps that asked, a power of two */
	PROFILE_PROBES = 16
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
#define SAMPLE_ENDS (SAMPLE_NO_PROGRAM + 1)

/* A control group whose tasks are sampled, with all groups below it. The table is
 * searched from profile_place(cgroup) on, up to the first that is free. */
struct profile_group {
	unsigned long long cgroup; /* inode of its directory; 0: free */
	unsigned int hz, unused;
};

/* One executable mapping of a process. Address in the file = address - base. */
struct profile_mapping {
	unsigned long long start, end, base;
	unsigned int module, unused;
};

struct profile_process {
	unsigned int pid;    /* 0: free */
	unsigned int count;  /* of its mappings, sorted by start, */
	unsigned int first;  /* from this one on */
	unsigned int serial; /* changes when they do */
};

/* Where the rows of a file are; count 0: nowhere */
struct profile_module {
	unsigned int first, count;
};

struct profile_control {
	unsigned int tables;     /* of groups: 0 or 1 is the one in force */
	unsigned int generation; /* changes with it */
	unsigned int hz;         /* at which the CPUs are looked at */
	unsigned int unused;
	unsigned long long lost;        /* samples that the ring had no room for */
	unsigned long long lost_events; /* events of processes, likewise */
	unsigned long long woken_ns;    /* when the reader was last woken */
	unsigned long long reserved[3];
};

enum profile_kind {
	PROFILE_SAMPLE,
	PROFILE_EXEC,   /* the process runs another program now */
	PROFILE_MAPPED, /* it has mapped code of a file */
	PROFILE_EXIT    /* a process that was known is no more */
};

/* What the ring has; of an event only what is before pcs */
struct profile_sample {
	unsigned long long cgroup; /* of the group in the table */
	unsigned int process, thread;
	unsigned int
		serial; /* of the process's mappings that its frames were found by */
	unsigned char kind; /* enum profile_kind */
	unsigned char end;  /* enum sample_end */
	unsigned char kernel_frames, frames;
	/* kernel_frames of the kernel, then frames of the program, innermost first; of
	 * each but the innermost the address behind its call */
	unsigned long long pcs[SAMPLE_KERNEL_MAX + SAMPLE_FRAMES_MAX];
};

/* Where to begin to look for a number in a table of a power of two of places */
static inline unsigned int profile_place(unsigned long long number, unsigned int mask)
{
	return (unsigned int)(number * 0x9e3779b97f4a7c15ull >> 40) & mask;
}

#endif
