/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_IDENTITY_H
#define CEEMS_LIB_IDENTITY_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/identity/munge_request.h"
#include "lib/netaddr.h"

/*
 * Proves whose request it is. The only place where that is decided, for the aggregator
 * and the load balancer (doc/security.md gives the reasons):
 *
 * 1. Authorization: MUNGE <credential> for this very request
 * (lib/identity/munge_request.h): the login of its uid. Of a release before, where the
 * site takes those still, its payload is IDENTITY_MUNGE_PAYLOAD, the method, a blank
 * and the target.
 * 2. A verified certificate of a client and of no server (extended key usage): a front
 *    end's, or, where the site says so, a user's, by one of its names.
 * 3. A password of the web configuration (or MUNGE, of a user that is listed): a front
 *    end's.
 * 4. X-Grafana-Id: a token that Grafana has signed.
 *
 * The operator lists the front ends. A front end names its user in one header, and a
 * token sent with it must be of the same user. From anybody else such a header is
 * refused, not ignored: a request that names two users belongs to neither. Neither a
 * front end nor Grafana can name root. A proof that fails ends the matter; no weaker
 * one is tried.
 */

#define IDENTITY_MUNGE_PAYLOAD "ceems-api/1 "
#define IDENTITY_LOGIN_BYTES 256
/* The uid of the user that a front end names, if it was proved to the front end: the
 * same login may be two people, on two clusters or one after the other. */
#define IDENTITY_UID_HEADER "X-Ceems-Uid"
/* Set if the user was only named to the front end, too: no role, whatever else is
 * proved (the load balancer passes on what it was told). */
#define IDENTITY_NO_ROLE_HEADER "X-Ceems-No-Role"
#define IDENTITY_HEADERS_MAX 8 /* that may name a front end's user */
#define IDENTITY_NAMES_MAX 32  /* of a certificate that are looked at */

enum identity_way { WAY_MUNGE, WAY_CERTIFICATE, WAY_FRONT_END, WAY_TOKEN };

/* Which name in a user's certificate is the login. */
enum identity_certificate {
	CERTIFICATE_OFF,
	CERTIFICATE_CN,
	CERTIFICATE_EMAIL,
	CERTIFICATE_DNS
};

/* Borrowed by identity_new(), which copies. */
struct identity_params {
	bool munge;
	const char *munge_socket; /* NULL or "": libmunge's own */
	/* Names of this host, besides its own, in credentials; "*": any */
	const char *const *munge_hosts;
	size_t munge_host_count;
	bool munge_unbound; /* accept credentials made by the previous release */
	enum identity_certificate certificate;
	/* suffix to cut off, "@site.example"; names without it are refused */
	const char *certificate_suffix;
	/* "certificate:NAME", "password:USER", "munge:USER" or "munge:UID", each
	 * optionally with @ADDRESS or @RANGE (lib/party.h). MUNGE entries without one
	 * are accepted from this host only, unless front_end_addresses is set. */
	const char *const *front_ends;
	size_t front_end_count;
	/* ranges that entries without an address connect from; none: any address,
	 * except for MUNGE entries */
	const char *const *front_end_addresses;
	size_t front_end_address_count;
	/* A user who is only named by a front end may have a role. */
	bool front_end_roles;
	/* Who may read /metrics: "password:USER", "certificate:NAME", each optionally
	 * with @ADDRESS or @RANGE; none: see identity_check_metrics() */
	const char *const *metrics;
	size_t metrics_count;
	const char *const *user_headers; /* 1 to IDENTITY_HEADERS_MAX */
	size_t user_header_count;
	const char *token_keys; /* URL or file; NULL or "": tokens are refused */
	const char *token_ca_file;
	const char *const *token_issuers;
	size_t token_issuer_count;
	const char *const *token_audiences;
	size_t token_audience_count;
};

struct identity;

/* -EINVAL: an invalid parameter, named as the option of doc/config.md. */
int identity_new(const struct identity_params *params, struct identity **ret,
		 struct err *err);
void identity_free(struct identity *id); /* accepts NULL */
/* Whether the operator lists this address for front ends. Ranges wider than a /16 of
 * IPv4 or a /48 of IPv6 could be anybody and are not considered. */
bool identity_is_front_address(const struct identity *id, const struct netaddr *a);
/* The headers that may name a user, in order; NULL: no i-th header. Borrowed. */
const char *identity_user_header(const struct identity *id, size_t i);

struct munge_job;

struct identity_name {
	enum identity_certificate kind;
	const char *text;
};

/* What is known about a request, all of it borrowed and none of it trusted. */
struct identity_facts {
	const char *method, *target; /* of the request line, as it came */
	bool has_peer, has_local;
	struct netaddr peer, local; /* both ends of the connection */
	unsigned authorizations;    /* number of Authorization headers */
	const char *authorization;  /* the first; NULL: none */
	const char *password_user;  /* whose password was good; NULL: none */
	/* The decoded credential of authorization, as decoding works only once; NULL:
	 * identity_prove() decodes it. */
	const struct munge_job *munge;
	struct identity_name names[IDENTITY_NAMES_MAX]; /* of a verified certificate */
	size_t name_count;
	bool client_certificate; /* for clients only */
	struct {
		unsigned count;
		const char *first;
	} user[IDENTITY_HEADERS_MAX]; /* in the order of identity_user_header() */
	unsigned tokens;              /* number of X-Grafana-Id headers */
	const char *token;
	unsigned uids; /* number of IDENTITY_UID_HEADER headers */
	const char *uid;
	bool no_role; /* IDENTITY_NO_ROLE_HEADER is there */
};

struct identity_who {
	enum identity_way way;
	/* ASCII letters, digits and . _ @ + - $. "": only the uid is known, and this
	 * host has no login for it. */
	char login[IDENTITY_LOGIN_BYTES];
	bool has_uid;
	uint32_t uid; /* from MUNGE, or from a front end that names the login too */
	char front[IDENTITY_LOGIN_BYTES +
		   16]; /* as listed, "certificate:grafana"; "" */
	/* Only named by a front end, which gives no role here. A front end proved by
	 * MUNGE that sends the uid has proved it (the load balancer). */
	bool named;
	/* The login was not proved: records have it for the uid. Never set by
	 * identity_prove(). */
	bool of_records;
	/* MUNGE only: the hash that the body must have, for identity_check_body(); "":
	 * not known */
	char body[MUNGE_REQUEST_HASH_BYTES];
	/* Expiry of the token, seconds since the epoch; 0: no token. Until then the
	 * same request is of the same user. */
	uint64_t until_s;
};

/* May block on the MUNGE daemon, the user database or the keys of tokens. 0; else, with
 * a text for the caller of the API:
 *   -EACCES  the caller is not proved: 401
 *   -EPERM   it is, but may not send this header or these proofs: 403
 *   -EINVAL  a header is there twice, or is no login: 400
 *   -EHOSTDOWN  the service that would prove it does not answer: 503
 *   -ENOMEM
 * Thread safe. */
int identity_prove(struct identity *id, const struct identity_facts *f,
		   struct identity_who *ret, struct err *err);

/* Whether identity_prove() may block; a front end's password or certificate with the
 * user's header never does. */
bool identity_waits(const struct identity *id, const struct identity_facts *f);

/* The MUNGE credential that identity_prove() would decode, for munge_submit(); NULL:
 * there is none, or none is accepted. */
const char *identity_credential(const struct identity *id,
				const struct identity_facts *f);

/* Checks that the body is the one the credential was made for: 0, -EACCES. */
int identity_check_body(const struct identity_who *who, const void *body, size_t len,
			struct err *err);

/* Whether this caller, whom the web configuration admits, may read /metrics: it is one
 * of identity_params.metrics or, without such a list, anybody but a front end, which
 * all users are behind. Never a request that names a user. -EPERM. Does not block. */
int identity_check_metrics(const struct identity *id, const struct identity_facts *f,
			   struct err *err);

/* The HTTP status for an error of identity_prove(). */
unsigned identity_status(int rc);
/* "munge", "certificate", ... Static. */
const char *identity_way_name(enum identity_way way);
/* Whether s can be a login. */
bool identity_is_login(const char *s);

#endif
