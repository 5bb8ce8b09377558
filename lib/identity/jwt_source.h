/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_JWT_SOURCE_H
#define CEEMS_LIB_IDENTITY_JWT_SOURCE_H

#include "lib/identity/jwt.h"

/* The keys that tokens are verified with, from Grafana
 * (https://HOST/api/signing-keys/keys) or a file. A thread refreshes them once an hour,
 * sooner after a failure, and when a token has an unknown key, at most once in
 * JWT_SOURCE_ASK_S. Keys that could not be refreshed for a day are no longer accepted.
 * Thread safe. */

#define JWT_SOURCE_ASK_S 30
#define JWT_SOURCE_WAIT_MS 5000

struct jwt_source;

struct jwt_source_params {
	const char *where;   /* http(s) URL or absolute path */
	const char *ca_file; /* PEM, instead of the system's; NULL: none */
	unsigned ask_s;      /* for tests; 0: JWT_SOURCE_ASK_S */
};

/* Checks and copies the params and starts the thread; does not wait for keys. */
int jwt_source_new(const struct jwt_source_params *params, struct jwt_source **ret,
		   struct err *err);
void jwt_source_free(struct jwt_source *s); /* accepts NULL; ends the thread */

/* As jwt_verify(), but waits up to JWT_SOURCE_WAIT_MS for keys where that may help.
 * -EHOSTDOWN: there are none; err says why. */
int jwt_source_verify(struct jwt_source *s, const struct jwt_rules *rules,
		      const char *token, uint64_t now_s, struct jwt_claims *ret,
		      struct err *err);

#endif
