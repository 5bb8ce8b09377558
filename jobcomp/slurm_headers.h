/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_JOBCOMP_SLURM_HEADERS_H
#define CEEMS_JOBCOMP_SLURM_HEADERS_H

/* Slurm's private headers for the plugin's glue, and what differs between releases.
 * Empty without a source tree, so that it compiles alone like every header. */
#if __has_include(<src/common/slurm_xlator.h>)
#include <src/common/slurm_xlator.h>

#include <src/common/assoc_mgr.h>
#include <src/common/plugin.h>
#include <src/common/read_config.h>
#include <src/common/run_in_daemon.h>
#include <src/slurmctld/slurmctld.h>

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 11, 0)
#include <src/interfaces/jobcomp.h>
#define LOCATION_PARAMETER void
#define LOCATION_ARGUMENT
#else
#include <src/common/slurm_jobcomp.h>
#define LOCATION_PARAMETER char *location
#define LOCATION_ARGUMENT location
#endif

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
#include <src/common/job_state_reason.h>
#define REASON_TEXT(r) job_state_reason_string(r)
#else
#define REASON_TEXT(r) job_reason_string(r)
#endif

#define SAME_TYPE(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))

/* Since 25.05 the plugin is also called when a job starts, and told which it is. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
#define HAVE_RECORD_START 1
#define jobcomp_g_write jobcomp_g_record_job_end
typedef int record_f(job_record_t *job, uint32_t event);
typedef int caller_f(job_record_t *job);
_Static_assert(SAME_TYPE(caller_f, jobcomp_g_record_job_start), "jobcomp.h");
#else
#define HAVE_RECORD_START 0
typedef int record_f(job_record_t *job);
typedef record_f caller_f;
#endif

/* Since 25.11 a job keeps its SLUID when it is resized, and db_index belongs to its
 * current part. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
#define JOB_SLUID(j) ((j)->step_id.sluid)
#else
#define JOB_SLUID(j) ((j)->db_index)
#endif

/* What jobs have since 23.02, and since 24.11. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#define JOB_EXTRA(j) ((j)->extra)
#define JOB_FAILED_NODE(j) ((j)->failed_node)
#else
#define JOB_EXTRA(j) ((void)(j), NULL)
#define JOB_FAILED_NODE(j) ((void)(j), NULL)
#endif
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
#define JOB_QOS_REQUESTED(j) ((j)->details->qos_req)
#else
#define JOB_QOS_REQUESTED(j) ((void)(j), NULL)
#endif

/* Functions called by Slurm, with their types there. */
typedef int set_location_f(LOCATION_PARAMETER);
typedef struct xlist *get_jobs_f(slurmdb_job_cond_t *cond);
_Static_assert(SAME_TYPE(set_location_f, jobcomp_g_set_location), "jobcomp.h");
_Static_assert(SAME_TYPE(caller_f, jobcomp_g_write), "jobcomp.h");
_Static_assert(SAME_TYPE(get_jobs_f, jobcomp_g_get_jobs), "jobcomp.h");

/* What prep_ceems.so calls in jobcomp_ceems.so, under slurmctld's job write lock, and
 * the names by which it finds both. */
typedef void job_started_f(job_record_t *job);
#define JOBCOMP_SONAME "jobcomp_ceems.so"
#define JOB_STARTED_SYMBOL "ceems_job_started"
#endif

#endif
