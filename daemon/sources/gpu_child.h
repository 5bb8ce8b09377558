/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_GPU_CHILD_H
#define CEEMS_DAEMON_SOURCES_GPU_CHILD_H

#include "daemon/sources/child_link.h"
#include "lib/err.h"

struct options;

/* Prepares ceems-gpu (gpu/), which is started without privileges. -ENODEV: this machine
 * has no driver for it (procfd, sysfd: the directories); -ENOENT: there is no such
 * program. */
int gpu_child_new(const struct options *o, int procfd, int sysfd,
		  struct child_link **ret, struct err *err);

#endif
