/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control group files that stay open: a small file then costs one pread instead of
 * open, read, read, close. A kernel file of a removed group returns ENODEV for ever,
 * even if a group of the same name has been created since: then it is reopened once by
 * its path. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/cgroup_impl.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

/* fds left for others: connections, rings, configuration */
#define FDS_RESERVED 128

static const uint32_t tree_bits[TREES] = {CGROUP_UNIFIED, CGROUP_CPUACCT, CGROUP_MEMORY,
					  CGROUP_CPUSET,  CGROUP_CPU,     CGROUP_PIDS,
					  CGROUP_BLKIO};

static const struct {
	enum cgroup_tree tree; /* of v1 */
	const char *v1;        /* NULL: v1 has no counterpart */
	const char *v2;        /* NULL: it is part of another file */
	bool optional;         /* kernel or boot options decide whether it exists */
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
	[IO_COUNTS] = {BLKIO, "blkio.throttle.io_serviced_recursive", NULL, true},
	[PSI_CPU] = {UNIFIED, NULL, "cpu.pressure", true},
	[PSI_MEMORY] = {UNIFIED, NULL, "memory.pressure", true},
	[PSI_IO] = {UNIFIED, NULL, "io.pressure", true},
};

/* As many as the limit allows minus a reserve; fds are numbered from 0. */
static int keep_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return 0;
	rlim_t n = lim.rlim_cur > (1 << 30) ? (1 << 30) : lim.rlim_cur;
	rlim_t reserve = n / 4 < FDS_RESERVED ? n / 4 : FDS_RESERVED;
	return (int)(n - reserve);
}

static char *append_path_part(char *at, const char *text, size_t len)
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
	char *at = append_path_part(dir, root, root_len);
	if (root_len)
		*at++ = '/';
	at = append_path_part(at, hierarchy, n);
	*append_path_part(at, path, len) = '\0';
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

struct cgroup_fds *cgroup_fds_make(int rootfd, const char *root,
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
	return cgroup_fds_make(rootfd, "", layout, paths, count, job, keep_limit());
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

/* The hierarchy a file is read from: v1 where the group is there, else v2. */
enum cgroup_tree cgroup_tree_of(const struct cgroup_fds *c, enum cgroup_file f)
{
	return files[f].v1 && c->dir[files[f].tree] ? files[f].tree : UNIFIED;
}

bool cgroup_on_v2(const struct cgroup_fds *c, enum cgroup_file f)
{
	return cgroup_tree_of(c, f) == UNIFIED;
}

static int open_cgroup_file(struct cgroup_fds *c, enum cgroup_file f, const char *sub,
			    struct err *err)
{
	enum cgroup_tree t = cgroup_tree_of(c, f);
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
	/* On v2 Slurm keeps slurmstepd in step_N/slurm and the tasks in step_N/user, so
	 * the tasks' use is in the latter. */
	if (c->step && cgroup_on_v2(c, CPU_USAGE)) {
		int fd = open_cgroup_file(c, CPU_USAGE, "/user", err);
		if (fd != -ENODATA)
			return fd;
		*ret_without_user = true;
	}
	return open_cgroup_file(c, CPU_USAGE, "", err);
}

/* Looks for step_N/user again: it may have been made since. */
void cgroup_look_for_user(struct cgroup_fds *c)
{
	int fd = open_cgroup_file(c, CPU_USAGE, "/user", NULL);

	if (fd < 0)
		return;
	cleanup_close(&c->fd[CPU_USAGE]);
	c->fd[CPU_USAGE] = NOT_OPEN;
	c->without_user = false;
	close(fd);
}

ssize_t cgroup_read_stepd(struct cgroup_fds *c, char *buf, size_t size, struct err *err)
{
	if (!c->step || !cgroup_on_v2(c, CPU_USAGE) || c->without_user)
		return 0;
	auto_close int fd = open_cgroup_file(c, CPU_USAGE, "/slurm", err);
	if (fd < 0)
		return fd == -ENODATA ? 0 : fd;
	ssize_t n = fs_pread(fd, buf, size);
	return n < 0 ? err_set(err, (int)n, "%s/slurm: %s", c->dir[UNIFIED],
			       strerror((int)-n))
		     : n;
}

ssize_t cgroup_read_file(struct cgroup_fds *c, enum cgroup_file f, char *buf,
			 size_t size, struct err *err)
{
	bool without_user = false, fresh = c->fd[f] < 0;
	auto_close int once = -1;
	int fd = c->fd[f];

	if (fd == NOT_THERE)
		return err_set(err, -ENODATA, "no such file in this control group");
	if (fresh) {
		fd = f == CPU_USAGE ? open_cpu(c, &without_user, err)
				    : open_cgroup_file(c, f, "", err);
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
		enum cgroup_tree t = cgroup_tree_of(c, f);
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

int cgroup_file_error(struct cgroup_fds *c, enum cgroup_file f, int rc, struct err *err)
{
	enum cgroup_tree t = cgroup_tree_of(c, f);

	return err_prefix(err, rc, "%s/%s", c->dir[t],
			  t == UNIFIED ? files[f].v2 : files[f].v1);
}

static int parse_file_number(struct cgroup_fds *c, enum cgroup_file f, const char *text,
			     size_t n, uint64_t *ret, struct err *err)
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
		return cgroup_file_error(c, f, rc, err);
	}
	*ret = v;
	return 0;
}

int cgroup_read_number(struct cgroup_fds *c, enum cgroup_file f, uint64_t *ret,
		       struct err *err)
{
	char text[64];
	ssize_t n = cgroup_read_file(c, f, text, sizeof(text), err);

	return n < 0 ? (int)n : parse_file_number(c, f, text, (size_t)n, ret, err);
}

int cgroup_read_limit(struct cgroup_fds *c, enum cgroup_file f, uint64_t *ret,
		      struct err *err)
{
	char text[64];
	uint64_t v = CGROUP_UNLIMITED;
	ssize_t n = cgroup_read_file(c, f, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	if (!cgroup_on_v2(c, f) || strcmp(text, "max\n") != 0) {
		int rc = parse_file_number(c, f, text, (size_t)n, &v, err);
		if (rc < 0)
			return rc;
	}
	*ret = cgroup_limit(v);
	return 0;
}

/* Closes everything of a removed group. False: nothing was open. */
bool cgroup_forget(struct cgroup_fds *c, enum cgroup_tree t)
{
	bool any = false;

	for (size_t f = 0; f < FILES; f++) {
		if (cgroup_tree_of(c, f) != t)
			continue;
		any = any || c->fd[f] >= 0;
		cleanup_close(&c->fd[f]);
		c->fd[f] = NOT_OPEN;
	}
	if (t == cgroup_tree_of(c, CPU_USAGE)) {
		c->user_ns = c->system_ns = c->ticks_at_ns = c->read_at_ns = 0;
		c->without_user = false;
	}
	if (t == MEMORY)
		c->fail_count = 0;
	return any;
}
