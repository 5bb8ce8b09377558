/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of a control group: its use, and what happened at its limits. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cgroup_impl.h"
#include "lib/cleanup.h"
#include "lib/fs.h"

int cgroup_read_events(struct cgroup_fds *c, struct cgroup_memory *m, struct err *err)
{
	char text[1024];
	ssize_t n = cgroup_read_file(c, MEM_EVENTS, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_memory_events(text, (size_t)n,
					    cgroup_on_v2(c, MEM_EVENTS), m, err);
	return rc < 0 ? cgroup_file_error(c, MEM_EVENTS, rc, err) : 0;
}

#define TASKS_MAX 4096

/* oom kills of one task's group; 0 if it cannot be read, since it is gone */
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
uint64_t cgroup_kills_below(struct cgroup_fds *c)
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

/* A cgroup that never reached its limit had no kill, so its tasks need not be searched.
 * The kernel charges in batches of up to 64 pages. */
bool cgroup_reached(uint64_t peak, uint64_t limit)
{
	return limit != CGROUP_UNLIMITED && peak + (64 << 12) >= limit;
}

static int read_peak(struct cgroup_fds *c, struct cgroup_memory *m, struct err *err)
{
	int rc = cgroup_read_number(c, MEM_PEAK, &m->peak_bytes, err);

	m->has_peak = rc == 0;
	return rc == -ENODATA ? 0 : rc;
}

static int read_memory_stat(struct cgroup_fds *c, struct cgroup_memory *m,
			    struct err *err)
{
	char text[CGROUP_FILE_MAX];
	ssize_t n = cgroup_read_file(c, MEM_STAT, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_memory_stat(text, (size_t)n, cgroup_on_v2(c, MEM_STAT), m,
					  err);
	return rc < 0 ? cgroup_file_error(c, MEM_STAT, rc, err) : 0;
}

static int read_swap_failures(struct cgroup_fds *c, uint64_t *ret, struct err *err)
{
	char text[256];

	if (!cgroup_on_v2(c, SWAP_EVENTS))
		return cgroup_read_number(c, SWAP_EVENTS, ret, err);
	ssize_t n = cgroup_read_file(c, SWAP_EVENTS, text, sizeof(text), err);
	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_swap_events(text, (size_t)n, ret, err);
	return rc < 0 ? cgroup_file_error(c, SWAP_EVENTS, rc, err) : 0;
}

static int read_swap(struct cgroup_fds *c, struct cgroup_memory *m, struct err *err)
{
	int rc = cgroup_read_number(c, SWAP_USED, &m->memsw_used_bytes, err);

	if (rc == 0)
		rc = cgroup_read_limit(c, SWAP_LIMIT, &m->memsw_limit_bytes, err);
	m->has_swap = rc == 0;
	if (rc == 0)
		rc = read_swap_failures(c, &m->memsw_fail_count, err);
	return rc == -ENODATA ? 0 : rc;
}

/* v1. A failure needs a charge that reaches the limit, and the largest single charge is
 * a huge page, so far below the limit there was none. After a first failure the file is
 * always read. */
static int read_failures(struct cgroup_fds *c, struct cgroup_memory *m, struct err *err)
{
	if (m->has_peak && !c->fail_count &&
	    (m->limit_bytes == CGROUP_UNLIMITED ||
	     m->peak_bytes + (4 << 20) < m->limit_bytes))
		return 0;
	int rc = cgroup_read_number(c, MEM_FAILURES, &m->fail_count, err);
	if (rc == 0)
		c->fail_count = m->fail_count;
	return rc;
}

static int read_v1_memory(struct cgroup_fds *c, struct cgroup_memory *m,
			  struct err *err)
{
	int rc;

	/* memory.stat usually has it */
	if (!m->limit_bytes) {
		rc = cgroup_read_limit(c, MEM_LIMIT, &m->limit_bytes, err);
		if (rc < 0)
			return rc;
	}
	rc = read_failures(c, m, err);
	/* of a job it would always be 0: see cgroup_kills_below() */
	if (rc < 0 || !c->step)
		return rc;
	rc = cgroup_read_events(c, m, err);
	if (rc == 0 && (m->fail_count || cgroup_reached(m->peak_bytes, m->limit_bytes)))
		m->oom_kills += cgroup_kills_below(c);
	return rc;
}

static int read_v2_memory(struct cgroup_fds *c, struct cgroup_memory *m,
			  struct err *err)
{
	int rc = cgroup_read_limit(c, MEM_LIMIT, &m->limit_bytes, err);

	return rc < 0 ? rc : cgroup_read_events(c, m, err);
}

/* The kernel charges in batches of up to 64 pages, so the usage is no more exact */
#define USAGE_EXACT (64 << 12)

static bool is_same_usage(const struct cgroup_memory *last, uint64_t used)
{
	uint64_t at = last->stat_used_bytes;

	return at && (used > at ? used - at : at - used) < USAGE_EXACT;
}

static int read_all_memory(struct cgroup_fds *c,
			   const struct cgroup_memory_known *known,
			   struct cgroup_memory *m, struct err *err)
{
	int rc = 0;

	if (known && is_same_usage(known->last, m->used_bytes)) {
		m->rss_bytes = known->last->rss_bytes;
		m->cache_bytes = known->last->cache_bytes;
		m->limit_bytes = known->last->limit_bytes;
		m->stat_used_bytes = known->last->stat_used_bytes;
	} else {
		m->stat_read = true;
		m->stat_used_bytes = m->used_bytes;
		rc = read_memory_stat(c, m, err);
	}
	if (rc == 0)
		rc = read_peak(c, m, err);
	if (rc < 0)
		return rc;
	return cgroup_on_v2(c, MEM_USED) ? read_v2_memory(c, m, err)
					 : read_v1_memory(c, m, err);
}

static int read_group_memory(struct cgroup_fds *c, bool swap,
			     const struct cgroup_memory_known *known,
			     struct cgroup_memory *ret, struct err *err)
{
	struct cgroup_memory m = {0};
	int rc = cgroup_read_number(c, MEM_USED, &m.used_bytes, err);

	if (rc == 0 && known && known->idle &&
	    known->last->used_bytes == m.used_bytes) {
		m = *known->last;
		m.stat_read = false;
	} else if (rc == 0) {
		rc = read_all_memory(c, known, &m, err);
	}
	if (rc == 0 && swap)
		rc = read_swap(c, &m, err);
	if (rc == 0)
		*ret = m;
	return rc;
}

int cgroup_read_memory(struct cgroup_fds *c, bool swap,
		       const struct cgroup_memory_known *known,
		       struct cgroup_memory *ret, struct err *err)
{
	int rc = read_group_memory(c, swap, known, ret, err);

	if (rc == -ENODEV && cgroup_forget(c, cgroup_tree_of(c, MEM_USED)))
		rc = read_group_memory(c, swap, NULL, ret, err);
	return rc;
}
