/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_RESOLVE_H
#define CEEMS_LB_PROXY_RESOLVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/err.h"
#include "lib/loop.h"

/*
 * Resolves names of backends. getaddrinfo(3) blocks, so a thread calls it. An answer is
 * used until there is another one, and refreshed when it is older than
 * RESOLVE_FRESH_MS: a name server that stops answering breaks nothing that worked.
 */

#define RESOLVE_ADDRESSES_MAX 8
#define RESOLVE_FRESH_MS 30000
#define RESOLVE_FAILED_MS 1000 /* retry interval for a name that was not found */
#define RESOLVE_NAMES_MAX 1024

struct resolve_list {
	size_t count;
	struct resolve_address {
		struct sockaddr_storage sa; /* with the port */
		socklen_t len;
	} at[RESOLVE_ADDRESSES_MAX];
};

struct resolver;

/* Its thread starts with the first name that is not an address. */
int resolver_new(struct resolver **ret, struct err *err);
/* Waits for a running look-up. Accepts NULL. */
void resolver_free(struct resolver *r);

/* Registers a task to be posted to a loop when a name has been resolved. Call before
 * any name is asked for; both outlive the resolver. */
int resolver_tell(struct resolver *r, struct loop *loop, struct loop_task *task);

/* 0; -EAGAIN: being resolved, the tasks of resolver_tell() will be posted;
 * -EHOSTUNREACH: no such name, or no name server knows; -ENOSPC, -ENOMEM. Never blocks.
 * Thread safe. */
int resolver_get(struct resolver *r, const char *host, uint16_t port,
		 struct resolve_list *ret);

#endif
