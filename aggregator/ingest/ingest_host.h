/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_HOST_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_HOST_H

#include "lib/err.h"
#include "lib/netaddr.h"

/* Whether a node's name is that of the host with an address, by this host's name
 * service. Answers are cached for some minutes, in a bounded cache. Thread safe. */

struct ingest_hosts;

int ingest_hosts_new(struct ingest_hosts **ret, struct err *err);
void ingest_hosts_free(struct ingest_hosts *h); /* accepts NULL */

/* Blocks on the name service. 1, 0; -EHOSTDOWN: no answer. Addresses of this host match
 * its own name, whatever address that has. */
int ingest_host_is(struct ingest_hosts *h, const char *node, const struct netaddr *host,
		   struct err *err);

#endif
