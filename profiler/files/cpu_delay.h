/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_CPU_DELAY_H
#define CEEMS_PROFILER_FILES_CPU_DELAY_H

#include <stdint.h>
#include <sys/types.h>

/* How many nanoseconds the first thread of a process has waited for a CPU in its life,
 * without a wait that goes on: /proc/PID/schedstat, as Documentation/scheduler/
 * sched-stats.rst has it. 0 where the kernel does not count it, or shows it to others
 * only. The pid is one of our own namespace. Thread safe. */
uint64_t cpu_delay_ns(pid_t pid);

#endif
