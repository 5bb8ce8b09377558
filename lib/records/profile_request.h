/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_PROFILE_REQUEST_H
#define CEEMS_LIB_RECORDS_PROFILE_REQUEST_H

#include <stdint.h>

/*
 * What ceems-profiler, which has no privileges, may ask of the ceems-opener that ceemsd
 * started for it, and ceemsd itself of another one: one datagram each over a
 * SOCK_SEQPACKET pair, answered by one with the descriptors (SCM_RIGHTS). The list is
 * closed: whatever else comes is refused. Answers bear their request's number, since an
 * earlier ceems-profiler may not have waited for its own. Both sides are from one
 * build.
 */
#define PROFILE_REQUEST_MAGIC 0x31525043u /* "CPR1" */
#define PROFILE_REQUEST_FDS_MAX 16u
#define PROFILE_REQUEST_TEXT_BYTES 256u
/* A file that has not opened by then lies on a server that does not answer. */
#define PROFILE_REQUEST_OPEN_MS 500u

#define PROFILE_PERF_MAP_MAX (64u << 20)
#define PROFILE_MEMORY_MAX (16u << 20)

enum profile_request_kind {
	/* Loads the kernel program, in place of an earlier one: PROFILE_FDS
	 * descriptors. Nothing calls it yet. */
	PROFILE_REQUEST_LOAD = 1,
	/* Has it called when a process executes, maps code or ends: PROFILE_WATCH_FDS
	 * descriptors. It is until they are closed. */
	PROFILE_REQUEST_WATCH,
	/* A clock of hz on each CPU that calls it: one descriptor, which keeps them */
	PROFILE_REQUEST_TICKS,
	PROFILE_REQUEST_UNLOAD, /* forgets the program; none */
	/* A copy, in memory, of /proc/PID/maps of a process that is in a unit's control
	 * group: its descriptor, for reading */
	PROFILE_REQUEST_MAPS,
	/* The file that the same process has mapped from start to end, a regular one,
	 * open for reading, on a shelf (lib/fd_pass.h). -ETIMEDOUT: it does not open,
	 * which makes the opener wait for PROFILE_REQUEST_OPEN_MS. */
	PROFILE_REQUEST_FILE,
	/* The process's /tmp/perf-PID.map, by its own root and number: a regular file
	 * of its own user's, no link, at most PROFILE_PERF_MAP_MAX: its descriptor, for
	 * reading. Same wait. */
	PROFILE_REQUEST_PERF_MAP,
	/* What the kernel's function at address start is called: in text; none.
	 * -ENOENT: there is none; other errors: this kernel does not say. */
	PROFILE_REQUEST_KERNEL_NAME,
	/* Has the program called when a CPU changes from one thread to another: one
	 * descriptor, likewise. It is to be loaded with room for threads. */
	PROFILE_REQUEST_SWITCHES,
	/* What DRM drivers tell of a process's clients (lib/drm/drm_fdinfo.h): the
	 * texts, a NUL after each, at most PROFILE_DRM_TEXT_MAX; its descriptor, for
	 * reading; in text the control group of the unit whose process it was when they
	 * had been read. -ENODATA: it has none. Same wait. */
	PROFILE_REQUEST_DRM,
	/* Of a file that does not open (-EACCES): a copy, in memory, of what the
	 * process has mapped from start to end, which is one whole private mapping that
	 * it may not write to, of at most PROFILE_MEMORY_MAX: its descriptor, for
	 * reading. -EEXIST: the file opens. Same wait. */
	PROFILE_REQUEST_MEMORY,
	PROFILE_REQUEST_KINDS
};

#define PROFILE_DRM_FILES_MAX 64u
#define PROFILE_DRM_FILE_BYTES 4096u
#define PROFILE_DRM_TEXT_MAX (PROFILE_DRM_FILES_MAX * PROFILE_DRM_FILE_BYTES)

/* What is answered: each opener answers one of these alone. */
#define PROFILE_REQUESTS_OF_DRM (1u << PROFILE_REQUEST_DRM)
#define PROFILE_REQUESTS_OF_PROFILER                                                   \
	((1u << PROFILE_REQUEST_KINDS) - 2u - PROFILE_REQUESTS_OF_DRM)

/* Descriptors of PROFILE_REQUEST_LOAD: maps of bpf/profile.bpf.c */
enum profile_fd {
	PROFILE_FD_WANTED,
	PROFILE_FD_PROCESSES,
	PROFILE_FD_MAPPINGS,
	PROFILE_FD_MODULES,
	PROFILE_FD_ROWS,
	PROFILE_FD_CONTROL,
	PROFILE_FD_PYTHONS,
	PROFILE_FD_SAMPLES,
	PROFILE_FDS
};

/* Descriptors of PROFILE_REQUEST_WATCH: links. The third is the first one again where
 * the kernel does not tell of code that is mapped. */
enum { PROFILE_WATCH_FDS = 3 };

/* Room of the program's tables */
struct profile_room {
	uint32_t rows, processes, mappings; /* processes: a power of two */
	uint32_t ring_bytes;                /* likewise */
	uint32_t threads; /* that are blocked at a time; 0: none are looked at */
};

struct profile_request {
	uint32_t magic, kind, serial;
	uint32_t hz;  /* of TICKS */
	uint32_t pid; /* of MAPS, FILE, PERF_MAP, DRM and MEMORY */
	uint32_t unused;
	uint64_t start, end;      /* of FILE and MEMORY; start of KERNEL_NAME */
	struct profile_room room; /* of LOAD */
};

/* Identity of a file that was opened */
struct profile_file {
	uint64_t device, inode, size;
	int64_t changed_s, changed_ns;
	/* ceems-profiler's own: of one that did not open, what it begins with in a
	 * process's memory (process_image.h) */
	uint64_t image;
};

/* serial of a reply to nobody: the opener has died, and another one is there. What it
 * gave stays; it knows no program, so that one is to be loaded before a request that
 * needs it (-ENODEV). */
#define PROFILE_REQUEST_DIED 0u

#define PROFILE_UID_OF_UNIT (1u << 31)

struct profile_reply {
	uint32_t magic, kind, serial;
	int32_t rc; /* 0 or negative errno */
	uint32_t fds;
	/* of MAPS and PERF_MAP: who is behind the process; in a VM or pod, where
	 * others' users have the same numbers, with PROFILE_UID_OF_UNIT a number there
	 * alone */
	uint32_t uid;
	uint32_t sees_maps;       /* of LOAD: code that is mapped later is told of */
	uint32_t left_out;        /* of DRM: files that were not read, whatever rc is */
	struct profile_file file; /* of FILE */
	/* why not, on one line; of KERNEL_NAME the name, of DRM the group */
	char text[PROFILE_REQUEST_TEXT_BYTES];
};

#endif
