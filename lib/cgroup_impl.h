/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CGROUP_IMPL_H
#define CEEMS_LIB_CGROUP_IMPL_H

/* Shared by the files that read control groups; everybody else includes cgroup.h. */
#include <sys/types.h>

#include "lib/cgroup.h"

/* memory.stat is 1.5-2.5 KiB today */
#define CGROUP_FILE_MAX 8192

enum cgroup_tree { UNIFIED, CPUACCT, MEMORY, CPUSET, CPU, PIDS, BLKIO, TREES };

enum cgroup_file {
	CPU_USAGE,
	CPU_USER,
	CPU_SYSTEM,
	CPU_TICKS,
	CPU_THROTTLING,
	MEM_USED,
	MEM_LIMIT,
	MEM_PEAK,
	MEM_FAILURES,
	MEM_STAT,
	MEM_EVENTS,
	SWAP_USED,
	SWAP_LIMIT,
	SWAP_EVENTS,
	PIDS_CURRENT,
	CPUS,
	IO_BYTES,
	IO_COUNTS,
	PSI_CPU,
	PSI_MEMORY,
	PSI_IO,
	FILES,
};

#define NOT_OPEN -1
#define NOT_THERE -2 /* optional, and this kernel does not have it */

struct cgroup_fds {
	int rootfd;
	int keep_below;    /* descriptors from this number on are not kept open */
	bool step;         /* CPU time: look for user/ below it */
	bool without_user; /* CPU_USAGE is open on the step itself */
	char *dir[TREES];  /* from rootfd; NULL: not in this hierarchy */
	int fd[FILES];
	uint64_t user_ns, system_ns; /* the last split */
	uint64_t ticks_at_ns;        /* v1: usage when the ticks were last read */
	uint64_t ratio_user,
		ratio_system; /* v1: given by the caller, used instead of ticks */
	uint64_t read_user, read_system,
		read_at_ns;  /* v1: ticks, and usage at that time */
	uint64_t fail_count; /* v1: the last one read */
};

/* root is prefixed to each path; descriptors from keep_below on are not kept open. */
struct cgroup_fds *cgroup_fds_make(int rootfd, const char *root,
				   const struct cgroup_layout *layout,
				   const struct record_cgroup *paths, size_t count,
				   bool job, int keep_below);

/* Which hierarchy a file is read from: v1 where the group is there, else v2. */
enum cgroup_tree cgroup_tree_of(const struct cgroup_fds *c, enum cgroup_file f);
bool cgroup_on_v2(const struct cgroup_fds *c, enum cgroup_file f);

/* Length, with a NUL behind it; errors as cgroup_read_cpu(). */
/* cpu.stat of the step's slurmstepd: its length; 0: there is none */
ssize_t cgroup_read_stepd(struct cgroup_fds *c, char *buf, size_t size,
			  struct err *err);
ssize_t cgroup_read_file(struct cgroup_fds *c, enum cgroup_file f, char *buf,
			 size_t size, struct err *err);
/* Prefixes the parser's error with the file's path. */
int cgroup_file_error(struct cgroup_fds *c, enum cgroup_file f, int rc,
		      struct err *err);
int cgroup_read_number(struct cgroup_fds *c, enum cgroup_file f, uint64_t *ret,
		       struct err *err);
/* A number, "max", or v1's "unlimited", which become CGROUP_UNLIMITED */
int cgroup_read_limit(struct cgroup_fds *c, enum cgroup_file f, uint64_t *ret,
		      struct err *err);
/* Looks for step_N/user again: it may have been made since. */
void cgroup_look_for_user(struct cgroup_fds *c);
/* Closes everything of a removed group. False: nothing was open. */
bool cgroup_forget(struct cgroup_fds *c, enum cgroup_tree t);

/* cgroup_memory.c: kills, as far as the group itself counts them */
int cgroup_read_events(struct cgroup_fds *c, struct cgroup_memory *m, struct err *err);
/* v1 counts a kill in the victim's own group only, which for Slurm is task_N below the
 * step, not in its parents as v2 does (mm/memcontrol.c, memcg_memory_event). */
uint64_t cgroup_kills_below(struct cgroup_fds *c);
/* A cgroup that never reached its limit had no kill, so its tasks need not be searched.
 * The kernel charges in batches of up to 64 pages. */
bool cgroup_reached(uint64_t peak, uint64_t limit);

#endif
