/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CGROUP_H
#define CEEMS_LIB_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/record.h"

#define CGROUP_SLUID_SIZE 15u

/*
 * Control groups, v1, v2 and hybrid, read the same way by the plugins (once, at the end
 * of a step) and by the daemon (kept fds, at each scrape). Sources: kernel
 * Documentation/admin-guide/cgroup-v1/{cpuacct,memory,cpusets,pids}.rst and
 * Documentation/admin-guide/cgroup-v2.rst; kernel/sched/cpuacct.c for what v1 counts.
 */

/* Where each controller's hierarchy is mounted below the cgroup root directory. */
struct cgroup_layout {
	bool unified_only; /* v2 everywhere; else v1 for what has a v1 directory */
	char cpuacct[32];  /* "cpu,cpuacct", "cpuacct", ... "" = not there on v1 */
	char memory[32];
	char cpuset[32];
	char cpu[32];
	char pids[32];
	char freezer[32];
	char blkio[32];
	char devices[32];
	char unified[32]; /* "." (v2), "unified" (hybrid) or "" */
};

/* Looks at rootfd (an open /sys/fs/cgroup or a fixture of it): cgroup.controllers there
 * means v2. -ENODEV when there is neither. */
int cgroup_probe(int rootfd, struct cgroup_layout *ret, struct err *err);
/* The layout that nearly every v1 and hybrid system has, from a step's paths alone:
 * each controller under its own name (a directory or systemd's symlink), v2 in
 * unified/. False, with ret untouched, when no path is in v1: v2 is told by
 * cgroup_probe(). What is read where the guess is wrong is not there; only then a look
 * is needed. */
bool cgroup_guess(const struct record_cgroup *paths, size_t count,
		  struct cgroup_layout *ret);
/* The directory of a controller (one enum record_cgroup_bit) in the layout, "" if none.
 */
const char *cgroup_dir(const struct cgroup_layout *l, uint32_t controller);

/* A list of controllers ("cpu,cpuacct") as bits; 0 for name=systemd and unknown ones.
 */
uint32_t cgroup_controller_bits(const char *names, size_t len);

/* Cuts what Slurm adds below a step ("/task_0", "/user/task_0", "/slurm", "/user") off
 * a path from /proc/PID/cgroup: everything after the last component that begins
 * "step_". Returns the new length, or 0 when the path has no such component. */
size_t cgroup_step_len(const char *path, size_t len);
/* Length of the job's part of a step path (its parent), 0 if none. */
size_t cgroup_job_len(const char *path, size_t len);
/* The SLUID that the job's part of a step path, right below slurmstepd's scope, is
 * named by (Slurm 26.05, src/plugins/cgroup/v2): "s" and 13 digits. False, ret
 * untouched: it is named otherwise. */
bool cgroup_job_sluid(const char *path, char ret[CGROUP_SLUID_SIZE]);
/* The slurmd node name in a path: "slurm_<node>" (v1) or "<node>_slurmstepd.scope"
 * (v2);
 * "" when there is only one slurmd. Returns false when the path is not Slurm's. */
bool cgroup_slurm_node(const char *path, char *ret, size_t size);

/* Reads the text of /proc/PID/cgroup into r: every Slurm step path with its
 * controllers, and the node name. Total on any bytes; at most 64 lines. Returns how
 * many lines were Slurm's (0: the process is in no step's cgroup). */
int cgroup_record_paths(const char *text, size_t len, struct record *r);
/* v1, the extern step: slurmstepd is in the step's memory group but in the root of
 * cpuacct, where jobacct_gather has made the same path for the step's processes. Adds
 * it for cpuacct when r has none and the directory is there; the name is not guessed.
 */
void cgroup_record_share_cpuacct(int rootfd, const struct cgroup_layout *layout,
				 struct record *r);

#define CGROUP_UNLIMITED UINT64_MAX

struct cgroup_cpu {
	uint64_t user_ns,
		system_ns; /* sum = exact run time; split as the kernel splits it */
	bool has_throttling;
	uint64_t periods, throttled_periods, throttled_ns;
};
struct cgroup_memory {
	uint64_t rss_bytes, cache_bytes, used_bytes;
	uint64_t limit_bytes; /* CGROUP_UNLIMITED when there is no limit (v1: >= 2^63 -
				 page) */
	uint64_t peak_bytes;
	uint64_t fail_count;
	uint64_t oom_kills; /* v1: of a step only, the kernel does not add them up */
	bool has_peak, has_swap;
	/* v1: memory + swap (memory.memsw.*); v2: swap alone (memory.swap.*) */
	uint64_t memsw_used_bytes, memsw_limit_bytes, memsw_fail_count;
};
struct cgroup_psi {
	uint64_t some_ns, full_ns;
	bool has_full; /* cpu.pressure has no "full" line before Linux 5.13 */
};

/* One cgroup with its files kept open. Not thread safe. */
struct cgroup_fds;

/* Opens nothing yet; remembers which directory (job or step) in which hierarchies:
 * paths come from a record (other managers' paths have no step and are used whole; a
 * path with ".." is ignored). rootfd is borrowed and must outlive it, layout and paths
 * are copied. Returns NULL without memory. */
struct cgroup_fds *cgroup_fds_new(int rootfd, const struct cgroup_layout *layout,
				  const struct record_cgroup *paths, size_t count,
				  bool job);
void cgroup_fds_free(struct cgroup_fds *c);

/* Read now. 0 or: -ENODEV the cgroup is gone (v1 and v2 alike; one that was made again
 * under the same name is opened again within the same call), -ENODATA the controller
 * is not there, other errno = this reading failed; outputs untouched. For a step on v2
 * the CPU time is that of step_N/user, without slurmstepd itself, and of step_N only
 * while there is no user/. Files are opened at the first use and kept; near the limit
 * of open files (RLIMIT_NOFILE) they are opened and closed per reading. user_ns and
 * system_ns each never decrease in the life of one cgroup, and their sum is its exact
 * run time. */
int cgroup_read_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err);
/* idle: the last reading, when nothing in the cgroup has run since, else NULL. What
 * holds as much memory as it did then is not looked at any closer: nobody was there to
 * charge, free or touch a page, and what the kernel reclaims changes the amount. Only a
 * limit may have been changed from outside. */
int cgroup_read_memory(struct cgroup_fds *c, bool swap,
		       const struct cgroup_memory *idle, struct cgroup_memory *ret,
		       struct err *err);
int cgroup_read_psi(struct cgroup_fds *c, const char *resource, struct cgroup_psi *ret,
		    struct err *err);
int cgroup_read_pids(struct cgroup_fds *c, uint64_t *ret, struct err *err);
/* How many CPUs the cpuset names; -ENODATA for an empty one. */
int cgroup_read_cpus(struct cgroup_fds *c, uint32_t *ret, struct err *err);
/* Bytes to and from block devices: v1 blkio.throttle, v2 io.stat. */
int cgroup_read_io(struct cgroup_fds *c, uint64_t *ret_read, uint64_t *ret_written,
		   struct err *err);
/* What the CPU time was split into before this object was made (by a daemon that was
 * restarted): the next readings go on from there. */
void cgroup_fds_seed_cpu(struct cgroup_fds *c, uint64_t user_ns, uint64_t system_ns);
/* On v2 what the step's slurmstepd itself used, which is in the job's CPU time and not
 * in the step's; 0 where there is none, and on v1. Nothing is kept open. */
int cgroup_read_stepd_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret,
			  struct err *err);
/* How many files it keeps open now. */
unsigned cgroup_fds_open(const struct cgroup_fds *c);

/* What the caller of cgroup_final_counters() knows already; a file not opened is five
 * microseconds of a step saved. */
struct cgroup_known {
	bool has_cpu; /* an earlier reading: while their sum is this, nothing has run
			 and nothing else is read */
	uint64_t cpu_user_ns, cpu_system_ns;
	/* v1: how processes of this cgroup have divided their time, as wait4 says it.
	 * If that is of three quarters of the cgroup's time or more, the kernel's ticks
	 * of the cgroup are not read: they are the same ticks, in up to three files. */
	uint64_t ratio_user_ns, ratio_system_ns;
	/* v1: a step whose memory peak is below was not killed for memory. 0: look. */
	uint64_t harmless_peak_bytes;
};

/* What a plugin needs at the end of a step: counters of the best source there is. CPU
 * time as above; memory peak, oom kills and IO are those of the whole step (on v1 and
 * v2 slurmstepd's few pages are in it) where the kernel and the site have them. root is
 * a folder below rootfd, or absolute, or "". Keeps nothing open. 0; 1: the CPU time is
 * the one known; -ENODEV, -ENODATA: there is no CPU time to be had. *ret untouched in
 * all cases but 0. */
int cgroup_final_counters(int rootfd, const char *root,
			  const struct cgroup_layout *layout,
			  const struct record_cgroup *paths, size_t count,
			  const struct cgroup_known *known, struct record_counters *ret,
			  struct err *err);

/* A path that may be opened below a hierarchy: absolute, no "..", no NUL. */
bool cgroup_path_ok(const char *path, size_t len);

/* Parsers of the files' texts, total on any bytes (fuzzed): -EINVAL (-ERANGE for a
 * number too large) names the key in err, outputs untouched. A line without its newline
 * is cut off, not a value. cpu.stat here is v2's. */
int cgroup_parse_cpu_stat(const char *text, size_t len, struct cgroup_cpu *ret,
			  struct err *err);
/* cpu.stat of v1's cpu controller; sets the throttling members only */
int cgroup_parse_throttling(const char *text, size_t len, struct cgroup_cpu *ret,
			    struct err *err);
/* cpuacct.stat; ticks of USER_HZ */
int cgroup_parse_cpuacct_stat(const char *text, size_t len, uint64_t *ret_user,
			      uint64_t *ret_system, struct err *err);
/* v1's limit of "none" is the largest number of whole pages, of whatever size: such
 * numbers become CGROUP_UNLIMITED. */
uint64_t cgroup_limit(uint64_t bytes);
/* rss, cache, and on v1 where it is there the limit, which is the lowest of the group
 * and those above it (hierarchical_memory_limit) */
int cgroup_parse_memory_stat(const char *text, size_t len, bool v2,
			     struct cgroup_memory *ret, struct err *err);
/* v2 memory.events: oom -> fail_count, oom_kill; v1 memory.oom_control: oom_kill */
int cgroup_parse_memory_events(const char *text, size_t len, bool v2,
			       struct cgroup_memory *ret, struct err *err);
/* v2 memory.swap.events: how often the limit was hit */
int cgroup_parse_swap_events(const char *text, size_t len, uint64_t *ret,
			     struct err *err);
/* v2 io.stat, v1 blkio.throttle.io_service_bytes_recursive: sums over devices */
int cgroup_parse_io(const char *text, size_t len, bool v2, uint64_t *ret_read,
		    uint64_t *ret_written, struct err *err);
int cgroup_parse_psi(const char *text, size_t len, struct cgroup_psi *ret,
		     struct err *err);
/* Changes the split of now, never its sum, so that neither part is below the previous
 * one (kernel/sched/cputime.c does so with prev_cputime). A sum below the previous one
 * is a counter that began again and is left alone. */
void cgroup_keep_split(uint64_t user_ns, uint64_t system_ns, struct cgroup_cpu *now);
/* v1: splits the exact usage by the ratio of user and system, as cputime_adjust() does
 */
void cgroup_split_usage(uint64_t usage_ns, uint64_t user, uint64_t system,
			struct cgroup_cpu *ret);

#endif
