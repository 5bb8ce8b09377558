/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_GPU_CHILD_H
#define CEEMS_DAEMON_SOURCES_GPU_CHILD_H

#include <sys/types.h>

#include "daemon/env.h"
#include "daemon/sources/child_link.h"
#include "lib/err.h"

struct options;

/* Prepares ceems-gpu (gpu/), which is started without privileges; call it before they
 * are dropped. rundirfd: the run directory, or -1; gid: ceemsd's group from then on,
 * -1: it stays. -ENODEV: this machine has no driver for it; -ENOENT: there is no such
 * program. */
int gpu_child_new(const struct options *o, const struct env *env, int rundirfd,
		  gid_t gid, struct child_link **ret, struct err *err);

/* Ends it or has it started, if `ceems_tool gpu release` or resume was called since
 * (lib/records/gpu_hold.h). One access(2). */
void gpu_child_look(struct child_link *l, int rundirfd);

#endif
