/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prep_ceems.so: before Slurm 25.05 no jobcomp plugin is told that a job starts. A PrEp
 * plugin that asks to run before slurmctld launches a job is, with the same record of
 * slurmctld. This one hands it to jobcomp_ceems.so in the same process, which writes
 * it, and returns at once. It does nothing in slurmd, nor in a release where jobcomp is
 * told.
 *
 * Built against the private headers of one exact Slurm release, as its loader wants. */
#include "jobcomp/slurm_headers.h"

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 11, 0)
#include <src/interfaces/prep.h>
#else
#include <src/common/prep.h>
#endif

#include <dlfcn.h>

#pragma GCC visibility push(default)
const char plugin_name[] = "CEEMS job start plugin";
const char plugin_type[] = "prep/ceems";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

extern int init(void);
extern int fini(void);
extern int prep_p_register_callbacks(prep_callbacks_t *callbacks);
extern int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred);
extern int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred);
extern int prep_p_prolog_slurmctld(job_record_t *job, bool *ret_async);
extern int prep_p_epilog_slurmctld(job_record_t *job, bool *ret_async);
extern void prep_p_required(prep_call_type_t type, bool *ret_required);
#pragma GCC visibility pop

/* Slurm gives plugins no place for state; calls are made under its job write lock */
static struct {
	job_started_f *record_start;
	bool complained;
} prep;

extern int init(void)
{
	return SLURM_SUCCESS;
}

extern int fini(void)
{
	return SLURM_SUCCESS;
}

extern int prep_p_register_callbacks(prep_callbacks_t *callbacks)
{
	(void)callbacks;
	return SLURM_SUCCESS;
}

extern int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred)
{
	(void)job_env;
	(void)cred;
	return SLURM_SUCCESS;
}

extern int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred)
{
	(void)job_env;
	(void)cred;
	return SLURM_SUCCESS;
}

/* jobcomp_ceems.so is loaded if JobCompType says so, and then never unmapped. */
static job_started_f *find_recorder(void)
{
	void *jobcomp = dlopen(JOBCOMP_SONAME, RTLD_LAZY | RTLD_NOLOAD);
	job_started_f *f = NULL;

	if (!jobcomp)
		return NULL;
	/* as POSIX has it: an object pointer is no function pointer in ISO C */
	*(void **)&f = dlsym(jobcomp, JOB_STARTED_SYMBOL);
	dlclose(jobcomp);
	return f;
}

extern int prep_p_prolog_slurmctld(job_record_t *job, bool *ret_async)
{
	*ret_async = false;
	if (HAVE_RECORD_START)
		return SLURM_SUCCESS;
	if (!prep.record_start)
		prep.record_start = find_recorder();
	if (prep.record_start) {
		prep.record_start(job);
	} else if (!prep.complained) {
		prep.complained = true;
		error("ceems: prep/ceems needs JobCompType=jobcomp/ceems: starts of "
		      "jobs are not recorded");
	}
	return SLURM_SUCCESS;
}

extern int prep_p_epilog_slurmctld(job_record_t *job, bool *ret_async)
{
	(void)job;
	*ret_async = false;
	return SLURM_SUCCESS;
}

/* What nobody requires, slurmctld does not call. */
extern void prep_p_required(prep_call_type_t type, bool *ret_required)
{
	*ret_required = !HAVE_RECORD_START && type == PREP_PROLOG_SLURMCTLD &&
			running_in_slurmctld();
}
