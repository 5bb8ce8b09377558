/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_SENDER_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/ingest/ingest_may.h"
#include "lib/err.h"
#include "lib/identity/munge_request.h"

/*
 * Who may send reports, proved in one of three ways:
 *
 *	Authorization: MUNGE CREDENTIAL  for this request (munge_request.h), of an
 *	                                 allowed uid
 *	Authorization: Bearer TOKEN      one of the lines of a file
 *	a client certificate             verified, with an allowed name
 *
 * In the previous release's form, if that is still accepted, MUNGE's payload is
 * SENDER_MUNGE_PAYLOAD and the SHA-256 of the body in hex.
 *
 * What a proved sender may send is decided in ingest_may.h. Thread safe.
 */

#define SENDER_MUNGE_PAYLOAD "ceems-ingest/1 "

struct sender_params {
	bool munge;
	/* identity_params' */
	const char *const *munge_hosts;
	size_t munge_host_count;
	bool munge_unbound;
	/* Accounts for nodes with MUNGE, by name or uid, optionally with @ADDRESS and
	 * =* (for any node); names unknown to this host are left out. */
	const char *const *users;
	size_t user_count;
	/* Who may send completion records, as in lib/party.h */
	const char *const *jobs_from;
	size_t jobs_from_count;
	/* Who may send claims of an admission webhook, the same */
	const char *const *claims_from;
	size_t claims_from_count;
	const char *const *clusters; /* ingest_cluster_parse() */
	size_t cluster_count;
	const char *token_file; /* NULL or "": none. Lines TOKEN, NAME TOKEN, NAME=*
				   TOKEN */
	/* in certificates; "*": any verified one; NAME=*: speaks for any node */
	const char *const *names;
	size_t name_count;
	/* Whether a node's name is that of the host with this address, as
	 * ingest_host_is(). NULL: never. */
	int (*is_host)(void *arg, const char *node, const struct netaddr *host,
		       struct err *err);
	void *arg;
};

struct sender;

/* Borrows params' texts for its whole life. -EINVAL, -EPERM: the token file or a
 * name. */
int sender_new(const struct sender_params *params, struct sender **ret,
	       struct err *err);
void sender_free(struct sender *s); /* accepts NULL */
/* Reads the token file and looks up accounts again; on failure the old tokens stay. */
int sender_reload(struct sender *s, struct err *err);
/* The i-th configured account that this host does not know, with its option before it;
 * NULL: no more. Not during a reload. */
const char *sender_unknown(const struct sender *s, size_t i);

/* Facts about a request; borrowed. */
struct sender_facts {
	unsigned authorizations;   /* number of Authorization headers */
	const char *authorization; /* the first, NULL: none */
	const char *const *names;  /* of a verified client certificate */
	size_t name_count;
	bool has_peer;
	struct netaddr peer;
};

/* The sender; owned by the caller, unmoved while the push is judged. */
struct sender_proof {
	struct ingest_party party;
	struct ingest_may may; /* of party */
	const struct sender *sender;
	struct netaddr host; /* of MUNGE */
	/* The hash that the body must have; "": it is in the payload */
	char body[MUNGE_REQUEST_HASH_BYTES];
};

/* By the head alone, without blocking. 0: proved; 1: a MUNGE credential must be checked
 * with the body; -EACCES: no allowed sender (401). What it borrows from f lives as long
 * as ret. */
int sender_admit(const struct sender *s, const struct sender_facts *f,
		 struct sender_proof *ret, struct err *err);

/* The credential in an Authorization header for which sender_admit() returned 1. */
const char *sender_credential(const char *authorization);

/* Whether the maker of the credential may send, before any of the body has come. 0;
 * -EACCES: forged, replayed, or for another purpose; -EPERM: proved, but not allowed
 * (403); -EHOSTDOWN: munged did not answer (503). proof is from sender_admit(); peer
 * and hosts of `asked` are filled in here. */
int sender_may(const struct sender *s, const struct munge_facts *m,
	       const struct munge_asked *asked, struct sender_proof *proof,
	       struct err *err);
/* The identity of the proof, which counts as one witness (aggregator/witness.h): the
 * host of a MUNGE credential, the certificate, or the token, whose text is not
 * included. */
#define SENDER_WHO_BYTES 72
void sender_who(const struct sender_proof *proof, const char *authorization,
		char ret[SENDER_WHO_BYTES]);
/* Whether the credential was made for this body: 0 or -EACCES. */
int sender_has_sent(const struct munge_facts *m, const struct sender_proof *proof,
		    const void *body, size_t len, struct err *err);

#endif
