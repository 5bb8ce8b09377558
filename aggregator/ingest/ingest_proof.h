/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_PROOF_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_PROOF_H

#include "aggregator/ingest/ingest_sender.h"
#include "lib/http/web.h"
#include "lib/identity/munge.h"

/*
 * The proof of a request that a node or slurmctld sends: by its head where that
 * suffices, else by a MUNGE credential, which another thread checks while the request
 * sleeps; all of that before any of the body is kept.
 */

struct tls_name;
#define INGEST_PROOF_NAMES_MAX 32

struct ingest_senders {
	struct sender *sender;
	struct munge *munge; /* NULL: --no-ingest.munge */
};

/* Of a request; zero-initialise. It may not be moved. */
struct ingest_proof {
	bool by_munge; /* the body must be compared with the credential */
	bool decoded;  /* the credential, by its thread */
	struct web_request *web;
	struct munge_job munge;
	struct tls_name *names; /* of the certificate; proof's names point there */
	const char *name_texts[INGEST_PROOF_NAMES_MAX];
	struct sender_proof proof;
};

/* By the head alone. 0: proved; 1: ingest_proof_munge() comes next; -EACCES. */
int ingest_proof_head(const struct ingest_senders *in, struct web_request *r,
		      struct ingest_proof *p, struct err *err);
/* Records who was proved by the head, for the web server's limits. */
void ingest_proof_note(struct web_request *r, const struct ingest_proof *p);
/* Has the credential checked, which is valid only once: the request sleeps meanwhile,
 * and decoded is set when its handler is called again. p must be what web_state() has
 * or part of it. 0; -EACCES; -EBUSY and the like: not now. */
int ingest_proof_munge(const struct ingest_senders *in, struct web_request *r,
		       struct ingest_proof *p, struct err *err);
/* What the check said: 0 or as sender_may(). */
int ingest_proof_decoded(const struct ingest_senders *in, struct web_request *r,
			 struct ingest_proof *p, struct err *err);
/* Whether the body is the one that was proved: 0 or -EACCES. Any thread. */
int ingest_proof_body(const struct ingest_proof *p, const void *body, size_t len,
		      struct err *err);
void ingest_proof_done(struct ingest_proof *p);

#endif
