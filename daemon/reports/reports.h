/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_REPORTS_REPORTS_H
#define CEEMS_DAEMON_REPORTS_REPORTS_H

#include <pthread.h>
#include <sys/types.h>

#include "daemon/env.h"
#include "daemon/report_stats.h"
#include "lib/err.h"

#include "daemon/reports/reporter.h"

struct sample;

/*
 * The thread that writes reports into the spool. It holds the daemon's lock while it
 * reads the unit table, never while it writes or syncs: a hanging disk delays nothing
 * but reports.
 */
struct reports;

struct reports_params {
	const struct env *env; /* units is not NULL */
	struct sample *sample;
	pthread_mutex_t *lock;
	const char *cluster; /* copied */
	const char *folder;  /* copied; %n: this host's name, %%: % */
	uint64_t interval_ms;
	uint64_t max_bytes; /* of the spool */
	struct reporter_counts counts;
};

/* With the initial privileges: creates the folder and its parent if missing, and gives
 * it to uid (-1: leave the owner). If it cannot be created that is logged, and retried.
 * -ENOMEM; -EINVAL: invalid folder name. */
int reports_new(const struct reports_params *p, uid_t uid, gid_t gid,
		struct reports **ret, struct err *err);
/* Starts the thread, as the final user. */
int reports_start(struct reports *r, struct err *err);
/* Writes what is due, then stops. Accepts NULL. */
void reports_free(struct reports *r);

/* Whether the folder was removed, and cannot be made again without the privileges that
 * reports_new() had. Thread-safe. */
bool reports_folder_lost(const struct reports *r);

const struct report_stats *reports_stats(const struct reports *r); /* borrowed */

#endif
