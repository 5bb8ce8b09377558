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
 *	Authorization: MUNGE <credential>   for this request
 *(lib/identity/munge_request.h), of an allowed uid Authorization: Bearer <token> one of
 *the lines of a file a client certificate                verified, with an allowed name
 *
 * Of a release before, where those are taken still, MUNGE's payload is
 * SENDER_MUNGE_PAYLOAD and the SHA-256 of the body in hex.
 *
 * What of it that one may send is ingest_may.h's. Thread safe.
 */

#define SENDER_MUNGE_PAYLOAD "ceems-ingest/1 "

struct sender_params {
	bool munge;
	/* identity_params' */
	const char *const *munge_hosts;
	size_t munge_host_count;
	bool munge_unbound;
	/* Of nodes, by MUNGE: accounts by name or number, with @ADDRESS and =* (for any
	 * node) or not; names that this host does not know are left out. */
	const char *const *users;
	size_t user_count;
	/* Who may send completion records: parties as lib/party.h writes them */
	const char *const *jobs_from;
	size_t jobs_from_count;
	const char *const *clusters; /* ingest_cluster_parse() */
	size_t cluster_count;
	const char *token_file; /* NULL or "": none. Lines TOKEN, NAME TOKEN, NAME=*
				   TOKEN */
	/* of certificates; "*": any that is verified; NAME=*: it speaks for any node */
	const char *const *names;
	size_t name_count;
	/* Whether a node's name is the name of the host with that address: as
	 * ingest_host_is(). NULL: of none. */
	int (*is_host)(void *arg, const char *node, const struct netaddr *host,
		       struct err *err);
	void *arg;
};

struct sender;

/* Borrows params' texts for its life. -EINVAL, -EPERM: the token file or a name. */
int sender_new(const struct sender_params *params, struct sender **ret,
	       struct err *err);
void sender_free(struct sender *s); /* accepts NULL */
/* Reads the token file and looks up accounts again; on failure the old tokens stay. */
int sender_reload(struct sender *s, struct err *err);
/* The i-th account of the configuration that this host does not know, with its option
 * in front; NULL: there is none. To be asked when nobody reloads. */
const char *sender_unknown(const struct sender *s, size_t i);

/* What is known of a request; borrowed. */
struct sender_facts {
	unsigned authorizations;   /* how many Authorization headers */
	const char *authorization; /* the first, NULL: none */
	const char *const *names;  /* of a verified client certificate */
	size_t name_count;
	bool has_peer;
	struct netaddr peer;
};

/* Who sends; storage of the caller, alive and in place as long as the push is judged.
 */
struct sender_proof {
	struct ingest_party party;
	struct ingest_may may; /* of party */
	const struct sender *sender;
	struct netaddr host; /* of MUNGE */
	/* The hash that the body must have; "": its payload says */
	char body[MUNGE_REQUEST_HASH_BYTES];
};

/* By the head alone, without waiting: 0: proved; 1: a MUNGE credential is to be looked
 * at with the body; -EACCES: nobody's who may (401). What it borrows of f lives as long
 * as ret. */
int sender_admit(const struct sender *s, const struct sender_facts *f,
		 struct sender_proof *ret, struct err *err);

/* The credential in an Authorization header that sender_admit() said 1 of. */
const char *sender_credential(const char *authorization);

/* Whether whoever made the credential may send, before a byte of the body is there. 0;
 * -EACCES: forged, replayed, made for another purpose; -EPERM: proved, but not allowed
 * (403); -EHOSTDOWN: munged did not answer (503). proof is sender_admit()'s; of asked,
 * peer and hosts are known here. */
int sender_may(const struct sender *s, const struct munge_facts *m,
	       const struct munge_asked *asked, struct sender_proof *proof,
	       struct err *err);
/* What proved it, for it counts as one (aggregator/witness.h): the host of a MUNGE
 * credential, the certificate, or the token, which is not in the text. */
#define SENDER_WHO_BYTES 72
void sender_who(const struct sender_proof *proof, const char *authorization,
		char ret[SENDER_WHO_BYTES]);
/* Whether the credential was made for this body: 0 or -EACCES. */
int sender_has_sent(const struct munge_facts *m, const struct sender_proof *proof,
		    const void *body, size_t len, struct err *err);

#endif
