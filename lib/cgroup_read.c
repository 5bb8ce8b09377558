/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading control groups through file descriptors that are kept: a small file then
 * costs one pread instead of open, read, read, close. A kernel file of a removed group
 * answers ENODEV for ever, also when a group of the same name was made since: then it
 * is opened once more by its path. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"

/* memory.stat is 1.5-2.5 KiB today */
#define FILE_MAX 8192
/* fds that are left to others: connections, rings, configuration */
#define FDS_RESERVED 128

enum tree { UNIFIED, CPUACCT, MEMORY, CPUSET, CPU, PIDS, BLKIO, TREES };

static const uint32_t tree_bits[TREES] = {CGROUP_UNIFIED, CGROUP_CPUACCT, CGROUP_MEMORY,
					  CGROUP_CPUSET,  CGROUP_CPU,     CGROUP_PIDS,
					  CGROUP_BLKIO};

enum file {
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
	PSI_CPU,
	PSI_MEMORY,
	PSI_IO,
	FILES,
};

static const struct {
	enum tree tree; /* of v1 */
	const char *v1; /* NULL: v1 has nothing like it */
	const char *v2; /* NULL: it is part of another file */
	bool optional;  /* kernel or boot options decide whether it exists */
} files[FILES] = {
	[CPU_USAGE] = {CPUACCT, "cpuacct.usage", "cpu.stat", false},
	[CPU_USER] = {CPUACCT, "cpuacct.usage_user", NULL, true},
	[CPU_SYSTEM] = {CPUACCT, "cpuacct.usage_sys", NULL, true},
	[CPU_TICKS] = {CPUACCT, "cpuacct.stat", NULL, true},
	[CPU_THROTTLING] = {CPU, "cpu.stat", NULL, true},
	[MEM_USED] = {MEMORY, "memory.usage_in_bytes", "memory.current", false},
	[MEM_LIMIT] = {MEMORY, "memory.limit_in_bytes", "memory.max", false},
	[MEM_PEAK] = {MEMORY, "memory.max_usage_in_bytes", "memory.peak", true},
	[MEM_FAILURES] = {MEMORY, "memory.failcnt", NULL, false},
	[MEM_STAT] = {MEMORY, "memory.stat", "memory.stat", false},
	[MEM_EVENTS] = {MEMORY, "memory.oom_control", "memory.events", false},
	[SWAP_USED] = {MEMORY, "memory.memsw.usage_in_bytes", "memory.swap.current",
		       true},
	[SWAP_LIMIT] = {MEMORY, "memory.memsw.limit_in_bytes", "memory.swap.max", true},
	[SWAP_EVENTS] = {MEMORY, "memory.memsw.failcnt", "memory.swap.events", true},
	[PIDS_CURRENT] = {PIDS, "pids.current", "pids.current", false},
	[CPUS] = {CPUSET, "cpuset.cpus", "cpuset.cpus.effective", false},
	[IO_BYTES] = {BLKIO, "blkio.throttle.io_service_bytes_recursive", "io.stat",
		      true},
	[PSI_CPU] = {UNIFIED, NULL, "cpu.pressure", true},
	[PSI_MEMORY] = {UNIFIED, NULL, "memory.pressure", true},
	[PSI_IO] = {UNIFIED, NULL, "io.pressure", true},
};

#define NOT_OPEN -1
#define NOT_THERE -2 /* optional, and this kernel has none */

struct cgroup_fds {
	int rootfd;
	int keep_below;    /* fds from here on are not kept */
	bool step;         /* CPU time: look for user/ below it */
	bool without_user; /* CPU_USAGE is open on the step itself */
	char *dir[TREES];  /* from rootfd; NULL: not in this hierarchy */
	int fd[FILES];
	uint64_t user_ns, system_ns; /* the last split */
	uint64_t ticks_at_ns;        /* v1: usage when the ticks were last read */
	uint64_t fail_count;         /* v1: the last one read */
};

/* As many as the limit allows, less a reserve; fds are numbered from below. */
static int keep_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return 0;
	rlim_t n = lim.rlim_cur > (1 << 30) ? (1 << 30) : lim.rlim_cur;
	rlim_t reserve = n / 4 < FDS_RESERVED ? n / 4 : FDS_RESERVED;
	return (int)(n - reserve);
}

static char *append(char *at, const char *text, size_t len)
{
	memcpy(at, text, len);
	return at + len;
}

/* root/hierarchy + path; NULL without memory */
static char *dup_dir(const char *root, const char *hierarchy, const char *path,
		     size_t len)
{
	size_t root_len = strlen(root), n = strlen(hierarchy);
	char *dir = malloc(root_len + 1 + n + len + 1);

	if (!dir)
		return NULL;
	char *at = append(dir, root, root_len);
	if (root_len)
		*at++ = '/';
	at = append(at, hierarchy, n);
	*append(at, path, len) = '\0';
	return dir;
}

static int set_dirs(struct cgroup_fds *c, const char *root,
		    const struct cgroup_layout *layout,
		    const struct record_cgroup *path, bool job)
{
	size_t len = strnlen(path->path, sizeof(path->path));

	if (len == sizeof(path->path) || !cgroup_path_ok(path->path, len))
		return 0;
	size_t cut = job ? cgroup_job_len(path->path, len)
			 : cgroup_step_len(path->path, len);
	if (cut)
		len = cut;
	for (size_t t = 0; t < TREES; t++) {
		const char *hierarchy = cgroup_dir(layout, tree_bits[t]);
		if (!(path->controllers & tree_bits[t]) || !hierarchy[0] || c->dir[t])
			continue;
		c->dir[t] = dup_dir(root, hierarchy, path->path, len);
		if (!c->dir[t])
			return -ENOMEM;
	}
	return 0;
}

static struct cgroup_fds *fds_new(int rootfd, const char *root,
				  const struct cgroup_layout *layout,
				  const struct record_cgroup *paths, size_t count,
				  bool job, int keep_below)
{
	struct cgroup_fds *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->rootfd = rootfd;
	c->keep_below = keep_below;
	c->step = !job;
	for (size_t f = 0; f < FILES; f++)
		c->fd[f] = NOT_OPEN;
	for (size_t i = 0; i < count; i++) {
		if (set_dirs(c, root, layout, &paths[i], job) < 0) {
			cgroup_fds_free(c);
			return NULL;
		}
	}
	return c;
}

struct cgroup_fds *cgroup_fds_new(int rootfd, const struct cgroup_layout *layout,
				  const struct record_cgroup *paths, size_t count,
				  bool job)
{
	return fds_new(rootfd, "", layout, paths, count, job, keep_limit());
}

void cgroup_fds_free(struct cgroup_fds *c)
{
	if (!c)
		return;
	for (size_t f = 0; f < FILES; f++)
		cleanup_close(&c->fd[f]);
	for (size_t t = 0; t < TREES; t++)
		free(c->dir[t]);
	free(c);
}

unsigned cgroup_fds_open(const struct cgroup_fds *c)
{
	unsigned n = 0;

	for (size_t f = 0; f < FILES; f++)
		n += c->fd[f] >= 0;
	return n;
}

void cgroup_fds_seed_cpu(struct cgroup_fds *c, uint64_t user_ns, uint64_t system_ns)
{
	c->user_ns = user_ns;
	c->system_ns = system_ns;
}

/* Which hierarchy a file is read from: v1 where the group is there, else v2. */
static enum tree tree_of(const struct cgroup_fds *c, enum file f)
{
	return files[f].v1 && c->dir[files[f].tree] ? files[f].tree : UNIFIED;
}

static bool on_v2(const struct cgroup_fds *c, enum file f)
{
	return tree_of(c, f) == UNIFIED;
}

static int open_file(struct cgroup_fds *c, enum file f, const char *sub,
		     struct err *err)
{
	enum tree t = tree_of(c, f);
	const char *name = t == UNIFIED ? files[f].v2 : files[f].v1;
	char path[RECORD_CGROUP_MAX + 128];

	if (!c->dir[t] || !name)
		return err_set(err, -ENODATA, "no %s: controller not in use",
			       name ? name : files[f].v1);
	(void)snprintf(path, sizeof(path), "%s%s/%s", c->dir[t], sub, name);
	int fd = fs_open_at(c->rootfd, path, err);
	if (fd != -ENOENT && fd != -ENODEV)
		return fd;
	/* Every group of cpuacct has this one: no need to look for the directory. */
	bool always = f == CPU_USAGE && t == CPUACCT;
	if (always || faccessat(c->rootfd, c->dir[t], F_OK, 0) < 0)
		return err_set(err, -ENODEV, "%s: the control group is gone",
			       c->dir[t]);
	return err_set(err, -ENODATA, "%s: no such file", path);
}

static int open_cpu(struct cgroup_fds *c, bool *ret_without_user, struct err *err)
{
	/* On v2 Slurm keeps slurmstepd itself in step_N/slurm and the tasks in
	 * step_N/user: what the user's tasks used is in the latter. */
	if (c->step && on_v2(c, CPU_USAGE)) {
		int fd = open_file(c, CPU_USAGE, "/user", err);
		if (fd != -ENODATA)
			return fd;
		*ret_without_user = true;
	}
	return open_file(c, CPU_USAGE, "", err);
}

/* The directory step_N/user may have been made since. */
static void look_for_user(struct cgroup_fds *c)
{
	int fd = open_file(c, CPU_USAGE, "/user", NULL);

	if (fd < 0)
		return;
	cleanup_close(&c->fd[CPU_USAGE]);
	c->fd[CPU_USAGE] = NOT_OPEN;
	c->without_user = false;
	close(fd);
}

static ssize_t read_file(struct cgroup_fds *c, enum file f, char *buf, size_t size,
			 struct err *err)
{
	bool without_user = false, fresh = c->fd[f] < 0;
	auto_close int once = -1;
	int fd = c->fd[f];

	if (fd == NOT_THERE)
		return err_set(err, -ENODATA, "no such file in this control group");
	if (fresh) {
		fd = f == CPU_USAGE ? open_cpu(c, &without_user, err)
				    : open_file(c, f, "", err);
		if (fd == -ENODATA && files[f].optional)
			c->fd[f] = NOT_THERE;
		if (fd < 0)
			return fd;
		once = fd;
	}
	ssize_t n = fs_pread(fd, buf, size);
	if (n == -EOPNOTSUPP) /* pressure files when psi is off */
		n = -ENODATA;
	if (n < 0) {
		enum tree t = tree_of(c, f);
		return err_set(err, (int)n, "%s/%s: %s", c->dir[t],
			       t == UNIFIED ? files[f].v2 : files[f].v1,
			       n == -EFBIG    ? "too long"
			       : n == -ENODEV ? "the control group is gone"
					      : strerror((int)-n));
	}
	if (fresh && fd < c->keep_below) {
		c->fd[f] = steal_fd(&once);
		if (f == CPU_USAGE)
			c->without_user = without_user;
	}
	return n;
}

static int file_error(struct cgroup_fds *c, enum file f, int rc, struct err *err)
{
	enum tree t = tree_of(c, f);

	return err_prefix(err, rc, "%s/%s", c->dir[t],
			  t == UNIFIED ? files[f].v2 : files[f].v1);
}

static int parse_number(struct cgroup_fds *c, enum file f, const char *text, size_t n,
			uint64_t *ret, struct err *err)
{
	const char *p = text, *end = text + n;
	uint64_t v;

	if (end > p && end[-1] == '\n')
		end--;
	int rc = p == end ? -EINVAL : scan_u64(&p, end, &v);
	if (rc == 0 && p != end)
		rc = -EINVAL;
	if (rc < 0) {
		(void)err_set(err, rc,
			      n == 0          ? "empty"
			      : rc == -ERANGE ? "number too large"
					      : "not an unsigned number");
		return file_error(c, f, rc, err);
	}
	*ret = v;
	return 0;
}

static int read_number(struct cgroup_fds *c, enum file f, uint64_t *ret,
		       struct err *err)
{
	char text[64];
	ssize_t n = read_file(c, f, text, sizeof(text), err);

	return n < 0 ? (int)n : parse_number(c, f, text, (size_t)n, ret, err);
}

static int read_limit(struct cgroup_fds *c, enum file f, uint64_t *ret, struct err *err)
{
	char text[64];
	uint64_t v = CGROUP_UNLIMITED;
	ssize_t n = read_file(c, f, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	if (!on_v2(c, f) || strcmp(text, "max\n") != 0) {
		int rc = parse_number(c, f, text, (size_t)n, &v, err);
		if (rc < 0)
			return rc;
	}
	*ret = cgroup_limit(v);
	return 0;
}

/* Nothing of a removed group may be kept. Returns false when nothing was. */
static bool forget(struct cgroup_fds *c, enum tree t)
{
	bool any = false;

	for (size_t f = 0; f < FILES; f++) {
		if (tree_of(c, f) != t)
			continue;
		any = any || c->fd[f] >= 0;
		cleanup_close(&c->fd[f]);
		c->fd[f] = NOT_OPEN;
	}
	if (t == tree_of(c, CPU_USAGE)) {
		c->user_ns = c->system_ns = c->ticks_at_ns = 0;
		c->without_user = false;
	}
	if (t == MEMORY)
		c->fail_count = 0;
	return any;
}

static int read_v2_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err)
{
	char text[FILE_MAX];

	if (c->without_user)
		look_for_user(c);
	ssize_t n = read_file(c, CPU_USAGE, text, sizeof(text), err);
	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_cpu_stat(text, (size_t)n, ret, err);
	return rc < 0 ? file_error(c, CPU_USAGE, rc, err) : 0;
}

/* User and system ticks for the ratio. Younger than a tick: cpuacct.stat may know. */
static int read_v1_ticks(struct cgroup_fds *c, uint64_t *ret_user, uint64_t *ret_system,
			 struct err *err)
{
	char text[256];
	int rc = read_number(c, CPU_USER, ret_user, err);

	if (rc == 0)
		rc = read_number(c, CPU_SYSTEM, ret_system, err);
	if (rc < 0 && rc != -ENODATA)
		return rc;
	if (rc == 0 && (*ret_user || *ret_system))
		return 0;
	ssize_t n = read_file(c, CPU_TICKS, text, sizeof(text), err);
	*ret_user = *ret_system = 0;
	if (n < 0)
		return n == -ENODATA ? 0 : (int)n;
	rc = cgroup_parse_cpuacct_stat(text, (size_t)n, ret_user, ret_system, err);
	return rc < 0 ? file_error(c, CPU_TICKS, rc, err) : 0;
}

static int read_v1_throttling(struct cgroup_fds *c, struct cgroup_cpu *ret,
			      struct err *err)
{
	char text[1024];

	/* without this the file would be looked for on v2 */
	if (!c->dir[CPU])
		return 0;
	ssize_t n = read_file(c, CPU_THROTTLING, text, sizeof(text), err);
	if (n == -ENODEV && forget(c, CPU))
		n = read_file(c, CPU_THROTTLING, text, sizeof(text), err);
	/* The hierarchies are removed one after the other; whether the group is gone is
	 * for cpuacct to say. */
	if (n < 0)
		return n == -ENODATA || n == -ENODEV ? 0 : (int)n;
	int rc = cgroup_parse_throttling(text, (size_t)n, ret, err);
	return rc < 0 ? file_error(c, CPU_THROTTLING, rc, err) : 0;
}

static int read_v1_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err)
{
	uint64_t usage = 0, user = 0, system = 0;
	int rc = read_number(c, CPU_USAGE, &usage, err);

	/* who has not run since has not run in another mode either */
	if (rc == 0 && usage && usage != c->ticks_at_ns)
		rc = read_v1_ticks(c, &user, &system, err);
	if (rc == 0)
		rc = read_v1_throttling(c, ret, err);
	if (rc < 0)
		return rc;
	if (usage == c->ticks_at_ns) {
		ret->user_ns = c->user_ns;
		ret->system_ns = c->system_ns;
	} else {
		cgroup_split_usage(usage, user, system, ret);
	}
	return 0;
}

static int read_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err)
{
	struct cgroup_cpu cpu = {0};
	int rc = on_v2(c, CPU_USAGE) ? read_v2_cpu(c, &cpu, err)
				     : read_v1_cpu(c, &cpu, err);

	if (rc < 0)
		return rc;
	cgroup_keep_split(c->user_ns, c->system_ns, &cpu);
	c->user_ns = cpu.user_ns;
	c->system_ns = cpu.system_ns;
	c->ticks_at_ns = cpu.user_ns + cpu.system_ns;
	*ret = cpu;
	return 0;
}

int cgroup_read_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err)
{
	int rc = read_cpu(c, ret, err);

	if (rc == -ENODEV && forget(c, tree_of(c, CPU_USAGE)))
		rc = read_cpu(c, ret, err);
	return rc;
}

static int read_events(struct cgroup_fds *c, struct cgroup_memory *m, struct err *err)
{
	char text[1024];
	ssize_t n = read_file(c, MEM_EVENTS, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_memory_events(text, (size_t)n, on_v2(c, MEM_EVENTS), m,
					    err);
	return rc < 0 ? file_error(c, MEM_EVENTS, rc, err) : 0;
}

#define TASKS_MAX 4096

/* oom kills of one task's group; what cannot be read has gone and counts nothing */
static uint64_t task_kills(int dirfd, const char *task)
{
	char path[RECORD_CGROUP_MAX], text[256];
	struct cgroup_memory m = {0};

	(void)snprintf(path, sizeof(path), "%s/memory.oom_control", task);
	ssize_t n = fs_read_at(dirfd, path, text, sizeof(text), NULL);
	if (n < 0 || cgroup_parse_memory_events(text, (size_t)n, false, &m, NULL) < 0)
		return 0;
	return m.oom_kills;
}

/* v1 counts a kill in the victim's own group only, which for Slurm is task_N below the
 * step, not in its parents as v2 does (mm/memcontrol.c, memcg_memory_event). */
static uint64_t v1_kills_below(struct cgroup_fds *c)
{
	uint64_t sum = 0;
	auto_close int fd = fs_opendir_at(c->rootfd, c->dir[MEMORY], NULL);

	if (fd < 0)
		return 0;
	auto_closedir DIR *dir = fdopendir(fd);
	if (!dir)
		return 0;
	(void)steal_fd(&fd);
	for (int i = 0; i < TASKS_MAX; i++) {
		struct dirent *e = readdir(dir);
		if (!e)
			break;
		if (strncmp(e->d_name, "task_", 5) == 0)
			sum += task_kills(dirfd(dir), e->d_name);
	}
	return sum;
}

/* Without a limit that was reached there was no kill to look for in every task. The
 * kernel charges in batches of up to 64 pages. */
static bool reached(uint64_t peak, uint64_t limit)
{
	return limit != CGROUP_UNLIMITED && peak + (64 << 12) >= limit;
}

static int read_peak(struct cgroup_fds *c, struct cgroup_memory *m, struct err *err)
{
	int rc = read_number(c, MEM_PEAK, &m->peak_bytes, err);

	m->has_peak = rc == 0;
	return rc == -ENODATA ? 0 : rc;
}

static int read_memory_stat(struct cgroup_fds *c, struct cgroup_memory *m,
			    struct err *err)
{
	char text[FILE_MAX];
	ssize_t n = read_file(c, MEM_STAT, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_memory_stat(text, (size_t)n, on_v2(c, MEM_STAT), m, err);
	return rc < 0 ? file_error(c, MEM_STAT, rc, err) : 0;
}

static int read_swap_failures(struct cgroup_fds *c, uint64_t *ret, struct err *err)
{
	char text[256];

	if (!on_v2(c, SWAP_EVENTS))
		return read_number(c, SWAP_EVENTS, ret, err);
	ssize_t n = read_file(c, SWAP_EVENTS, text, sizeof(text), err);
	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_swap_events(text, (size_t)n, ret, err);
	return rc < 0 ? file_error(c, SWAP_EVENTS, rc, err) : 0;
}

static int read_swap(struct cgroup_fds *c, struct cgroup_memory *m, struct err *err)
{
	int rc = read_number(c, SWAP_USED, &m->memsw_used_bytes, err);

	if (rc == 0)
		rc = read_limit(c, SWAP_LIMIT, &m->memsw_limit_bytes, err);
	m->has_swap = rc == 0;
	if (rc == 0)
		rc = read_swap_failures(c, &m->memsw_fail_count, err);
	return rc == -ENODATA ? 0 : rc;
}

/* v1. A failure needs a charge that meets the limit, and the largest charge at once is
 * a huge page: far below there was none. Once there was one the file is always read. */
static int read_failures(struct cgroup_fds *c, struct cgroup_memory *m, struct err *err)
{
	if (m->has_peak && !c->fail_count &&
	    (m->limit_bytes == CGROUP_UNLIMITED ||
	     m->peak_bytes + (4 << 20) < m->limit_bytes))
		return 0;
	int rc = read_number(c, MEM_FAILURES, &m->fail_count, err);
	if (rc == 0)
		c->fail_count = m->fail_count;
	return rc;
}

static int read_v1_memory(struct cgroup_fds *c, struct cgroup_memory *m,
			  struct err *err)
{
	int rc;

	/* memory.stat mostly says it */
	if (!m->limit_bytes) {
		rc = read_limit(c, MEM_LIMIT, &m->limit_bytes, err);
		if (rc < 0)
			return rc;
	}
	rc = read_failures(c, m, err);
	/* of a job it would always be 0: see v1_kills_below() */
	if (rc < 0 || !c->step)
		return rc;
	rc = read_events(c, m, err);
	if (rc == 0 && (m->fail_count || reached(m->peak_bytes, m->limit_bytes)))
		m->oom_kills += v1_kills_below(c);
	return rc;
}

static int read_v2_memory(struct cgroup_fds *c, struct cgroup_memory *m,
			  struct err *err)
{
	int rc = read_limit(c, MEM_LIMIT, &m->limit_bytes, err);

	return rc < 0 ? rc : read_events(c, m, err);
}

static int read_all_memory(struct cgroup_fds *c, struct cgroup_memory *m,
			   struct err *err)
{
	int rc = read_memory_stat(c, m, err);

	if (rc == 0)
		rc = read_peak(c, m, err);
	if (rc < 0)
		return rc;
	return on_v2(c, MEM_USED) ? read_v2_memory(c, m, err)
				  : read_v1_memory(c, m, err);
}

static int read_memory(struct cgroup_fds *c, bool swap,
		       const struct cgroup_memory *idle, struct cgroup_memory *ret,
		       struct err *err)
{
	struct cgroup_memory m = {0};
	int rc = read_number(c, MEM_USED, &m.used_bytes, err);

	if (rc == 0 && idle && idle->used_bytes == m.used_bytes)
		m = *idle;
	else if (rc == 0)
		rc = read_all_memory(c, &m, err);
	if (rc == 0 && swap)
		rc = read_swap(c, &m, err);
	if (rc == 0)
		*ret = m;
	return rc;
}

int cgroup_read_memory(struct cgroup_fds *c, bool swap,
		       const struct cgroup_memory *idle, struct cgroup_memory *ret,
		       struct err *err)
{
	int rc = read_memory(c, swap, idle, ret, err);

	if (rc == -ENODEV && forget(c, tree_of(c, MEM_USED)))
		rc = read_memory(c, swap, NULL, ret, err);
	return rc;
}

static int read_psi(struct cgroup_fds *c, enum file f, struct cgroup_psi *ret,
		    struct err *err)
{
	char text[512];
	ssize_t n = read_file(c, f, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_psi(text, (size_t)n, ret, err);
	return rc < 0 ? file_error(c, f, rc, err) : 0;
}

int cgroup_read_psi(struct cgroup_fds *c, const char *resource, struct cgroup_psi *ret,
		    struct err *err)
{
	enum file f = strcmp(resource, "cpu") == 0      ? PSI_CPU
		      : strcmp(resource, "memory") == 0 ? PSI_MEMORY
							: PSI_IO;
	int rc = read_psi(c, f, ret, err);

	if (rc == -ENODEV && forget(c, UNIFIED))
		rc = read_psi(c, f, ret, err);
	return rc;
}

int cgroup_read_pids(struct cgroup_fds *c, uint64_t *ret, struct err *err)
{
	int rc = read_number(c, PIDS_CURRENT, ret, err);

	if (rc == -ENODEV && forget(c, tree_of(c, PIDS_CURRENT)))
		rc = read_number(c, PIDS_CURRENT, ret, err);
	return rc;
}

static int read_cpus(struct cgroup_fds *c, uint32_t *ret, struct err *err)
{
	char text[FILE_MAX];
	uint32_t count;
	ssize_t n = read_file(c, CPUS, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = parse_list_count(text, (size_t)n, &count);
	if (rc < 0) {
		(void)err_set(err, rc, "not a list of CPUs");
		return file_error(c, CPUS, rc, err);
	}
	if (!count) {
		(void)err_set(err, -ENODATA, "empty");
		return file_error(c, CPUS, -ENODATA, err);
	}
	*ret = count;
	return 0;
}

int cgroup_read_cpus(struct cgroup_fds *c, uint32_t *ret, struct err *err)
{
	int rc = read_cpus(c, ret, err);

	if (rc == -ENODEV && forget(c, tree_of(c, CPUS)))
		rc = read_cpus(c, ret, err);
	return rc;
}

static int read_io(struct cgroup_fds *c, uint64_t *ret_read, uint64_t *ret_written,
		   struct err *err)
{
	char text[FILE_MAX];
	ssize_t n = read_file(c, IO_BYTES, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_io(text, (size_t)n, on_v2(c, IO_BYTES), ret_read,
				 ret_written, err);
	return rc < 0 ? file_error(c, IO_BYTES, rc, err) : 0;
}

int cgroup_read_io(struct cgroup_fds *c, uint64_t *ret_read, uint64_t *ret_written,
		   struct err *err)
{
	int rc = read_io(c, ret_read, ret_written, err);

	if (rc == -ENODEV && forget(c, tree_of(c, IO_BYTES)))
		rc = read_io(c, ret_read, ret_written, err);
	return rc;
}

static void cleanup_fds(struct cgroup_fds **c)
{
	cgroup_fds_free(*c);
}

/* Did the step meet a limit, its own or its job's? The latter is not lower than the
 * former, so one number less has to be read. */
static bool v1_limit_reached(struct cgroup_fds *step, struct cgroup_fds *job,
			     uint64_t step_peak)
{
	uint64_t limit, peak;

	if (read_limit(step, MEM_LIMIT, &limit, NULL) < 0 || limit == CGROUP_UNLIMITED)
		return false;
	return reached(step_peak, limit) ||
	       (read_number(job, MEM_PEAK, &peak, NULL) == 0 && reached(peak, limit));
}

/* Looked for only where it can have come to that; the job's limits are read only
 * then. */
static bool may_have_been_killed(struct cgroup_fds *step, struct cgroup_fds *job,
				 const struct record_counters *r,
				 uint64_t harmless_peak_bytes)
{
	if (on_v2(step, MEM_EVENTS) || !r->has_memory)
		return true;
	return r->memory_peak_bytes >= harmless_peak_bytes &&
	       v1_limit_reached(step, job, r->memory_peak_bytes);
}

static uint64_t oom_kills(struct cgroup_fds *step)
{
	struct cgroup_memory m = {0};

	if (read_events(step, &m, NULL) < 0)
		m.oom_kills = 0;
	return m.oom_kills + (on_v2(step, MEM_EVENTS) ? 0 : v1_kills_below(step));
}

static int read_final_cpu(struct cgroup_fds *c, const struct cgroup_known *known,
			  struct cgroup_cpu *ret, struct err *err)
{
	uint64_t before_ns = known->cpu_user_ns + known->cpu_system_ns;

	if (known->has_cpu) {
		cgroup_fds_seed_cpu(c, known->cpu_user_ns, known->cpu_system_ns);
		c->ticks_at_ns = before_ns;
	}
	int rc = read_cpu(c, ret, err);
	if (rc < 0)
		return rc;
	return known->has_cpu && ret->user_ns + ret->system_ns == before_ns;
}

int cgroup_final_counters(int rootfd, const char *root,
			  const struct cgroup_layout *layout,
			  const struct record_cgroup *paths, size_t count,
			  const struct cgroup_known *known, struct record_counters *ret,
			  struct err *err)
{
	/* inside slurmstepd nothing stays open, so nothing is opened for keeping */
	__attribute__((cleanup(cleanup_fds))) struct cgroup_fds *c =
		fds_new(rootfd, root, layout, paths, count, false, 0);
	__attribute__((cleanup(cleanup_fds))) struct cgroup_fds *job =
		fds_new(rootfd, root, layout, paths, count, true, 0);
	struct record_counters r = {0};
	struct cgroup_cpu cpu;

	if (!c || !job)
		return err_set(err, -ENOMEM, "control group: no memory");
	int rc = read_final_cpu(c, known, &cpu, err);
	if (rc)
		return rc;
	r.read_ns = clock_boottime_ns();
	r.source = on_v2(c, CPU_USAGE) ? COUNTERS_CGROUP_V2 : COUNTERS_CGROUP_V1;
	r.cpu_user_ns = cpu.user_ns;
	r.cpu_system_ns = cpu.system_ns;
	/* what is missing from here on is missing, not an error: the CPU time counts */
	r.has_memory = read_number(c, MEM_PEAK, &r.memory_peak_bytes, NULL) == 0;
	if (may_have_been_killed(c, job, &r, known->harmless_peak_bytes))
		r.oom_kills = oom_kills(c);
	r.has_io = read_io(c, &r.io_read_bytes, &r.io_write_bytes, NULL) == 0;
	*ret = r;
	return 0;
}
