/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_RESOLVE_H
#define CEEMS_LB_PROXY_RESOLVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/err.h"
#include "lib/loop.h"

/*
 * Names of backends to addresses. getaddrinfo(3) waits, so a thread asks it; what it
 * said is used on until it says something else, and asked for again when it is older
 * than RESOLVE_FRESH_MS: a name server that does not answer stops nothing that ran.
 */

#define RESOLVE_ADDRESSES_MAX 8
#define RESOLVE_FRESH_MS 30000
#define RESOLVE_FAILED_MS 1000 /* a name that was not found is asked for again */
#define RESOLVE_NAMES_MAX 1024

struct resolve_list {
	size_t count;
	struct resolve_address {
		struct sockaddr_storage sa; /* with the port */
		socklen_t len;
	} at[RESOLVE_ADDRESSES_MAX];
};

struct resolver;

/* Its thread starts with the first name that is no address. */
int resolver_new(struct resolver **ret, struct err *err);
/* Waits for a question that is under way. Accepts NULL. */
void resolver_free(struct resolver *r);

/* Who is told, by a task posted to its loop, when a name was answered. Before names are
 * asked for; both outlive the resolver. */
int resolver_tell(struct resolver *r, struct loop *loop, struct loop_task *task);

/* 0; -EAGAIN: asked for, those of resolver_tell() hear of it; -EHOSTUNREACH: there is
 * no such name, or nobody who knows; -ENOSPC, -ENOMEM. Never waits. Thread safe. */
int resolver_get(struct resolver *r, const char *host, uint16_t port,
		 struct resolve_list *ret);

#endif
