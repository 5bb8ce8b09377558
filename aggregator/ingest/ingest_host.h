/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_HOST_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_HOST_H

#include "lib/err.h"
#include "lib/netaddr.h"

/* Whether a node's name is the name of the host that has an address, by this host's
 * name service. What it said is remembered for some minutes, a bounded number of it.
 * Thread safe. */

struct ingest_hosts;

int ingest_hosts_new(struct ingest_hosts **ret, struct err *err);
void ingest_hosts_free(struct ingest_hosts *h); /* accepts NULL */

/* Waits for the name service. 1, 0; -EHOSTDOWN: it does not answer. An address of this
 * host fits this host's own name, whatever that has for an address. */
int ingest_host_is(struct ingest_hosts *h, const char *node, const struct netaddr *host,
		   struct err *err);

#endif
