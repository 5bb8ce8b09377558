/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_CLUSTER_FIND_H
#define CEEMS_AGGREGATOR_CLUSTER_FIND_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* Where this machine has the server programs of Postgres: pg_config --bindir, then the
 * folders of the distributions, newest first.
 *
 * major 0: any version; else that one alone. Fills ret with the folder and gives its
 * major version. -ENOENT: none; ret_other is the newest that there is (0: none). */
int cluster_find(unsigned major, char *ret, size_t size, unsigned *ret_other,
		 struct err *err);

/* Our own processes that work in a folder: the server of a data folder and its children
 * do. How many, at most max. */
size_t cluster_processes(const char *dir, pid_t *ret, size_t max);

#endif
