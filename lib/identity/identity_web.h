/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_IDENTITY_WEB_H
#define CEEMS_LIB_IDENTITY_IDENTITY_WEB_H

#include "lib/http/web.h"
#include "lib/identity/identity.h"

/* The facts for lib/identity/identity.h about a request of the web server, on a route
 * that has own_proof. Call it in the handler, on the server's thread; the facts are
 * borrowed from the request, and another thread may prove them while the request
 * sleeps. */

struct tls_name;

struct identity_request {
	struct identity_facts facts;
	struct tls_name *names; /* owned */
};

void identity_collect(const struct identity *id, struct web_request *r,
		      struct identity_request *ret);
/* Whether the sender of r may read /metrics (identity_check_metrics()); if not, r has
 * been answered. Its route needs no own_proof. */
bool identity_admits_metrics(const struct identity *id, struct web_request *r);
void identity_request_done(struct identity_request *q); /* accepts a zeroed one */

#endif
