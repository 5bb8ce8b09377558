/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_ACCESS_H
#define CEEMS_REDFISH_PROXY_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "redfish_proxy/config.h"

/*
 * The only place where it is decided who may read what from which BMC: a pure function
 * of the configuration and the facts about a request. Everything but ACCESS_GRANTED is
 * refused. The rule (doc/redfish_proxy.md gives the reasons):
 *
 * 1. The path is path_clean() and allowed by the list.
 * 2. The client is identified by the strongest way that is switched on and that it
 * uses: MUNGE credential, then TLS certificate, then address. One that is used and does
 *    not hold is the end; there is no way back to a weaker one. Its address is the
 *    connection's, or, if that is a trusted proxy's, the only X-Real-IP.
 * 3. Its own BMC is the target that lists it, else the template's with its name.
 * 4. X-Redfish-Url may name that BMC. It may name the BMC of another listed target if
 *    the client is one of named_clients. It may name nothing else. Where the operator
 *    says so (ignore_redfish_url) it is not looked at for all others.
 */

#define ACCESS_NAMES_MAX 32 /* of a certificate that are looked at */

enum access_munge { ACCESS_MUNGE_NONE, ACCESS_MUNGE_GOOD, ACCESS_MUNGE_BAD };

/* Facts about a request. Texts are borrowed and untrusted. */
struct access_facts {
	const char *target; /* of the request line, as it came */
	bool has_peer;
	struct netaddr peer;   /* of the connection */
	unsigned real_ips;     /* how many X-Real-IP there are */
	const char *real_ip;   /* the first */
	unsigned redfish_urls; /* how many X-Redfish-Url there are */
	const char *redfish_url;
	const char *names[ACCESS_NAMES_MAX]; /* of a verified certificate */
	size_t name_count;
	enum access_munge munge; /* result for a credential that was sent */
	const char *munge_node;
	uint32_t munge_uid;
	struct netaddr munge_origin;
};

/* The node named in a credential's payload (lib/identity/redfish_munge.h); false: not a
 * payload of ours. Accepts any bytes. */
bool access_munge_node(const char *payload, size_t len, char ret_node[256]);

enum access_verdict {
	ACCESS_GRANTED,
	ACCESS_BAD_PATH,       /* not canonical: 400 */
	ACCESS_PATH,           /* not in the list: 403 */
	ACCESS_BAD_HEADER,     /* two values, or not an address or URL: 400 */
	ACCESS_UNIDENTIFIED,   /* 401 */
	ACCESS_BAD_CREDENTIAL, /* 401 */
	ACCESS_NO_TARGET,      /* identified, but has no BMC here: 403 */
	ACCESS_OTHER_TARGET,   /* names a BMC that is not its own: 403 */
};
#define ACCESS_VERDICTS 8

struct access_decision {
	enum access_verdict verdict;
	char path[PATH_BYTES_MAX];
	const struct config_target *target; /* NULL: from the template */
	char url[URL_BYTES_MAX];
	char who[128]; /* the client as the log may show it */
};

/* Lookup tables for a configuration, which they borrow. */
struct access;

/* -EINVAL, naming both lines: an address, a node or a URL is in two targets. */
int access_new(const struct config *c, struct access **ret, struct err *err);
void access_free(struct access *a); /* accepts NULL */

/* Thread safe. */
void access_decide(const struct access *a, const struct access_facts *f,
		   struct access_decision *ret);

/* For answers and the metric's label. Static. */
unsigned access_status(enum access_verdict v);
const char *access_reason(enum access_verdict v);

#endif
