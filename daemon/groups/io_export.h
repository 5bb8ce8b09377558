/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_IO_EXPORT_H
#define CEEMS_DAEMON_GROUPS_IO_EXPORT_H

#include "daemon/env.h"
#include "lib/prom.h"

/* The samples of what units read and write: one scrape after the other. Needs env's
 * step_groups and unit_io. */
struct io_export;

int io_export_new(const struct env *env, struct io_export **ret); /* -ENOMEM */
void io_export_free(struct io_export *e);                         /* accepts NULL */
int io_export(struct io_export *e, struct prom *out);             /* -ENOMEM */

#endif
