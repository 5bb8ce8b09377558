/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_MUNGE_H
#define CEEMS_LIB_IDENTITY_MUNGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/netaddr.h"
#include "lib/turns.h"

/* Who sent a request, by a credential of the MUNGE daemon that all hosts of a site
 * share a key with (munge(7)). The daemon takes each credential once and only while it
 * is young. What a credential is for stands at the beginning of its payload: one made
 * for another purpose is none. */

#define MUNGE_CREDENTIAL_MAX 12288
#define MUNGE_PAYLOAD_MAX 8192
#define MUNGE_TTL_S 60 /* of a credential, whatever its maker allows */

struct munge_facts {
	/* 0: good. -EACCES: forged, expired, replayed or not for us; -EHOSTDOWN: the
	 * daemon does not answer; -ENOTSUP: built without it. */
	int rc;
	uint32_t uid, gid;
	struct netaddr origin; /* of the daemon that made it, by its own word */
	struct buf payload;    /* NUL-terminated; may hold NULs */
};
void munge_facts_done(struct munge_facts *f); /* accepts a zeroed one */
#define auto_munge_facts __attribute__((cleanup(munge_facts_done)))

/* Asks the daemon and waits for it. socket NULL: libmunge's own. Returns ret->rc, with
 * a text that names the cause and not the credential. Thread safe. */
int munge_read(const char *socket, const char *credential, struct munge_facts *ret,
	       struct err *err);

/* Makes a credential of our own user; waits for the daemon. Appends to ret. -ENOTSUP,
 * -EHOSTDOWN, -ENOMEM. Thread safe. */
int munge_write(const char *socket, const char *payload, size_t len, struct buf *ret,
		struct err *err);

/* A thread that waits for the daemon in place of threads that must not; each key waits
 * for one of each other at most, and is charged for credentials that were none
 * (lib/turns.h). Thread safe. */
#define MUNGE_QUEUE_MAX 1024
#define MUNGE_LANE_MAX 512 /* of one key */

struct munge;

/* Storage of the caller until done is called. */
struct munge_job {
	struct fair_item item;
	uint64_t key; /* of whoever asks: web_client_key() */
	const char *credential;
	struct munge_facts facts; /* for munge_facts_done() */
	struct err why;           /* of facts.rc */
	void (*done)(void *arg);
	void *arg;
};

int munge_new(const char *socket, struct munge **ret, struct err *err);
/* Ends the thread; what waits is not good, later ones are refused. */
void munge_stop(struct munge *m);
/* Accepts NULL. */
void munge_free(struct munge *m);

/* -EBUSY: too many wait, of this key or of all; done is not called. */
int munge_submit(struct munge *m, struct munge_job *j);

#endif
