/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_AUTH_H
#define CEEMS_LIB_HTTP_WEB_AUTH_H

#include "lib/err.h"
#include "lib/http/web_config.h"

/* Basic authentication against bcrypt hashes. A bcrypt takes about a tenth of a second
 * on purpose, so it runs on a thread of its own, and its verdict is remembered for a
 * while as an HMAC under a key made at start: neither passwords nor plain digests of
 * them are kept. All functions may be called from any thread. */

/* What one connection proved last: the same header is good again at once, for a few
 * seconds, under the same configuration. As with all verdicts, no password is kept: a
 * tag of 128 bits under keys made at start. Zero-initialise; one thread. */
struct auth_known {
	uint64_t tag[2];
	uint64_t until_ns; /* 0: nothing */
	uint64_t reading;  /* of struct web_config */
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

#define AUTH_QUEUE_MAX 64 /* that wait */
#define AUTH_LANE_MAX 16  /* of one client and user */

int web_auth_new(struct web_auth **ret, struct err *err);
/* Ends the thread; jobs that wait are answered AUTH_BAD first, later ones are refused
 * by web_auth_submit(). */
void web_auth_stop(struct web_auth *a);
void web_auth_free(struct web_auth *a); /* accepts NULL; after web_auth_stop() */

/* The verdict on an Authorization header (NULL: none) for these users, when it is
 * known; else *ret_job is for web_auth_submit(), which takes it. No memory: AUTH_BAD.
 * known: of the header's connection, or NULL; after AUTH_GOOD its user is who that is,
 * unless its until_ns is 0. */
enum auth_verdict web_auth_check(struct web_auth *a, const struct web_config *users,
				 const char *header, struct auth_known *known,
				 struct auth_job **ret_job);

/* Queues a job; done is called once, on the auth thread or, where the verdict is there
 * by now, at once. Jobs of one credential wait for one verdict and are one in the
 * queue. Clients (web_client_key()) are served in turn; after a wrong password the
 * thread rests, longest for those who had one wrong before, so that guesses take a part
 * of one processor. -EBUSY: too many wait, of this client or of all; -ESHUTDOWN:
 * stopping; the job is freed and done is not called. */
int web_auth_submit(struct web_auth *a, struct auth_job *job, uint64_t client,
		    auth_done_f done, void *arg);

/* bcrypts computed so far: what tests count. */
unsigned web_auth_computed(struct web_auth *a);

/* "Basic <base64>" into name and password, NUL-terminated. Total on any text. 0 or
 * -EINVAL. */
int web_auth_decode(const char *header, char *ret_name, size_t name_size,
		    char *ret_password, size_t password_size);

#endif
