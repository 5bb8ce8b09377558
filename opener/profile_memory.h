/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_PROFILE_MEMORY_H
#define CEEMS_OPENER_PROFILE_MEMORY_H

#include <stdint.h>

#include "lib/err.h"

/* A copy of what a process (/proc/PID) has mapped from start to end of a file that does
 * not open, for reading alone and for itself: the descriptor of a file in memory, at
 * its beginning. -EPERM: it may be written to, is shared, or is of no file; -EEXIST:
 * the file opens; -EFBIG: over PROFILE_MEMORY_MAX; -ENOENT: there is no such mapping;
 * -ESRCH: the process runs another program by now. The kernel may let it wait for as
 * long as a file server does not answer. */
int profile_memory_copy(int process, uint64_t start, uint64_t end, struct err *err);

#endif
