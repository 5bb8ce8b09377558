/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_JOB_JSON_H
#define CEEMS_LIB_RECORDS_JOB_JSON_H

#include "lib/buf.h"
#include "lib/records/job.h"

/* Appends a completion record as members of a JSON object, each with a comma before it.
 * Names are those of struct job; unknown values are left out. state is sacct's name,
 * state_number Slurm's number, part_s is job_part_s(). Errors are the buffer's. */
void job_put_json(const struct job *j, struct buf *out);

#endif
