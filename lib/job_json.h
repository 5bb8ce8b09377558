/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_JOB_JSON_H
#define CEEMS_LIB_JOB_JSON_H

#include "lib/buf.h"
#include "lib/job.h"

/* A completion record as one JSON object without a newline: member names are those of
 * struct job, what is not known is left out. state is Slurm's number, state_name
 * sacct's word, part_s what tells the parts of a job apart. Errors are the buffer's. */
void job_put_json(const struct job *j, struct buf *out);

#endif
