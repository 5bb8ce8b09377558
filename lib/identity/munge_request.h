/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_MUNGE_REQUEST_H
#define CEEMS_LIB_IDENTITY_MUNGE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/identity/munge.h"
#include "lib/netaddr.h"

/*
 * A MUNGE credential for one HTTP request to one server. Its payload is
 *
 *	ceems-http/2 METHOD AUTHORITY TARGET HASH [NODE]
 *
 * AUTHORITY: host:port of the URL, in lower case, the port always there. TARGET: as in
 * the request line. HASH: SHA-256 of the body as it is sent, in lower-case hexadecimal,
 * of nothing where there is none. NODE: for redfish_proxy, the node that asks; for no
 * other server. Whoever gets hold of one, a server that it was sent
 * to for instance, can use it for nothing else and nowhere else.
 */

#define MUNGE_REQUEST_WORD "ceems-http/2 "
#define MUNGE_REQUEST_HASH_BYTES 65 /* as text */

/* The credential of a request to url: appended to ret. As munge_write(); -E2BIG: the
 * URL is too long for one. */
int munge_request_write(const char *socket, const char *method, const char *url,
			const void *body, size_t len, struct buf *ret, struct err *err);

/* The same for a server that is to know which node asks. */
int munge_request_write_node(const char *socket, const char *node, const char *method,
			     const char *url, const void *body, size_t len,
			     struct buf *ret, struct err *err);

/* Whether the payload is such a one; else it is of a release before, or another's. */
bool munge_request_is_bound(const struct munge_facts *m);

/* The host that such a credential is for, before which own_host_learn_name() is asked;
 * false: none. */
bool munge_request_host(const struct munge_facts *m, char *ret, size_t size);

/* The node that it names, "": none; false: it is no such credential, or too long. */
bool munge_request_node(const struct munge_facts *m, char *ret, size_t size);

/* What is asked, and where. All borrowed. */
struct munge_asked {
	const char *method, *target; /* of the request line, as they came */
	bool has_peer, has_local;
	struct netaddr peer, local; /* both ends of the connection */
	/* Names that we have beside this host's: HOST, HOST:PORT, "*": any */
	const char *const *hosts;
	size_t host_count;
	bool node; /* it must name one; else it must not */
};

/* Whether the credential is for this request, by its head: 0, with the hash that its
 * body must have in ret_hash; -EACCES, with the host, or path, that it is for in err.
 * An address is ours where the connection came to it, a loopback name where it is from
 * this host. */
int munge_request_check(const struct munge_facts *m, const struct munge_asked *asked,
			char ret_hash[MUNGE_REQUEST_HASH_BYTES], struct err *err);
/* 0 or -EACCES. */
int munge_request_check_body(const char *hash, const void *body, size_t len,
			     struct err *err);

/* Whether s can be one of munge_asked.hosts. */
static inline bool munge_request_is_host(const char *s)
{
	size_t n = strlen(s);

	return n && n < 256 && !strpbrk(s, " /?#@\t\n");
}

#endif
