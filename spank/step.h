/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_SPANK_STEP_H
#define CEEMS_SPANK_STEP_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "lib/cgroup.h"
#include "lib/plugin/spank_options.h"
#include "lib/records/record.h"

/* The work of slurmstepd's hooks for one step: facts, start, counters, stop. */

/* File system roots and the like. Tests replace them; nothing else changes them. */
struct step_host {
	const char *proc;
	const char *cgroup;
	uid_t ring_owner;
	void (*nap)(void); /* a millisecond, or longer */
	uint64_t (*boottime_ns)(void);
};
extern struct step_host step_host;

/* Lives in memory from slurm_spank_init to slurm_spank_exit and holds no descriptor and
 * no mapping: with contain_spank (24.11) some hooks run in a clone(CLONE_VM) child that
 * shares this memory but has its own table of descriptors. */
struct step {
	const struct policy *policy; /* borrowed */
	const struct request *asked; /* borrowed; checked and limited */
	pid_t stepd_pid;
	bool begun; /* task_post_fork has been called */
	bool is_extern;
	bool last_sent;   /* the exit hook has sent the last stop */
	bool ring_failed; /* logged once at verbose, then at debug */
	enum { LAYOUT_UNKNOWN, LAYOUT_GUESSED, LAYOUT_SEEN } layout_known;
	uint64_t begun_ns;    /* CLOCK_BOOTTIME of task_post_fork */
	uint32_t ended;       /* tasks whose task_exit has come */
	uint32_t exit_status; /* highest wait status, as in Slurm */
	struct cgroup_layout layout;
	struct rusage
		children_before; /* children slurmstepd had reaped before the tasks */
	struct record_counters best;
	struct record record;
};

void step_init(struct step *s, const struct policy *policy,
	       const struct request *asked);

/* task_post_fork: the first one gathers the facts and publishes STEP_START (for the
 * extern step UNIT_START before it). */
void step_task_forked(struct step *s, spank_t sp);

/* task_exit: reads the counters while the cgroup exists; the last one publishes
 * STEP_STOP and writes the report for --ceems-report. */
void step_task_ended(struct step *s, spank_t sp);

/* exit: reads what is still there (v2) and publishes the last STEP_STOP, followed by
 * UNIT_STOP for the extern step. Does nothing if the launch failed before a fork. */
void step_exit(struct step *s);

/* The better source wins; with equal ones each counter's maximum. Pure. */
void step_keep_largest(struct record_counters *best, const struct record_counters *now);

/* Publishes r on policy's ring. Failures are logged by slurmd at debug level (the first
 * at verbose), and are never errors: accounting must not end a job. */
void step_publish(struct record *r, enum record_type type, const struct policy *policy,
		  bool *failed_before);

#endif
