/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_CLUSTER_FIND_H
#define CEEMS_AGGREGATOR_CLUSTER_FIND_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* Finds the server programs of Postgres: pg_config --bindir, then the distributions'
 * folders, newest first. major 0: any version; else that one only. Returns the major
 * version and puts the folder into ret. -ENOENT: none; ret_other is the newest that
 * exists (0: none). */
int cluster_find(unsigned major, char *ret, size_t size, unsigned *ret_other,
		 struct err *err);

/* Our own processes whose working directory is this folder, as with a Postgres server
 * and its children. Returns how many, at most max. */
size_t cluster_processes(const char *dir, pid_t *ret, size_t max);

#endif
