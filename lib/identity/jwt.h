/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_JWT_H
#define CEEMS_LIB_IDENTITY_JWT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * Signed identity tokens (RFC 7515 compact form, RFC 7519 claims), as Grafana sends
 * them in X-Grafana-Id: ES256 (RFC 7518, 3.4) only, whatever the token claims. GnuTLS
 * does the cryptography. Accepts any text.
 */

#define JWT_BYTES_MAX 8192
#define JWT_KEYS_BYTES_MAX 65536
#define JWT_KEYS_MAX 32
#define JWT_KID_BYTES 128
#define JWT_LOGIN_BYTES 256
#define JWT_LEEWAY_S 30      /* tolerated clock difference */
#define JWT_LIFE_MAX_S 86400 /* exp - iat: a longer one is not a login token */

/* Public keys of a JWK set (RFC 7517). Read-only, reference-counted: thread safe. */
struct jwt_keys;

/* Takes the P-256 signature keys and ignores others. -EBADMSG: not a key set, or it has
 * none of them. */
int jwt_keys_parse(const char *text, size_t len, struct jwt_keys **ret,
		   struct err *err);
struct jwt_keys *jwt_keys_ref(struct jwt_keys *k);
void jwt_keys_unref(struct jwt_keys *k); /* accepts NULL */
size_t jwt_keys_count(const struct jwt_keys *k);

/* Requirements on a token besides a good signature. Borrowed. */
struct jwt_rules {
	const char *const *issuers; /* iss is one of them */
	size_t issuer_count;
	const char *const *audiences; /* one of aud is one of them */
	size_t audience_count;
	const char *login_claim; /* NULL: "username" */
};

struct jwt_claims {
	char login[JWT_LOGIN_BYTES]; /* as signed, unchecked */
	uint64_t exp_s;
};

/* -EACCES: refused; err says why, in words for the user; -ENOKEY: no key with that id
 * (a newer set may have it); -ENOMEM. Errors quote nothing from the token. */
int jwt_verify(const struct jwt_keys *k, const struct jwt_rules *rules,
	       const char *token, uint64_t now_s, struct jwt_claims *ret,
	       struct err *err);

#endif
