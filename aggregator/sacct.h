/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_SACCT_H
#define CEEMS_AGGREGATOR_SACCT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/records/job.h"

/* Parses the output of `sacct` to jobs: `sacct --json` of Slurm 22.05 to 24.11, or
 * `sacct -P` with a line of names, separated by '|' or by the unit separator
 * (--delimiter). Accepts any bytes. Only the names of steps are used. A command line
 * may hold secrets: it is taken only where a column SubmitLine was asked for by name,
 * not from JSON, which always has it. */

#define SACCT_TEXT_MAX ((size_t)1 << 30)
#define SACCT_JSON_MAX ((size_t)128 << 20)

#define SACCT_STEPS_MAX 10000u /* per job; names of further ones are left out */

/* Called for each job; its texts are valid until it returns. step_names: those of its
 * numbered steps as a JSON object, {"0":"burn"}; NULL: none. A failure stops the
 * parsing. */
typedef int (*sacct_job_f)(void *arg, const struct job *j, const char *step_names,
			   struct err *err);

#define SACCT_SEPARATOR_SIZE 32 /* of columns */

struct sacct_counts {
	uint64_t jobs, refused;
	struct err first; /* why the first row was refused; "" */
};

/* separator: between columns of text; "": '|' or the unit separator. Texts of users may
 * have newlines, and one who knows the separator can write rows. cluster: for rows
 * without one. -EBADMSG: not sacct's output; f's error; -ENOMEM.
 * Invalid rows are counted and skipped. Times without a zone are in this host's.
 * Modifies text. */
int sacct_read(char *text, size_t len, const char *separator, const char *cluster,
	       sacct_job_f f, void *arg, struct sacct_counts *ret, struct err *err);

/* ---- shared by the two forms ----------------------------------------------------- */

/* One parsing run: if Slurm does not number a job's runs, they are numbered in
 * order. */
struct sacct_reader {
	const char *cluster, *separator;
	sacct_job_f f;
	void *arg;
	struct sacct_counts *counts;
	uint32_t last_job, last_run;
	uint64_t last_submit_s;
	struct buf steps; /* of the next job */
	uint32_t step_count;
};
/* A step of the next job. Only numbered steps have names that their number does not
 * tell. */
void sacct_step(struct sacct_reader *r, const char *number, const char *name);
/* Completes a job and passes it on; has_run: j->restarts is Slurm's. */
int sacct_give(struct sacct_reader *r, struct job *j, bool has_run, struct err *err);
void sacct_refuse(struct sacct_reader *r, const char *why);
int sacct_json(struct sacct_reader *r, const char *text, size_t len, struct err *err);
/* "COMPLETED", "CANCELLED by 1000", ... -EINVAL. */
int sacct_state(const char *s, uint32_t *ret_state, uint32_t *ret_by);
/* "CODE:SIGNAL" as wait(2) gives it; JOB_NO_VAL: something else. */
uint32_t sacct_exit(const char *s);

#endif
