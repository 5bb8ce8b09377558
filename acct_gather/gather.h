/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_ACCT_GATHER_GATHER_H
#define CEEMS_ACCT_GATHER_GATHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/cgroup.h"
#include "lib/plugin/gather_options.h"
#include "lib/records/energy_page.h"

/*
 * The energy plugin without Slurm: a process's view of the energy page, for the node
 * (in slurmd) or for a step (in slurmstepd). Calls of one object are serialised by the
 * caller.
 */

struct gather_host {
	const char *proc, *cgroup; /* "/proc", "/sys/fs/cgroup" */
	uint64_t (*boottime_ns)(void);
};
extern const struct gather_host gather_host_default;

struct gather_step {
	uint32_t job, step; /* step: ENERGY_PAGE_JOB: all of the job on this node */
	uint32_t stepd_pid;
	uint32_t alloc_mcpu; /* allocated thousandths of a CPU, until the page has it */
};

struct gather {
	struct gather_host host;
	struct gather_options options;
	struct energy_page page;
	bool known; /* a tick of a running daemon has been read */

	/* the node */
	struct energy_page_node node; /* at the last tick that was read */

	/* the step */
	struct gather_step step;
	uint64_t started_ns;
	uint64_t uj; /* the largest so far */
	int cgroupfd;
	struct cgroup_layout layout;
	struct cgroup_fds *cpu; /* NULL: not found yet */
	uint64_t cpu_ns;
	bool has_cpu;
};

void gather_init(struct gather *g, const struct gather_options *options,
		 const struct gather_host *host);
void gather_done(struct gather *g); /* idempotent */

/* Makes it that step. */
void gather_step_begin(struct gather *g, const struct gather_step *step);
/* Whether the step's own counter is still missing; then call gather_step_cgroup() with
 * one of its tasks, or with 0 for slurmstepd itself (the extern step). */
bool gather_step_wants_cgroup(const struct gather *g);
/* 0, or -ENODATA: not there (yet). */
int gather_step_cgroup(struct gather *g, pid_t pid);
/* The same with the step's own path in cpuacct of v1, if the caller knows it. */
int gather_step_group(struct gather *g, const char *path);

/* The step's energy now in microjoules, never less than before. Without a page, or if
 * its daemon has stopped, the last value. -ENODATA: there never was one. */
int gather_step_now(struct gather *g, uint64_t *ret_uj);

/* The node at the daemon's last tick. -ENODATA: there never was one. */
int gather_node_now(struct gather *g, struct energy_page_node *ret);

/* Microjoules as whole joules, rounded. */
uint64_t gather_joules(uint64_t uj);

#endif
