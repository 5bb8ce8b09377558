/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_FAKE_SLURM_HOST_H
#define CEEMS_TEST_FAKE_SLURM_HOST_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A Slurm that a SPANK plugin can be linked to: answers as the 22.05 and 24.11 sources
 * and runs of them do (src/common/plugstack.c), including their refusals. */

#define FAKE_LOG_MAX 64
#define FAKE_OPTIONS_MAX 8

enum fake_level { FAKE_ERROR, FAKE_INFO, FAKE_VERBOSE, FAKE_DEBUG, FAKE_DEBUG2 };

struct fake_slurm {
	enum spank_context context;
	uint32_t job, step, array_job, array_task, restarts, tasks;
	uint32_t nodes, node; /* of the step; which one this is, from 0 */
	uid_t uid;
	gid_t gid;
	uint16_t ncpus;
	const char *job_cores, *step_cores;
	uint64_t job_mem_mb, step_mem_mb; /* 0: not said */
	const char *const *env;           /* the job's, NULL-terminated "NAME=value" */
	const char *const *argv;          /* NULL-terminated; NULL: none */
	/* the task of the hook that runs; pid 0: no task (ESPANK_NOT_TASK) */
	pid_t task_pid;
	bool task_exited;
	int exit_status;
	bool items_fail; /* every spank_get_item fails */

	uint32_t option_count;
	struct spank_option *options[FAKE_OPTIONS_MAX];
	uint32_t log_count; /* may exceed FAKE_LOG_MAX; the first ones are kept */
	struct {
		enum fake_level level;
		char text[512];
	} log[FAKE_LOG_MAX];
};

extern struct fake_slurm fake;

/* The handle that hooks get. */
spank_t fake_spank(void);
/* A slurmstepd with one task of job 41 step 0. */
void fake_reset(void);
/* Gives an option as Slurm does; returns what the plugin's callback returned, -1000
 * when no such option is registered. */
int fake_option(const char *name, const char *value, int remote);
/* Lines logged at level or more important. */
uint32_t fake_logged(enum fake_level level);
/* The first line that holds text, or NULL. */
const char *fake_log_line(const char *text);

#endif
