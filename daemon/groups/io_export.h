/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_IO_EXPORT_H
#define CEEMS_DAEMON_GROUPS_IO_EXPORT_H

#include <stdbool.h>

#include "daemon/env.h"
#include "lib/prom.h"

/* The samples of what units read and write: one scrape after the other. Needs env's
 * step_groups and unit_io. */
struct io_export;

int io_export_new(const struct env *env, struct io_export **ret); /* -ENOMEM */
void io_export_free(struct io_export *e);                         /* accepts NULL */
int io_export(struct io_export *e, struct prom *out);             /* -ENOMEM */

/* Whether what was read and written below this mount is told with its path
 * (--collector.ebpf.fs-mount-point). What has no path may be of a mount that is. */
bool io_export_wants(const struct options *o, const char *path);

#endif
