/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GPUS_GPU_PAUSE_H
#define CEEMS_DAEMON_GPUS_GPU_PAUSE_H

#include <sys/types.h>

#include "daemon/units.h"
#include "lib/err.h"
#include "lib/prom.h"

/*
 * While a job that asked for it (--ceems-perf=nogpu) holds GPUs, NVIDIA's DCGM must not
 * read their performance counters, which before Hopper only one may use: `dcgmi profile
 * --pause` before, `--resume` after it (DCGM User Guide, "Profiling Metrics"). The
 * program is the site's (--gpu.dcgmi), run as ceemsd's own user, who needs no
 * privilege for it, and never gets a word from a job. A file in the run directory tells
 * the next ceemsd what this one has paused.
 */
struct gpu_pause;

/* dcgmi: its absolute path. rundirfd: where the file is made, for this user and group
 * (-1: as now), so before privileges are dropped. -EINVAL: not absolute; -errno */
int gpu_pause_new(const char *dcgmi, int rundirfd, uid_t uid, gid_t gid,
		  struct gpu_pause **ret, struct err *err);
/* The thread that runs the program, which may take its time. */
int gpu_pause_start(struct gpu_pause *p, struct err *err);
/* Looks who wants it now. Serialised by the caller, as the table is. Never waits. */
void gpu_pause_look(struct gpu_pause *p, const struct units *u);
/* Resumes what is paused. Waits for a program that runs, as long as that may. NULL-safe
 */
void gpu_pause_free(struct gpu_pause *p);

/* Who wants it, and what was done. p: NULL-safe */
void gpu_pause_export(struct gpu_pause *p, const char *hostname, struct prom *out);

#endif
