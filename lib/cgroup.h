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
 * of a step) and by the daemon (at each scrape, by descriptors that stay open).
 * Sources: kernel Documentation/admin-guide/cgroup-v1/{cpuacct,memory,cpusets,pids}.rst
 * and Documentation/admin-guide/cgroup-v2.rst; kernel/sched/cpuacct.c for what v1
 * counts.
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
 * unified/. False, ret untouched: no path is in v1 (cgroup_probe() recognises v2).
 * Where the guess is wrong the files are not found, and only then is cgroup_probe()
 * needed. */
bool cgroup_guess(const struct record_cgroup *paths, size_t count,
		  struct cgroup_layout *ret);
/* The directory of a controller (one enum record_cgroup_bit) in the layout, "" if none.
 */
const char *cgroup_dir(const struct cgroup_layout *l, uint32_t controller);

/* A list of controllers ("cpu,cpuacct") as bits; 0 for name=systemd and unknown ones.
 */
uint32_t cgroup_controller_bits(const char *names, size_t len);

/* Length of a path from /proc/PID/cgroup without what Slurm adds below a step
 * ("/task_0", "/user/task_0", "/slurm", "/user"): up to and including the last
 * component that begins with "step_". 0: there is no such component. */
size_t cgroup_step_len(const char *path, size_t len);
/* Length of the job's part of a step path (its parent), 0 if none. */
size_t cgroup_job_len(const char *path, size_t len);
/* The SLUID by which Slurm 26.05 (src/plugins/cgroup/v2) names the job's directory,
 * right below slurmstepd's scope: "s" and 13 digits. False, ret untouched: it has
 * another name. */
bool cgroup_job_sluid(const char *path, char ret[CGROUP_SLUID_SIZE]);
/* The slurmd node name in a path: "slurm_<node>" (v1) or "<node>_slurmstepd.scope"
 * (v2);
 * "" when there is only one slurmd. Returns false when the path is not Slurm's. */
bool cgroup_slurm_node(const char *path, char *ret, size_t size);

/* Whether a directory is a virtual machine's or container's of libvirt: made by
 * systemd-machined, or by libvirt itself in one called machine. parent: the name of the
 * directory above. */
bool cgroup_is_machine(const char *parent, const char *name);

/* The UID of the pod whose control group a directory is. kubelet names it "podUID" in
 * kubepods, burstable or besteffort, or with systemd
 * "kubepods[-burstable|-besteffort]-podUID.slice" with '_' for '-'; its containers are
 * below. Any text. False, ret untouched: it is no pod's. */
#define CGROUP_POD_UID_SIZE 64u
bool cgroup_pod_uid(const char *parent, const char *name,
		    char ret[CGROUP_POD_UID_SIZE]);

/* The UID of a static pod's control group: the API shows its mirror, with a UID of its
 * own, and this hash of its manifest as the annotations kubernetes.io/config.mirror and
 * kubernetes.io/config.hash. Whoever makes pods may write these: an ordinary pod's UID
 * is none, it must be a hash. Any texts, NULL: there is none. False, ret untouched: it
 * mirrors nothing. */
bool cgroup_mirror_uid(const char *mirror, const char *hash,
		       char ret[CGROUP_POD_UID_SIZE]);

/* How much of a path is that of a virtual machine's or a pod's control group, which the
 * path is or lies below; 0: of none. Users are given groups in user.slice, where names
 * say nothing. Any bytes; 32 levels are looked at. */
size_t cgroup_machine_or_pod_len(const char *path, size_t len);

/* The id of the container whose control group a directory below a pod's is: 64
 * hexadecimal digits, with systemd between "RUNTIME-" and ".scope". Any text. False,
 * ret untouched: it is no container's, or that of CRI-O's monitor of one. */
#define CGROUP_CONTAINER_ID_SIZE 65u
bool cgroup_container_id(const char *name, char ret[CGROUP_CONTAINER_ID_SIZE]);

/* Whether a directory above Slurm's belongs to others: those of sessions, machines and
 * pods are large, and are not searched for jobs. */
bool cgroup_never_slurm(const char *name);

/* Reads the text of /proc/PID/cgroup into r: every Slurm step path with its
 * controllers, and the node name. Accepts any bytes; reads at most 64 lines. Returns
 * how many lines were Slurm's (0: the process is in no step's cgroup). */
int cgroup_record_paths(const char *text, size_t len, struct record *r);
/* By the same text: the path of the step that the process is in (RECORD_CGROUP_MAX
 * bytes), as struct record has it first, or of the virtual machine or pod; "": it is in
 * none. Users make no groups of these names outside their own unit's. */
void cgroup_unit_of_text(const char *text, size_t len, char *ret);
/* The same of a process; "" also when it is gone. */
void cgroup_unit_of_pid(int procfd, uint32_t pid, char *ret);
/* v1, the extern step: slurmstepd is in the step's memory group but in the root of
 * cpuacct, where jobacct_gather has made the same path for the step's processes. Adds
 * that path for cpuacct when r has none and the directory exists. */
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
	uint64_t oom_kills; /* v1: of a step only; the kernel does not add them up the
			       hierarchy */
	bool has_peak, has_swap;
	/* v1: memory + swap (memory.memsw.*); v2: swap alone (memory.swap.*) */
	uint64_t memsw_used_bytes, memsw_limit_bytes, memsw_fail_count;
	uint64_t stat_used_bytes; /* used_bytes when memory.stat was read */
	bool stat_read;           /* in this reading */
};
/* An earlier reading */
struct cgroup_memory_known {
	const struct cgroup_memory *last;
	bool idle; /* nothing in the cgroup has run since */
};
struct cgroup_psi {
	uint64_t some_ns, full_ns;
	bool has_full; /* cpu.pressure has no "full" line before Linux 5.13 */
};

/* One cgroup with its files kept open. Not thread safe. */
struct cgroup_fds;

/* Remembers which directory (job or step) to read in which hierarchies; opens nothing
 * yet. The paths come from a record (those of other managers have no step and are used
 * whole; a path with ".." is ignored). rootfd is borrowed and must outlive the object;
 * layout and paths are copied. NULL: no memory. */
struct cgroup_fds *cgroup_fds_new(int rootfd, const struct cgroup_layout *layout,
				  const struct record_cgroup *paths, size_t count,
				  bool job);
void cgroup_fds_free(struct cgroup_fds *c);

/* Reads now. 0, or with outputs untouched: -ENODEV: the cgroup is gone (on v1 and v2;
 * one recreated under the same name is reopened within the call); -ENODATA: the
 * controller is not there; others: this reading failed. For a step on v2 the CPU time
 * is that of step_N/user, without slurmstepd itself, and of step_N only while there
 * is no user/. Files are opened at the first use and kept; near the limit of open
 * files (RLIMIT_NOFILE) they are opened and closed for each reading. user_ns and
 * system_ns each never decrease in the life of one cgroup, and their sum is its exact
 * run time. */
int cgroup_read_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err);
/* known: NULL, or an earlier reading. If the cgroup is idle and the usage still the
 * same the other files are not read: nobody was there to charge, free or touch a page,
 * and what the kernel reclaims changes the usage. Only a limit may have been changed
 * from outside. memory.stat, for which the kernel adds up all of the cgroup, is not
 * read either while the usage is as it was, as exactly as the kernel counts it:
 * resident memory and cache, on v1 also the limit, are those of the earlier reading
 * then. */
int cgroup_read_memory(struct cgroup_fds *c, bool swap,
		       const struct cgroup_memory_known *known,
		       struct cgroup_memory *ret, struct err *err);
int cgroup_read_psi(struct cgroup_fds *c, const char *resource, struct cgroup_psi *ret,
		    struct err *err);
int cgroup_read_pids(struct cgroup_fds *c, uint64_t *ret, struct err *err);
/* Number of CPUs in the cpuset; -ENODATA: it is empty. */
int cgroup_read_cpus(struct cgroup_fds *c, uint32_t *ret, struct err *err);
/* Bytes to and from block devices: v1 blkio.throttle, v2 io.stat. */
int cgroup_read_io(struct cgroup_fds *c, uint64_t *ret_read, uint64_t *ret_written,
		   struct err *err);
/* The same for each device, with the number of requests; of more devices the rest is
 * left out. */
#define CGROUP_IO_DEVICES_MAX 64
struct cgroup_io {
	uint32_t count;
	struct cgroup_io_device {
		uint32_t major, minor;
		uint64_t read_bytes, written_bytes, reads, writes;
	} devices[CGROUP_IO_DEVICES_MAX];
};
int cgroup_read_io_devices(struct cgroup_fds *c, struct cgroup_io *ret,
			   struct err *err);
/* How CPU time had been split before this object was made (by a daemon that has been
 * restarted since); later readings continue from there. */
void cgroup_fds_seed_cpu(struct cgroup_fds *c, uint64_t user_ns, uint64_t system_ns);
/* CPU time of the step's slurmstepd on v2, which is in the job's CPU time but not in
 * the step's; 0 where there is none, and on v1. Keeps nothing open. */
int cgroup_read_stepd_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret,
			  struct err *err);
/* Number of files it keeps open now. */
unsigned cgroup_fds_open(const struct cgroup_fds *c);

/* What the caller of cgroup_final_counters() already knows; each file that need not be
 * opened saves five microseconds per step. */
struct cgroup_known {
	bool has_cpu; /* cpu_*_ns are an earlier reading: if their sum has not changed,
			 nothing has run and nothing else is read */
	uint64_t cpu_user_ns, cpu_system_ns;
	/* v1: user and system time of this cgroup's processes from wait4(). If they
	 * cover at least three quarters of the cgroup's time, its tick counters (up to
	 * three files of the same ticks) are not read. */
	uint64_t ratio_user_ns, ratio_system_ns;
	/* v1: with a memory peak below this the step cannot have been killed for
	 * memory. 0: look. */
	uint64_t harmless_peak_bytes;
};

/* What a plugin needs at the end of a step: the counters of the best source there is.
 * CPU time as above; memory peak, oom kills and IO are those of the whole step
 * (including slurmstepd's few pages, on v1 and v2) where kernel and site provide them.
 * root is a folder below rootfd, or absolute, or "". Keeps nothing open. 0; 1: the CPU
 * time is still the known one; -ENODEV, -ENODATA: no CPU time is available. *ret is set
 * for 0 only. */
int cgroup_final_counters(int rootfd, const char *root,
			  const struct cgroup_layout *layout,
			  const struct record_cgroup *paths, size_t count,
			  const struct cgroup_known *known, struct record_counters *ret,
			  struct err *err);

/* Whether the path may be opened below a hierarchy: absolute, no "..", no NUL. */
bool cgroup_path_ok(const char *path, size_t len);

/* Parsers of these files, for any bytes (fuzzed): -EINVAL (-ERANGE for a number too
 * large) names the key in err, outputs untouched. A last line without newline was cut
 * short and is ignored. cpu.stat here is v2's. */
int cgroup_parse_cpu_stat(const char *text, size_t len, struct cgroup_cpu *ret,
			  struct err *err);
/* cpu.stat of v1's cpu controller; sets the throttling members only */
int cgroup_parse_throttling(const char *text, size_t len, struct cgroup_cpu *ret,
			    struct err *err);
/* cpuacct.stat; ticks of USER_HZ */
int cgroup_parse_cpuacct_stat(const char *text, size_t len, uint64_t *ret_user,
			      uint64_t *ret_system, struct err *err);
/* On v1 "no limit" is the largest number of whole pages, of whatever size; such numbers
 * become CGROUP_UNLIMITED. */
uint64_t cgroup_limit(uint64_t bytes);
/* rss and cache; on v1 also the limit where the file has it: the lowest of the group's
 * and its ancestors' (hierarchical_memory_limit) */
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
/* The same for each device, added to io. requests: v1's file that counts them. */
int cgroup_parse_io_devices(const char *text, size_t len, bool v2, bool requests,
			    struct cgroup_io *io, struct err *err);
int cgroup_parse_psi(const char *text, size_t len, struct cgroup_psi *ret,
		     struct err *err);
/* Changes the split of now, never its sum, so that neither part falls below the
 * previous one (as kernel/sched/cputime.c does with prev_cputime). A sum below the
 * previous one is a counter that started again and is left alone. */
void cgroup_keep_split(uint64_t user_ns, uint64_t system_ns, struct cgroup_cpu *now);
/* v1: splits the exact usage in the ratio of user and system, as cputime_adjust()
 * does */
void cgroup_split_usage(uint64_t usage_ns, uint64_t user, uint64_t system,
			struct cgroup_cpu *ret);

#endif
