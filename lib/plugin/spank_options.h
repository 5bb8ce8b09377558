/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PLUGIN_SPANK_OPTIONS_H
#define CEEMS_LIB_PLUGIN_SPANK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/record.h"

/* What users may ask for and what the site lets them: the texts of --ceems-* and of
 * plugstack.conf, both from outside, checked before the job starts and again in
 * slurmstepd. No Slurm in here. */

/* odd, so that samples do not fall in step with timers of the profiled program */
#define PROFILE_HZ_DEFAULT 19
#define PROFILE_HZ_MAX 1000
#define OPTION_TEXT_MAX 128 /* longer option values are refused */
#define RING_PATH_MAX 256
#define PERF_ALL (RECORD_PERF_HW | RECORD_PERF_SW | RECORD_PERF_CACHE)

enum option { OPTION_PERF = 1, OPTION_PROFILE, OPTION_REPORT };

struct request {
	uint32_t perf;       /* RECORD_PERF_*, RECORD_GPU_PAUSE */
	uint32_t profile_hz; /* 0: not asked for */
	uint32_t profile;    /* RECORD_OFF_CPU, with profile_hz */
	uint32_t report;     /* RECORD_REPORT_* */
	bool no_report;      /* none, even where the site prints one unasked */
};

struct policy {
	bool perf, profile, report; /* allowed */
	bool perf_always;           /* on for every step, asked for or not */
	bool report_always;         /* likewise; _batch: of batch scripts alone */
	bool report_batch;
	uint32_t profile_max_hz;
	char ring[RING_PATH_MAX];
	char energy[RING_PATH_MAX]; /* of the energy page; "": beside the ring */
	uint32_t env_count;
	char env[RECORD_ENV_MAX][RECORD_ENV_NAME_MAX];
};

/* Allows everything, the default ring, no environment names. */
void policy_init(struct policy *p);

/* One argument of plugstack.conf. -EINVAL with a text for an unknown or malformed one;
 * p is unchanged then, except that env= keeps the good names before a bad one. */
int policy_apply(struct policy *p, const char *arg, struct err *err);

/* The value of an option into r. NULL, "" and "(null)" (what Slurm makes of no value on
 * some ways) mean the default. -EINVAL with a text for the user. */
int request_parse(struct request *r, enum option option, const char *value,
		  struct err *err);

/* Takes out of r what p does not allow. 1 and a text when something was taken out or
 * lowered, else 0. */
int request_limit(struct request *r, enum option option, const struct policy *p,
		  struct err *err);

#endif
