/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The joules of a step, from the energy page and one CPU counter. Slurm asks rarely
 * (every JobAcctGatherFrequency, sstat, the end of a task): files stay open in between,
 * and a replaced page is reopened. */
#include "acct_gather/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"

#define PROC_CGROUP_MAX 8192 /* bytes of a /proc/PID/cgroup */
#define UJ_PER_J 1000000u

const struct gather_host gather_host_default = {
	.proc = "/proc",
	.cgroup = "/sys/fs/cgroup",
	.boottime_ns = clock_boottime_ns,
};

void gather_init(struct gather *g, const struct gather_options *options,
		 const struct gather_host *host)
{
	*g = (struct gather){
		.host = *host,
		.options = *options,
		.page = ENERGY_PAGE_CLOSED,
		.cgroupfd = -1,
	};
}

void gather_done(struct gather *g)
{
	energy_page_close(&g->page);
	cgroup_fds_free(g->cpu);
	g->cpu = NULL;
	cleanup_close(&g->cgroupfd);
	g->cgroupfd = -1;
}

/* ---- the page -------------------------------------------------------------------- */

static int find_step_row(struct gather *g, struct energy_page_node *ret_node,
			 struct energy_page_row *ret_row)
{
	const struct gather_step *s = &g->step;

	/* not energy_page_open()'s error: -ENOENT means a page without the row */
	if (g->page.fd < 0 && energy_page_open(g->options.page, &g->page, NULL) < 0)
		return -ENODATA;
	int rc = energy_page_find(&g->page, s->job, s->step, s->stepd_pid, ret_node,
				  ret_row);
	/* this file is no good, but another may have replaced it */
	if (rc == -ESTALE || rc == -EBADF)
		energy_page_close(&g->page);
	return rc;
}

/* Reopens a page that was replaced since the last call. */
static int find_anew(struct gather *g, struct energy_page_node *ret_node,
		     struct energy_page_row *ret_row)
{
	int rc = find_step_row(g, ret_node, ret_row);

	return rc == -ESTALE ? find_step_row(g, ret_node, ret_row) : rc;
}

/* ---- the step's own counter ------------------------------------------------------ */

void gather_step_begin(struct gather *g, const struct gather_step *step)
{
	g->step = *step;
	g->started_ns = g->host.boottime_ns();
}

bool gather_step_wants_cgroup(const struct gather *g)
{
	return g->cpu == NULL;
}

static int open_layout(struct gather *g)
{
	if (g->cgroupfd >= 0)
		return 0;
	auto_close int fd = fs_opendir_at(AT_FDCWD, g->host.cgroup, NULL);
	if (fd < 0 || cgroup_probe(fd, &g->layout, NULL) < 0)
		return -ENODATA;
	g->cgroupfd = steal_fd(&fd);
	return 0;
}

static int open_counter(struct gather *g, const struct record *r)
{
	struct cgroup_cpu cpu;

	if (!r->cgroup_count)
		return -ENODATA;
	struct cgroup_fds *c =
		cgroup_fds_new(g->cgroupfd, &g->layout, r->cgroups, r->cgroup_count,
			       g->step.step == ENERGY_PAGE_JOB);
	if (!c)
		return -ENODATA;
	if (cgroup_read_cpu(c, &cpu, NULL) < 0) {
		cgroup_fds_free(c);
		return -ENODATA;
	}
	g->cpu = c;
	return 0;
}

int gather_step_group(struct gather *g, const char *path)
{
	struct record r;

	if (open_layout(g) < 0)
		return -ENODATA;
	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	record_add_cgroup(&r, CGROUP_CPUACCT, path);
	return open_counter(g, &r);
}

int gather_step_cgroup(struct gather *g, pid_t pid)
{
	char path[64], text[PROC_CGROUP_MAX];
	struct record r;

	if (pid > 0)
		snprintf(path, sizeof(path), "%s/%d/cgroup", g->host.proc, (int)pid);
	else
		snprintf(path, sizeof(path), "%s/self/cgroup", g->host.proc);
	ssize_t len = fs_read_at(AT_FDCWD, path, text, sizeof(text), NULL);
	if (len < 0 || open_layout(g) < 0)
		return -ENODATA;
	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	cgroup_record_paths(text, (size_t)len, &r);
	cgroup_record_share_cpuacct(g->cgroupfd, &g->layout, &r);
	return open_counter(g, &r);
}

static void read_step_cpu(struct gather *g)
{
	struct cgroup_cpu cpu;

	if (!g->cpu || cgroup_read_cpu(g->cpu, &cpu, NULL) < 0)
		return;
	uint64_t ns = cpu.user_ns + cpu.system_ns;
	g->has_cpu = true;
	if (ns > g->cpu_ns)
		g->cpu_ns = ns;
}

/* ---- answers --------------------------------------------------------------------- */

int gather_step_now(struct gather *g, uint64_t *ret_uj)
{
	struct energy_page_node node;
	struct energy_page_row row;
	uint64_t uj;

	int rc = find_anew(g, &node, &row);
	if (rc == 0 || rc == -ENOENT) {
		/* after the page: a tick in between is not counted twice */
		read_step_cpu(g);
		struct energy_page_now now = {
			.boottime_ns = g->host.boottime_ns(),
			.started_ns = g->started_ns,
			.cpu_ns = g->cpu_ns,
			.has_cpu = g->has_cpu,
			.alloc_mcpu = g->step.alloc_mcpu,
		};
		bool lives = energy_page_estimate(&node, rc == 0 ? &row : NULL, &now,
						  &uj) == 0;
		if (lives || rc == 0) {
			g->known = true;
			if (uj > g->uj)
				g->uj = uj;
		}
	}
	if (!g->known)
		return -ENODATA;
	*ret_uj = g->uj;
	return 0;
}

int gather_node_now(struct gather *g, struct energy_page_node *ret)
{
	if (find_anew(g, &g->node, NULL) == 0)
		g->known = true;
	if (!g->known)
		return -ENODATA;
	*ret = g->node;
	return 0;
}

uint64_t gather_joules(uint64_t uj)
{
	return uj / UJ_PER_J + (uj % UJ_PER_J >= UJ_PER_J / 2);
}
