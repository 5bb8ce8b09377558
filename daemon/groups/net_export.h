/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_NET_EXPORT_H
#define CEEMS_DAEMON_GROUPS_NET_EXPORT_H

#include "daemon/env.h"
#include "lib/prom.h"

/* The samples of what units send and receive: one scrape after the other. Needs env's
 * step_groups and unit_net. */
struct net_export;

int net_export_new(const struct env *env, struct net_export **ret); /* -ENOMEM */
void net_export_free(struct net_export *e);                         /* accepts NULL */
void net_export(struct net_export *e, struct prom *out);

#endif
