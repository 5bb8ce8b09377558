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
	SAMPLE_PYTHON_MAX = 64,
	SAMPLE_PCS_MAX = SAMPLE_FRAMES_MAX + SAMPLE_KERNEL_MAX + SAMPLE_PYTHON_MAX,
	PROFILE_PYTHONS_MAX = 64,
	PYTHON_TEXT_BYTES = 128,     /* a power of two */
	PROFILE_MAPPINGS_MAX = 4096, /* of a process */
	PROFILE_MODULES_MAX = 4096,
	PROFILE_GROUPS_MAX = 1024, /* of steps that asked, a power of two */
	PROFILE_PROBES = 16,
	PROFILE_STACK_BYTES = 8192
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
	unsigned long long cgroup; /* profile_group_number(); 0: free */
	unsigned int hz;
	unsigned int off_cpu; /* 1: also where its threads are blocked */
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

/* Where the rows of a file are; count 0: nowhere. python: number of the interpreter
 * that it has, from 1 on */
struct profile_module {
	unsigned int first, count, python, unused;
};

/* Which frames of CPython begin a call of its interpreter's loop in C */
enum python_entry {
	PYTHON_ENTRY_EACH, /* all: 3.9, 3.10 */
	PYTHON_ENTRY_FLAG, /* a byte says so: 3.11 */
	PYTHON_ENTRY_SHIM  /* the one before a frame of the loop's own: from 3.12 on */
};

/* Where CPython of one version has what its frames are found by, in bytes. From 3.13 on
 * it says so itself (_Py_DebugOffsets). */
struct profile_python {
	unsigned long long interpreters; /* address in the file: the first of them */
	unsigned short interpreter_threads, thread_next, thread_id, thread_frame;
	unsigned short cframe_frame, frame_code, frame_previous, frame_entry;
	unsigned short code_file, code_name, code_line, text, text_len;
	unsigned char has_cframe; /* at thread_frame, not the frame itself */
	unsigned char entry;      /* enum python_entry */
	unsigned char shim_owner; /* owners from this on: a frame of the loop */
	unsigned char code_tags;  /* bits that are not of a code object's address */
	unsigned char minor, unused;
};

struct profile_control {
	unsigned int tables;     /* of groups: 0 or 1 is the one in force */
	unsigned int generation; /* changes with it */
	unsigned int hz;         /* at which the CPUs are looked at */
	unsigned int unused;
	unsigned long long lost;        /* samples that the ring had no room for */
	unsigned long long lost_events; /* events of processes, likewise */
	unsigned long long woken_ns;    /* when the reader was last woken */
	unsigned int python_generation; /* names of another one are sent again */
	unsigned int unused2;
	unsigned long long reserved[2];
};

enum profile_kind {
	PROFILE_SAMPLE,
	PROFILE_FIRST,  /* a sample of a process that is not known, with its stack */
	PROFILE_EXEC,   /* the process runs another program now */
	PROFILE_MAPPED, /* it has mapped code of a file */
	PROFILE_EXIT,   /* a process that was known is no more */
	PROFILE_PYTHON, /* names of a code object: struct python_code */
	PROFILE_WOKEN   /* a thread that was blocked runs again: struct profile_woken */
};

/* What the ring has begins with this */
struct sample_head {
	unsigned long long cgroup; /* of the group in the table */
	unsigned int process, thread;
	/* of the process's mappings that its frames were found by */
	unsigned int serial;
	unsigned char kind; /* enum profile_kind */
	unsigned char end;  /* enum sample_end */
	unsigned char kernel_frames, frames;
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
	unsigned char python_frames, unused[3];
	/* of a thread that blocks here, else 0: one of so many that did (on average),
	 */
	unsigned int one_in;
	unsigned long long since_ns; /* from then on, CLOCK_MONOTONIC */
	/* kernel_frames of the kernel, then frames of the program, innermost first; of
	 * each but the innermost the address behind its call; then python_frames of
	 * Python, innermost first: words of struct python_code */
	unsigned long long pcs[SAMPLE_PCS_MAX];
};

/* What a code object of a process is called, sent before the first sample with its word
 */
#define PYTHON_WORD_ENTRY 1ull /* of a frame in a sample alone, enum python_entry */
struct python_code {
	struct sample_head head;
	unsigned long long word;
	char name[PYTHON_TEXT_BYTES], file[PYTHON_TEXT_BYTES];
};

/* For how long the thread was blocked of which a sample with this since_ns was sent */
struct profile_woken {
	struct sample_head head;
	unsigned long long since_ns, ns;
};

/* elements of a map lie 8 bytes apart, or a multiple */
_Static_assert(sizeof(struct profile_module) % 8 == 0, "a map's element");
_Static_assert(sizeof(struct profile_python) % 8 == 0, "a map's element");

/* What is unwound once its process is known. Its only frame of the program is the one
 * that it was in. */
struct profile_first {
	struct profile_sample sample;
	unsigned long long sp, fp, lr;
	unsigned long long bytes; /* of its stack, from sp on, which are there */
	unsigned char stack[PROFILE_STACK_BYTES];
};

/* What a group is known by: its directory's inode. Where tasks are told apart by v1's
 * cpuacct, those in its root are by their unified group (bpf/task_group.h), and inodes
 * of one hierarchy are used again in another. */
static inline unsigned long long profile_group_number(unsigned long long inode,
						      int unified_beside_v1)
{
	return unified_beside_v1 ? inode | 1ull << 63 : inode;
}

/* Where to begin to look for a number in a table of a power of two of places */
static inline unsigned int profile_place(unsigned long long number, unsigned int mask)
{
	return (unsigned int)(number * 0x9e3779b97f4a7c15ull >> 40) & mask;
}

#endif
