/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_SACCT_H
#define CEEMS_AGGREGATOR_SACCT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/records/job.h"

/* What `sacct` prints, as jobs: `sacct --json` of Slurm 22.05 to 24.11, or `sacct -P`
 * with a line of names, separated by '|' or by the unit separator (--delimiter). Total
 * on any bytes. Of steps only the names are taken. */

#define SACCT_TEXT_MAX ((size_t)1 << 30)
#define SACCT_JSON_MAX ((size_t)128 << 20)

#define SACCT_STEPS_MAX 10000u /* of a job; the names of more are left out */

/* Called for each job; its texts are valid until it returns. step_names: those of its
 * numbered steps as a JSON object, {"0":"burn"}; NULL: there are none. A failure ends
 * the reading. */
typedef int (*sacct_job_f)(void *arg, const struct job *j, const char *step_names,
			   struct err *err);

struct sacct_counts {
	uint64_t jobs, refused;
	struct err first; /* why the first was refused; "" */
};

/* cluster is for rows that name none. -EBADMSG: this is not what sacct prints; what f
 * failed with; -ENOMEM. Rows that make no sense are counted and left out. Times without
 * a zone are of this host's. text is changed. */
int sacct_read(char *text, size_t len, const char *cluster, sacct_job_f f, void *arg,
	       struct sacct_counts *ret, struct err *err);

/* ---- shared by the two forms ----------------------------------------------------- */

/* One reading: jobs that Slurm does not number the runs of are numbered as they come.
 */
struct sacct_reader {
	const char *cluster;
	sacct_job_f f;
	void *arg;
	struct sacct_counts *counts;
	uint32_t last_job, last_run;
	uint64_t last_submit_s;
	struct buf steps; /* of the job that comes next */
	uint32_t step_count;
};
/* A step of the job that is given next. Others than numbered ones have no name that
 * their number does not say. */
void sacct_step(struct sacct_reader *r, const char *number, const char *name);
/* Completes and hands on; has_run: j->restarts is Slurm's. */
int sacct_give(struct sacct_reader *r, struct job *j, bool has_run, struct err *err);
void sacct_refuse(struct sacct_reader *r, const char *why);
int sacct_json(struct sacct_reader *r, const char *text, size_t len, struct err *err);
/* "COMPLETED", "CANCELLED by 1000", ... -EINVAL. */
int sacct_state(const char *s, uint32_t *ret_state, uint32_t *ret_by);

#endif
