/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test/fake/slurm_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct fake_slurm fake;
static int handle; /* only its address matters */

spank_t fake_spank(void)
{
	return (spank_t)&handle;
}

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.context = S_CTX_REMOTE;
	fake.job = 41;
	fake.array_job = 41; /* what 22.05 says of a job that is no array */
	fake.array_task = 0xfffffffe;
	fake.tasks = 1;
	fake.nodes = 1;
	fake.uid = 1000;
	fake.gid = 100;
	fake.ncpus = 4;
	fake.job_cores = "0-3";
	fake.step_cores = "0-1";
	fake.job_mem_mb = 2048;
}

spank_context_t spank_context(void)
{
	return fake.context;
}

int spank_remote(spank_t sp)
{
	return sp == fake_spank() ? fake.context == S_CTX_REMOTE : -1;
}

/* The prolog's and epilog's handle knows the job's ids only. */
static bool item_allowed(spank_item_t item)
{
	if (fake.context == S_CTX_JOB_SCRIPT)
		return item == S_JOB_ID || item == S_JOB_UID || item == S_JOB_GID;
	return fake.context == S_CTX_REMOTE;
}

static spank_err_t get_task_item(spank_item_t item, va_list ap)
{
	if (!fake.task_pid)
		return ESPANK_NOT_TASK;
	if (item == S_TASK_PID) {
		*va_arg(ap, pid_t *) = fake.task_pid;
		return ESPANK_SUCCESS;
	}
	if (!fake.task_exited)
		return ESPANK_NOT_EXECD;
	*va_arg(ap, int *) = fake.exit_status;
	return ESPANK_SUCCESS;
}

static int count(const char *const *list)
{
	int n = 0;
	while (list && list[n])
		n++;
	return n;
}

static spank_err_t get_job_item(spank_item_t item, va_list ap)
{
	switch (item) {
	case S_JOB_UID:
		*va_arg(ap, uid_t *) = fake.uid;
		break;
	case S_JOB_GID:
		*va_arg(ap, gid_t *) = fake.gid;
		break;
	case S_JOB_ID:
		*va_arg(ap, uint32_t *) = fake.job;
		break;
	case S_JOB_STEPID:
		*va_arg(ap, uint32_t *) = fake.step;
		break;
	case S_JOB_NNODES:
		*va_arg(ap, uint32_t *) = fake.nodes;
		break;
	case S_JOB_NODEID:
		*va_arg(ap, uint32_t *) = fake.node;
		break;
	case S_STEP_ALLOC_MEM:
		*va_arg(ap, uint64_t *) = fake.step_mem_mb;
		break;
	case S_JOB_LOCAL_TASK_COUNT:
		*va_arg(ap, uint32_t *) = fake.tasks;
		break;
	case S_JOB_NCPUS:
		*va_arg(ap, uint16_t *) = fake.ncpus;
		break;
	case S_JOB_ALLOC_CORES:
		*va_arg(ap, const char **) = fake.job_cores;
		break;
	case S_STEP_ALLOC_CORES:
		*va_arg(ap, const char **) = fake.step_cores;
		break;
	case S_JOB_ALLOC_MEM:
		*va_arg(ap, uint64_t *) = fake.job_mem_mb;
		break;
	case S_SLURM_RESTART_COUNT:
		*va_arg(ap, uint32_t *) = fake.restarts;
		break;
	case S_JOB_ARRAY_ID:
		*va_arg(ap, uint32_t *) = fake.array_job;
		break;
	case S_JOB_ARRAY_TASK_ID:
		*va_arg(ap, uint32_t *) = fake.array_task;
		break;
	case S_JOB_ENV:
		*va_arg(ap, const char *const **) = fake.env;
		break;
	case S_JOB_ARGV:
		*va_arg(ap, int *) = count(fake.argv);
		*va_arg(ap, const char *const **) = fake.argv;
		break;
	default:
		return ESPANK_BAD_ARG;
	}
	return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	va_list ap;
	spank_err_t rc;
	if (sp != fake_spank() || fake.items_fail || !item_allowed(item))
		return ESPANK_BAD_ARG;
	va_start(ap, item);
	if (item == S_TASK_PID || item == S_TASK_EXIT_STATUS)
		rc = get_task_item(item, ap);
	else
		rc = get_job_item(item, ap);
	va_end(ap);
	return rc;
}

spank_err_t spank_option_register(spank_t sp, struct spank_option *opt)
{
	if (sp != fake_spank() || fake.option_count == FAKE_OPTIONS_MAX)
		return ESPANK_BAD_ARG;
	fake.options[fake.option_count++] = opt;
	return ESPANK_SUCCESS;
}

int fake_option(const char *name, const char *value, int remote)
{
	for (uint32_t i = 0; i < fake.option_count; i++)
		if (strcmp(fake.options[i]->name, name) == 0)
			return fake.options[i]->cb(fake.options[i]->val, value, remote);
	return -1000;
}

static void keep_line(enum fake_level level, const char *format, va_list ap)
{
	uint32_t i = fake.log_count++;
	if (i >= FAKE_LOG_MAX)
		return;
	fake.log[i].level = level;
	vsnprintf(fake.log[i].text, sizeof(fake.log[i].text), format, ap);
}

#define FAKE_LOGGER(name, level)                                                       \
	void name(const char *format, ...)                                             \
	{                                                                              \
		va_list ap;                                                            \
		va_start(ap, format);                                                  \
		keep_line(level, format, ap);                                          \
		va_end(ap);                                                            \
	}
FAKE_LOGGER(slurm_error, FAKE_ERROR)
FAKE_LOGGER(slurm_info, FAKE_INFO)
FAKE_LOGGER(slurm_verbose, FAKE_VERBOSE)
FAKE_LOGGER(slurm_debug, FAKE_DEBUG)
FAKE_LOGGER(slurm_debug2, FAKE_DEBUG2)

uint32_t fake_logged(enum fake_level level)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < fake.log_count && i < FAKE_LOG_MAX; i++)
		n += fake.log[i].level <= level;
	return n;
}

const char *fake_log_line(const char *text)
{
	for (uint32_t i = 0; i < fake.log_count && i < FAKE_LOG_MAX; i++)
		if (strstr(fake.log[i].text, text))
			return fake.log[i].text;
	return NULL;
}
