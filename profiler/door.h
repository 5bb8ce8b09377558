/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_DOOR_H
#define CEEMS_PROFILER_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/profile_request.h"

/* What only a privileged process may open, by asking the ceems-opener at the other end
 * of a socket (lib/records/profile_request.h). One thread; each call waits for the
 * answer, at most DOOR_MS. Loading is 0.2 s of CPU time, which a node that is full of
 * others' work may spread over many seconds. */
#define DOOR_MS 10000
#define DOOR_LOAD_MS 60000

struct door {
	int link; /* owned */
	uint32_t serial;
	bool gone;       /* there is none any more */
	uint64_t deaths; /* of openers */
	/* called before each request, and again and again while its answer is waited
	 * for; NULL: nothing */
	void (*meanwhile)(void *arg);
	void *meanwhile_arg;
};

/* How often the opener was started again */
uint64_t door_deaths(struct door *d);

/* fds[PROFILE_FDS] are the caller's. *ret_sees_maps: whether the kernel tells of code
 * that a process maps later. */
int door_load(struct door *d, const struct profile_room *room, int *fds,
	      bool *ret_sees_maps, struct err *err);
/* fds[PROFILE_WATCH_FDS], which keep the program informed of processes, are the
 * caller's. */
int door_watch(struct door *d, int *fds, struct err *err);
/* The descriptor that keeps the clocks */
int door_ticks(struct door *d, uint32_t hz, struct err *err);
/* The descriptor that keeps it informed of threads that block */
int door_switches(struct door *d, struct err *err);
int door_unload(struct door *d, struct err *err);
/* What the kernel's function at an address is called; ret[PROFILE_REQUEST_TEXT_BYTES].
 * -ENOENT: there is none; others but -EAGAIN and -ETIMEDOUT: it does not say. */
int door_kernel_name(struct door *d, uint64_t address, char *ret, struct err *err);
/* A copy of /proc/PID/maps of a process below a unit's control group, and
 * whose it is: a descriptor */
int door_maps(struct door *d, uint32_t pid, uint32_t *ret_uid, struct err *err);
/* The file that it has mapped there: a descriptor */
int door_file(struct door *d, uint32_t pid, uint64_t start, uint64_t end,
	      struct profile_file *ret, struct err *err);
/* A copy of what it has mapped there, for reading alone, of a file that does not open:
 * a descriptor */
int door_memory(struct door *d, uint32_t pid, uint64_t start, uint64_t end,
		struct err *err);
/* Its perf map (jit_maps.h), and whose it is: a descriptor. -ENOENT: it has none;
 * -EPERM, -ELOOP, -EINVAL, -EFBIG: it is no such file that may be read */
int door_perf_map(struct door *d, uint32_t pid, uint32_t *ret_uid, struct err *err);

#endif
