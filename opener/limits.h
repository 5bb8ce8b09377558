/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_LIMITS_H
#define CEEMS_OPENER_LIMITS_H

#include <stdbool.h>

#include "lib/err.h"

/* What ceems-opener gives up before it opens anything: all capabilities but CAP_BPF and
 * CAP_PERFMON (also but CAP_SYS_ADMIN if perf events are asked for and this kernel
 * takes it for these), and all system calls but those that it and libbpf make. It can
 * neither start a program nor connect to anybody nor open a file for writing from then
 * on. -ENOSYS: this kernel filters no system calls, all else is given up; other errors:
 * not all is. */
int limits_apply(bool perf, int procfd, struct err *err);
/* The same for one that serves a ceems-profiler (profile.h): with CAP_SYS_PTRACE,
 * CAP_CHECKPOINT_RESTORE (before Linux 5.9 CAP_SYS_ADMIN) and CAP_DAC_READ_SEARCH, for
 * users' /proc/PID/maps and map_files, and with what starting the processes takes that
 * open these. */
int limits_apply_serving(int procfd, struct err *err);
/* The same for one that only reads what DRM drivers tell of users' processes: of the
 * capabilities CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH alone, and neither bpf() nor
 * perf_event_open(). */
int limits_apply_reading(struct err *err);
/* In a process that one of these starts: of those three capabilities what it has. */
int limits_keep_for_files(struct err *err);

/* Whether this kernel opens perf events of a CPU for CAP_SYS_ADMIN alone
 * (kernel.perf_event_paranoid above 2). */
bool limits_perf_takes_admin(int procfd);

#endif
