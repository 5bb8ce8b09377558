/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_WEB_SELF_H
#define CEEMS_DAEMON_WEB_SELF_H

#include "daemon/env.h"
#include "lib/prom.h"

/* Metrics of the daemon itself: its build and its resource use. The names are those of
 * the Prometheus client libraries, which dashboards know. */

struct self;

/* Reads its own start time. 0 or -ENOMEM. */
int self_new(const struct env *env, struct self **ret);
void self_free(struct self *s); /* accepts NULL */

/* process_*: from /proc/self/{stat,statm,fd} below env->procfd (Documentation/
 * filesystems/proc.rst) and getrlimit(2). Values that cannot be read are left out. */
void self_put_process(struct self *s, struct prom *out);

/* ceems_exporter_build_info. The labels are the peer's; those that make no sense for a
 * C program are empty, which Prometheus stores as absent. */
void self_put_build_info(struct prom *out);

/* ceems_exporter_sandbox_active */
void self_put_sandbox(const struct env *env, struct prom *out);

#endif
