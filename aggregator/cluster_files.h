/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_CLUSTER_FILES_H
#define CEEMS_AGGREGATOR_CLUSTER_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* The files of a private cluster (listed in cluster.h). */

struct cluster_paths {
	char data[PATH_MAX - 64]; /* absolute */
	char pgdata[PATH_MAX - 32], socket[PATH_MAX - 32];
};

/* -ENAMETOOLONG: the socket's path is too long for the kernel. */
int cluster_paths_of(const char *data_path, struct cluster_paths *ret, struct err *err);
/* The path of a file in the folder, in ret (PATH_MAX bytes), which is returned. */
char *cluster_path(const struct cluster_paths *at, const char *name, char *ret);
void cluster_make_url(const struct cluster_paths *at, const char *database, char *ret,
		      size_t size);

/* The major version of the existing database, 0: none yet. -EEXIST: pgdata contains
 * something else, or is damaged. */
int cluster_version(const struct cluster_paths *at, unsigned *ret, struct err *err);

/* Once, after initdb: includes the settings files. */
int cluster_include_settings(const char *pgdata, struct err *err);
/* Before each start: settings, access rules, the socket's folder. */
int cluster_write_settings(const struct cluster_paths *at, unsigned connections,
			   struct err *err);

/* The pid in postmaster.pid, 0: none; ret_ready (may be NULL): it accepts
 * connections. */
pid_t cluster_postmaster(const struct cluster_paths *at, bool *ret_ready);
/* Removes its pid file and the socket's, if no such process is left. */
void cluster_forget_postmaster(const struct cluster_paths *at);

/* Opens the log for appending; renames a long one to log.old first. */
int cluster_open_log(const struct cluster_paths *at, struct err *err);
/* While it is being written: empties it if it has grown far too large. */
void cluster_bound_log(const struct cluster_paths *at);
/* The last FATAL, PANIC or ERROR line of the log, else "". */
void cluster_last_words(const struct cluster_paths *at, char *ret, size_t size);

/* Removes a folder with its contents; not an error if it does not exist. */
int cluster_remove(const char *path, struct err *err);

#endif
