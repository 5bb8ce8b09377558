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
 * the request line. HASH: SHA-256 of the body as sent (empty if there is none), in
 * lower-case hexadecimal. NODE: the node that asks; for redfish_proxy only. Somebody
 * who obtains a credential, such as the server it was sent to, cannot use it for any
 * other request or server.
 */

#define MUNGE_REQUEST_WORD "ceems-http/2 "
#define MUNGE_REQUEST_HASH_BYTES 65 /* as text */

/* Makes the credential of a request to url and appends it to ret. As munge_write();
 * -E2BIG: the URL is too long. */
int munge_request_write(const char *socket, const char *method, const char *url,
			const void *body, size_t len, struct buf *ret, struct err *err);

/* The same for a server that must know which node asks. */
int munge_request_write_node(const char *socket, const char *node, const char *method,
			     const char *url, const void *body, size_t len,
			     struct buf *ret, struct err *err);

/* Whether the payload has this form; if not, it is from the previous release or for
 * something else. */
bool munge_request_is_bound(const struct munge_facts *m);

/* The host that the credential is for; call own_host_learn_name() for it before
 * checking. False: none. */
bool munge_request_host(const struct munge_facts *m, char *ret, size_t size);

/* The node that it names, "": none; false: not such a credential, or too long. */
bool munge_request_node(const struct munge_facts *m, char *ret, size_t size);

/* The request and the server it came to. All borrowed. */
struct munge_asked {
	const char *method, *target; /* of the request line, as they came */
	bool has_peer, has_local;
	struct netaddr peer, local; /* both ends of the connection */
	/* Names of ours besides this host's: HOST, HOST:PORT, "*": any */
	const char *const *hosts;
	size_t host_count;
	bool node; /* a node is required; else none is allowed */
};

/* Whether the credential is for this request, judging by its head: 0, ret_hash is the
 * hash that the body must have; -EACCES, err names the host or path that it is for. An
 * address is ours if the connection came to it, a loopback name if the connection is
 * from this host. */
int munge_request_check(const struct munge_facts *m, const struct munge_asked *asked,
			char ret_hash[MUNGE_REQUEST_HASH_BYTES], struct err *err);
/* 0 or -EACCES. */
int munge_request_check_body(const char *hash, const void *body, size_t len,
			     struct err *err);

/* Whether s is valid in munge_asked.hosts. */
static inline bool munge_request_is_host(const char *s)
{
	size_t n = strlen(s);

	return n && n < 256 && !strpbrk(s, " /?#@\t\n");
}

#endif
