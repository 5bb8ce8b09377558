/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether processes are in a step's control groups: the directory shows that there was
 * a step, its processes whether it still runs. */
#include "daemon/inhabited.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "daemon/options.h"
#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/parse.h"

#define PIDS_LOOKED_AT 64u
#define LISTED_MAX 8192u /* of a directory, in a list */
#define ANCESTORS_MAX 32u
#define DEPTH_MAX 3u /* step/task, on v2 step/user/task */
#define DIRECTORIES_MAX 256u

/* 1: slurmstepd; 0: another process; -ENOENT: gone; else unknown */
static int is_stepd(const struct env *env, uint64_t pid)
{
	char path[40], comm[32];
	snprintf(path, sizeof(path), "%llu/comm", (unsigned long long)pid);
	ssize_t n = fs_read_at(env->procfd, path, comm, sizeof(comm), NULL);
	if ((n == -ENOENT || n == -ESRCH) && env->processes_hidden)
		return -EACCES;
	if (n < 0)
		return n == -ESRCH ? -ENOENT : (int)n;
	/* the kernel truncates names to 15 bytes, so "slurmstepd" fits */
	return strncmp(comm, "slurmstepd", strlen("slurmstepd")) == 0;
}

/* Field 4 of proc/PID/stat; the name before it may contain anything. */
static int parent_of(const struct env *env, uint64_t pid, uint64_t *ret)
{
	char path[40], text[1024];
	const char *word;
	size_t len;
	snprintf(path, sizeof(path), "%llu/stat", (unsigned long long)pid);
	ssize_t n = fs_read_at(env->procfd, path, text, sizeof(text), NULL);
	if (n <= 0)
		return -EINVAL;
	const char *end = text + n, *p = memrchr(text, ')', (size_t)n);
	if (!p)
		return -EINVAL;
	p++;
	if (!scan_word(&p, end, &word, &len) || !scan_blank(&p, end))
		return -EINVAL;
	return scan_u64(&p, end, ret);
}

/* A task of a running step is not slurmstepd itself, but below one. Leftovers of a step
 * (a daemon under proctrack/pgid, a process that cannot be killed) have lost their
 * slurmstepd, and have been counted. In doubt it is a task. */
static bool is_task(const struct env *env, uint64_t pid)
{
	int rc = is_stepd(env, pid);
	if (rc == 1 || rc == -ENOENT)
		return false;
	for (unsigned i = 0; i < ANCESTORS_MAX; i++) {
		if (parent_of(env, pid, &pid) < 0)
			return true;
		if (pid <= 1)
			return false;
		if (is_stepd(env, pid) == 1)
			return true;
	}
	return true;
}

struct inhabitant_search {
	const struct env *env;
	bool (*counts)(struct inhabitant_search *s, uint64_t pid);
	unsigned left;  /* directories that may still be visited */
	uint64_t *list; /* of inhabited_list(), with room for max */
	size_t count, max;
	bool cut; /* there may be more than were looked at */
};

static bool is_anybody(struct inhabitant_search *s, uint64_t pid)
{
	(void)s;
	(void)pid;
	return true;
}

static bool is_any_task(struct inhabitant_search *s, uint64_t pid)
{
	return is_task(s->env, pid);
}

/* True: there is no room for more. */
static bool list_task(struct inhabitant_search *s, uint64_t pid)
{
	if (s->count < s->max && is_task(s->env, pid))
		s->list[s->count++] = pid;
	return s->count == s->max;
}

static bool list_anybody(struct inhabitant_search *s, uint64_t pid)
{
	bool is_full = s->count == s->max;

	if (!is_full)
		s->list[s->count++] = pid;
	s->cut |= is_full;
	return is_full;
}

/* Not if the directory was removed meanwhile, is none, or is a threaded group, whose
 * processes are in the list of the one above (cgroup-v2.rst, "Threads"). */
static bool is_cut_by(int error)
{
	return error != ENOENT && error != ENODEV && error != ENOTDIR &&
	       error != EOPNOTSUPP;
}

/* Whether such a process is in the directory itself. To decide that, the beginning
 * suffices if there are very many. */
static bool has_inhabitant(struct inhabitant_search *s, int dirfd)
{
	unsigned most = s->list ? LISTED_MAX : PIDS_LOOKED_AT;
	auto_close int fd = openat(dirfd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	auto_fclose FILE *f = fd >= 0 ? fdopen(fd, "re") : NULL;
	char line[32];

	if (!f) {
		s->cut |= is_cut_by(errno);
		return false;
	}
	(void)steal_fd(&fd);
	for (unsigned i = 0; fgets(line, sizeof(line), f); i++) {
		const char *p = line;
		uint64_t pid;
		if (i == most) {
			s->cut = true;
			return false;
		}
		if (scan_u64(&p, line + strlen(line), &pid) == 0 && s->counts(s, pid))
			return true;
	}
	s->cut |= ferror(f) && is_cut_by(errno);
	return false;
}

/* Whether such a process is in the directory, or a few levels below */
static bool is_folder_inhabited(struct inhabitant_search *s, int dirfd, unsigned depth)
{
	if (has_inhabitant(s, dirfd))
		return true;
	if (!depth && !s->list)
		return false;
	int copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	auto_closedir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (!dir) {
		s->cut = true;
		if (copy >= 0)
			close(copy);
		return false;
	}
	struct dirent *e;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.' ||
		    (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		auto_close int sub =
			openat(dirfd, e->d_name,
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (sub < 0) {
			s->cut |= is_cut_by(errno);
			continue;
		}
		if (!depth || !s->left) {
			s->cut = true;
			return false;
		}
		s->left--;
		if (is_folder_inhabited(s, sub, depth - 1))
			return true;
	}
	return false;
}

static bool any_inhabited(const struct env *env, const struct record_cgroup *cgroups,
			  uint32_t count, struct inhabitant_search *s)
{
	for (uint32_t c = 0; c < count; c++) {
		for (uint32_t bit = 1; bit && bit <= cgroups[c].controllers;
		     bit <<= 1) {
			const char *dir = cgroups[c].controllers & bit
						  ? cgroup_dir(&env->cgroups, bit)
						  : "";
			char path[RECORD_CGROUP_MAX + 40];
			int n = *dir ? snprintf(path, sizeof(path), "%s%s", dir,
						cgroups[c].path)
				     : -1;
			if (n < 0 || (size_t)n >= sizeof(path))
				continue;
			auto_close int fd = fs_opendir_at(env->cgroupfd, path, NULL);
			s->env = env;
			s->left = DIRECTORIES_MAX;
			s->cut = fd < 0 && is_cut_by(-fd);
			if (fd >= 0 && is_folder_inhabited(s, fd, DEPTH_MAX))
				return true;
			if (s->count) /* other hierarchies have the same ones */
				return false;
		}
	}
	return false;
}

bool inhabited_by_tasks(const struct env *env, const struct record_cgroup *cgroups,
			uint32_t count)
{
	struct inhabitant_search s = {.counts = is_any_task};

	return any_inhabited(env, cgroups, count, &s);
}

size_t inhabited_list(const struct env *env, const struct record_cgroup *cgroups,
		      uint32_t count, uint64_t *ret, size_t max)
{
	struct inhabitant_search s = {.counts = list_task, .list = ret, .max = max};

	(void)any_inhabited(env, cgroups, count, &s);
	return s.count;
}

size_t inhabited_list_all(const struct env *env, const struct record_cgroup *cgroups,
			  uint32_t count, uint64_t *ret, size_t max, bool *ret_cut)
{
	struct inhabitant_search s = {.counts = list_anybody, .list = ret, .max = max};

	(void)any_inhabited(env, cgroups, count, &s);
	*ret_cut = s.cut;
	return s.count;
}

void inhabited_look(struct env *env)
{
	struct statfs fs;
	struct stat st;

	/* there is always a process 1; of a folder in a test that need not be so */
	env->processes_hidden =
		fstatfs(env->procfd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC &&
		fstatat(env->procfd, "1", &st, 0) < 0 && errno == ENOENT;
	if (env->processes_hidden)
		log_warn("%s does not show us the processes of other users (hidepid): "
			 "a step that has lost its slurmstepd ends only when its "
			 "control group is removed; add ceemsd's user to the group of "
			 "the mount's gid=",
			 env->options->path_procfs);
}

bool inhabited_by_nobody(const struct env *env, const struct step *step)
{
	struct inhabitant_search s = {.counts = is_anybody};

	return step->cgroup_count && step->stepd_pid &&
	       is_stepd(env, step->stepd_pid) == -ENOENT &&
	       !any_inhabited(env, step->cgroups, step->cgroup_count, &s);
}
