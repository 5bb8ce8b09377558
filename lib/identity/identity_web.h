/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_IDENTITY_WEB_H
#define CEEMS_LIB_IDENTITY_IDENTITY_WEB_H

#include "lib/http/web.h"
#include "lib/identity/identity.h"

/* What lib/identity/identity.h wants to know, of a request of the web server whose
 * route has own_proof. To be called by its handler, on the server's thread; what it
 * says is borrowed from the request and may be proved by another thread while that
 * sleeps. */

struct tls_name;

struct identity_request {
	struct identity_facts facts;
	struct tls_name *names; /* owned */
};

void identity_collect(const struct identity *id, struct web_request *r,
		      struct identity_request *ret);
/* Whether /metrics is for whoever sent r (identity_check_metrics()); else it has been
 * answered. Its route needs no own_proof. */
bool identity_admits_metrics(const struct identity *id, struct web_request *r);
void identity_request_done(struct identity_request *q); /* accepts a zeroed one */

#endif
