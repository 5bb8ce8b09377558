/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_CLUSTER_FILES_H
#define CEEMS_AGGREGATOR_CLUSTER_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* The files of a private cluster (cluster.h has the list). */

struct cluster_paths {
	char data[PATH_MAX - 64]; /* absolute */
	char pgdata[PATH_MAX - 32], socket[PATH_MAX - 32];
};

/* -ENAMETOOLONG: the socket's path would be longer than the kernel takes. */
int cluster_paths_of(const char *data_path, struct cluster_paths *ret, struct err *err);
/* A file of the folder; ret of PATH_MAX bytes, which is returned. */
char *cluster_path(const struct cluster_paths *at, const char *name, char *ret);
void cluster_make_url(const struct cluster_paths *at, const char *database, char *ret,
		      size_t size);

/* The major version of the database that is there, 0: none yet. -EEXIST: pgdata holds
 * something else, or is damaged. */
int cluster_version(const struct cluster_paths *at, unsigned *ret, struct err *err);

/* Once, after initdb: has the settings files read. */
int cluster_include_settings(const char *pgdata, struct err *err);
/* Each time: settings, who may connect, the socket's folder. */
int cluster_write_settings(const struct cluster_paths *at, unsigned connections,
			   struct err *err);

/* The pid in postmaster.pid, 0: none; ret_ready (may be NULL): it takes connections. */
pid_t cluster_postmaster(const struct cluster_paths *at, bool *ret_ready);
/* Its pid file and the socket's, when no process is left that they could mean. */
void cluster_forget_postmaster(const struct cluster_paths *at);

/* The log, for appending; a long one is put aside as log.old first. */
int cluster_open_log(const struct cluster_paths *at, struct err *err);
/* While it is written to: one that has grown beyond all bounds is emptied. */
void cluster_bound_log(const struct cluster_paths *at);
/* The last FATAL, PANIC or ERROR line of the log, else "". */
void cluster_last_words(const struct cluster_paths *at, char *ret, size_t size);

/* A folder and all in it; fine when it is not there. */
int cluster_remove(const char *path, struct err *err);

#endif
