/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_CLUSTER_H
#define CEEMS_AGGREGATOR_CLUSTER_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/privileges.h"

/* The private cluster: a Postgres of the aggregator's own, for trials and small sites,
 * when there is no --db.url. It listens only on a unix socket in its folder, and admits
 * only the aggregator's operating-system user (and root, for backups).
 *
 *	DATA/lock      held while an aggregator uses the folder
 *	DATA/pgdata/   the database; settings of ours in ceems.conf, of the site's in
 *	               site.conf
 *	DATA/s/        the socket
 *	DATA/log       what Postgres says */

struct cluster;

/* As root, before privileges are dropped: creates the folder for the user. Otherwise:
 * checks it. Fails if it belongs to somebody else. */
int cluster_prepare(const char *data_path, const struct privileges *who,
		    struct err *err);

/* As the user: finds Postgres, creates the database if needed, stops a server left by a
 * killed aggregator, starts it and waits until it is ready. err says what to do.
 * -EBUSY: another aggregator has the folder; -EPROTO: the folder is another major
 * version's. connections: the number to allow. */
int cluster_start(const char *data_path, unsigned connections, struct cluster **ret,
		  struct err *err);

/* Whether there may be a database in the folder; false is certain. */
bool cluster_exists(const char *data_path);

/* The URL of the database in a folder that another aggregator uses. */
int cluster_url_of(const char *data_path, char *ret, size_t size, struct err *err);

/* The URL of its database. Borrowed. */
const char *cluster_url(const struct cluster *c);

/* Each second: restarts and logs a Postgres that died. */
void cluster_tick(struct cluster *c);

/* Stops Postgres (a fast shutdown, finally an immediate one) and frees. Accepts
 * NULL. */
void cluster_stop(struct cluster *c);

#endif
