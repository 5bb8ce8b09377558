/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_CLUSTER_H
#define CEEMS_AGGREGATOR_CLUSTER_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/privileges.h"

/* The private cluster: a Postgres of the aggregator's own, for trials and small sites,
 * when there is no --db.url. It listens on a unix socket in its folder alone and knows
 * one operating-system user, the aggregator's (and root, for backups).
 *
 *	DATA/lock      held while an aggregator uses the folder
 *	DATA/pgdata/   the database; settings of ours in ceems.conf, of the site's in
 *	               site.conf
 *	DATA/s/        the socket
 *	DATA/log       what Postgres says */

struct cluster;

/* As root, before privileges are dropped: makes the folder for the user. Not root: as
 * it is. Fails when it is somebody else's. */
int cluster_prepare(const char *data_path, const struct privileges *who,
		    struct err *err);

/* As the user: finds Postgres, makes the database where there is none, ends what an
 * aggregator that was killed has left running, starts it and waits until it is ready.
 * The text of a failure says what to do. -EBUSY: another aggregator has the folder;
 * -EPROTO: the folder is another major version's. connections: how many it shall take.
 */
int cluster_start(const char *data_path, unsigned connections, struct cluster **ret,
		  struct err *err);

/* Whether there may be a database in the folder: false is certain. */
bool cluster_exists(const char *data_path);

/* The URL of the database in a folder, for when another aggregator runs it. */
int cluster_url_of(const char *data_path, char *ret, size_t size, struct err *err);

/* The URL of its database. Borrowed. */
const char *cluster_url(const struct cluster *c);

/* Each second: starts Postgres again when it died, which is logged. */
void cluster_tick(struct cluster *c);

/* Ends Postgres (a fast shutdown, in the end an immediate one) and frees. Accepts NULL.
 */
void cluster_stop(struct cluster *c);

#endif
