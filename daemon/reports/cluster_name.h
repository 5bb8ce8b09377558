/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_REPORTS_CLUSTER_NAME_H
#define CEEMS_DAEMON_REPORTS_CLUSTER_NAME_H

#include <stddef.h>

#define CLUSTER_NAME_MAX 64

/* ClusterName of the slurm.conf at path, in lower case as Slurm uses it. -ENOENT: no
 * such file, no name in it, or too long; other errno: cannot be read. */
int cluster_name_of(const char *path, char *ret, size_t size);

/* The name that reports carry: configured, else ClusterName of SLURM_CONF or of
 * slurm.conf where it usually is, else "default". */
void cluster_name(const char *configured, char *ret, size_t size);

#endif
