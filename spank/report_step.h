/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_SPANK_REPORT_STEP_H
#define CEEMS_SPANK_REPORT_STEP_H

#include <slurm/spank.h>

#include "spank/step.h"

/* --ceems-report: in the task_exit hook of the step's last task on this node, after its
 * counters have been read. There slurmstepd's own stderr is still the step's (22.05 and
 * 24.11, pipe, --pty and batch file alike); in the exit hook it is /dev/null again.
 * Does nothing if no report was requested, or on other nodes than the step's first.
 * Never blocks: output that cannot be written at once is dropped. */
void report_step(const struct step *s, spank_t sp);

#endif
