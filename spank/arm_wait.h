/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_SPANK_ARM_WAIT_H
#define CEEMS_SPANK_ARM_WAIT_H

#include "spank/step.h"

/* The one exception to "a plugin never waits": a step that asked for the CPUs' events
 * or a profile begins when ceemsd has armed them, and ceems-profiler samples it. */
#define ARM_WAIT_MS 100

/* After STEP_START. Waits at most ARM_WAIT_MS, and not at all if the step asks for
 * neither, all is ready, this node has none, or there is no ring. */
void arm_wait(const struct step *s);

#endif
