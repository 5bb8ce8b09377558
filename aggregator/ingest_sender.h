/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_SENDER_H
#define CEEMS_AGGREGATOR_INGEST_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/http/munge.h"

/*
 * Who may send reports, proved in one of three ways:
 *
 *	Authorization: MUNGE <credential>   whose payload is SENDER_MUNGE_PAYLOAD and
 *the SHA-256 of the body in hex, of an allowed uid Authorization: Bearer <token> one of
 *the lines of a file a client certificate                verified, with an allowed name
 *
 * Thread safe but for sender_reload().
 */

#define SENDER_MUNGE_PAYLOAD "ceems-ingest/1 "

struct sender_params {
	bool munge;
	const char *const *users; /* names or numbers; unknown names are left out */
	size_t user_count;
	const char *token_file;   /* NULL or "": none */
	const char *const *names; /* of certificates; "*": any that is verified */
	size_t name_count;
};

struct sender;

/* Borrows params' texts for its life. -EINVAL, -EPERM: the token file. */
int sender_new(const struct sender_params *params, struct sender **ret,
	       struct err *err);
void sender_free(struct sender *s); /* accepts NULL */
/* Reads the token file again; on failure the old tokens stay. */
int sender_reload(struct sender *s, struct err *err);

/* What is known of a request; borrowed. */
struct sender_facts {
	unsigned authorizations;   /* how many Authorization headers */
	const char *authorization; /* the first, NULL: none */
	const char *const *names;  /* of a verified client certificate */
	size_t name_count;
};

/* By the head alone, without waiting: 0: proved; 1: a MUNGE credential is to be looked
 * at with the body; -EACCES: nobody's who may (401). */
int sender_admit(const struct sender *s, const struct sender_facts *f, struct err *err);

/* The credential in an Authorization header that sender_admit() said 1 of. */
const char *sender_credential(const char *authorization);

/* Whether whoever made the credential may send, before a byte of the body is there. 0;
 * -EACCES: forged, replayed, made for another purpose; -EPERM: proved, but not allowed
 * (403); -EHOSTDOWN: munged did not answer (503). */
int sender_may(const struct sender *s, const struct munge_facts *m, struct err *err);
/* Whether the credential was made for this body: 0 or -EACCES. */
int sender_has_sent(const struct munge_facts *m, const void *body, size_t len,
		    struct err *err);

#endif
