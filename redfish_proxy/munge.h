/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_MUNGE_H
#define CEEMS_REDFISH_PROXY_MUNGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "redfish_proxy/netaddr.h"

/* Who sent a request, by a credential of the MUNGE daemon that all nodes share a key
 * with (lib/http/redfish_munge.h). The daemon takes
 * each credential once and only while it is young. A thread of its own waits for the
 * daemon. Thread safe. */

#define MUNGE_CREDENTIAL_MAX 4096
#define MUNGE_QUEUE_MAX 1024

struct munge;

struct munge_facts {
	bool good;
	uint32_t uid;
	struct netaddr origin; /* of the daemon that made it, by its own word */
	char node[256];
};

/* Storage of the caller until done is called. */
struct munge_job {
	struct munge_job *next;
	const char *credential;
	struct munge_facts facts;
	void (*done)(void *arg);
	void *arg;
};

/* socket NULL: libmunge's own. -ENOTSUP: built without it. */
int munge_new(const char *socket, struct munge **ret, struct err *err);
/* Ends the thread; what waits is not good, later ones are refused. */
void munge_stop(struct munge *m);
/* Accepts NULL. */
void munge_free(struct munge *m);

/* -EBUSY: too many wait, done is not called. */
int munge_submit(struct munge *m, struct munge_job *j);

/* The node of a payload: false: it is none of ours. Total on any bytes. */
bool munge_payload(const char *payload, size_t len, char ret_node[256]);

#endif
