/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_AUTH_H
#define CEEMS_LIB_HTTP_WEB_AUTH_H

#include "lib/err.h"
#include "lib/http/web_config.h"

/* Basic authentication against bcrypt hashes. bcrypt deliberately takes about a tenth
 * of a second, so it runs on its own thread, and its result is cached for a while as an
 * HMAC under a key made at start: neither passwords nor plain digests of them are kept.
 * All functions may be called from any thread. */

/* The last credential that a connection proved: the same header is accepted at once for
 * a few seconds, under the same configuration. No password is kept, only a tag of 128
 * bits under keys made at start. Zero-initialise; one thread. */
struct auth_known {
	uint64_t tag[2];
	uint64_t until_ns; /* 0: none */
	uint64_t reading;  /* struct web_config's */
	char user[64];
};

enum auth_verdict {
	AUTH_GOOD,
	AUTH_BAD,
	AUTH_PENDING, /* must be computed: web_auth_submit() */
};

struct web_auth;
struct auth_job;

typedef void (*auth_done_f)(void *arg, enum auth_verdict verdict);

#define AUTH_QUEUE_MAX 64 /* waiting jobs */
#define AUTH_LANE_MAX 16  /* waiting jobs of one client and user */

int web_auth_new(struct web_auth **ret, struct err *err);
/* Ends the thread; waiting jobs are answered AUTH_BAD first, later ones are refused by
 * web_auth_submit(). */
void web_auth_stop(struct web_auth *a);
void web_auth_free(struct web_auth *a); /* accepts NULL; after web_auth_stop() */

/* The cached verdict on an Authorization header (NULL: none) for these users; without
 * one *ret_job is for web_auth_submit(), which takes it over. No memory: AUTH_BAD.
 * known: the connection's, or NULL; after AUTH_GOOD known->user is the user, unless
 * known->until_ns is 0. */
enum auth_verdict web_auth_check(struct web_auth *a, const struct web_config *users,
				 const char *header, struct auth_known *known,
				 struct auth_job **ret_job);

/* Queues a job; done is called once, on the auth thread or, if there is a verdict by
 * now, at once. Jobs with the same credential are one entry of the queue. Clients
 * (web_client_key()) are served in turn; after a wrong password the thread pauses,
 * longest for clients that failed before, so that guessing uses only part of one
 * processor. -EBUSY: too many jobs of this client or in all; -ESHUTDOWN: stopping; in
 * both cases the job is freed and done is not called. */
int web_auth_submit(struct web_auth *a, struct auth_job *job, uint64_t client,
		    auth_done_f done, void *arg);

/* Number of bcrypts computed, for tests. */
unsigned web_auth_computed(struct web_auth *a);

/* Decodes "Basic <base64>" into name and password, NUL-terminated. Accepts any text. 0
 * or -EINVAL. */
int web_auth_decode(const char *header, char *ret_name, size_t name_size,
		    char *ret_password, size_t password_size);

#endif
