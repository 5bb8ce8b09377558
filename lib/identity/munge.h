/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_MUNGE_H
#define CEEMS_LIB_IDENTITY_MUNGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/netaddr.h"
#include "lib/turns.h"

/* Proves who sent a request, by a credential of MUNGE, whose key all hosts of a site
 * share (munge(7)). Its daemon accepts each credential once, and only for a short time.
 * The payload begins with the credential's purpose; one for another purpose is not
 * accepted. */

#define MUNGE_CREDENTIAL_MAX 12288
#define MUNGE_PAYLOAD_MAX 8192
#define MUNGE_TTL_S 60 /* lifetime of a credential, even if its maker allowed more */

struct munge_facts {
	/* 0: good. -EACCES: forged, expired, replayed or not for us; -EHOSTDOWN: the
	 * daemon does not answer; -ENOTSUP: built without MUNGE. */
	int rc;
	uint32_t uid, gid;
	struct netaddr origin; /* host of the daemon that made it, as that says */
	struct buf payload;    /* NUL-terminated; may hold NULs */
};
void munge_facts_done(struct munge_facts *f); /* accepts a zeroed one */
#define auto_munge_facts __attribute__((cleanup(munge_facts_done)))

/* Decodes a credential, blocking on the daemon. socket NULL: libmunge's default.
 * Returns ret->rc; err names the cause and does not contain the credential. Thread
 * safe. */
int munge_read(const char *socket, const char *credential, struct munge_facts *ret,
	       struct err *err);

/* Makes a credential for our own user, blocking on the daemon. Appends to ret.
 * -ENOTSUP, -EHOSTDOWN, -ENOMEM. Thread safe. */
int munge_write(const char *socket, const char *payload, size_t len, struct buf *ret,
		struct err *err);

/* A thread that waits for the daemon on behalf of threads that must not. Keys are
 * served in turn, and a key whose credentials are bad is slowed down (lib/turns.h).
 * Thread safe. */
#define MUNGE_QUEUE_MAX 1024
#define MUNGE_LANE_MAX 512 /* per key */

struct munge;

/* Owned by the caller, who keeps it until done is called. */
struct munge_job {
	struct fair_item item;
	uint64_t key; /* the client's, from web_client_key() */
	const char *credential;
	struct munge_facts facts; /* for munge_facts_done() */
	struct err why;           /* of facts.rc */
	void (*done)(void *arg);
	void *arg;
};

int munge_new(const char *socket, struct munge **ret, struct err *err);
/* Ends the thread; waiting and later jobs fail. */
void munge_stop(struct munge *m);
/* Accepts NULL. */
void munge_free(struct munge *m);

/* -EBUSY: too many are waiting, of this key or in all; done is not called. */
int munge_submit(struct munge *m, struct munge_job *j);

#endif
