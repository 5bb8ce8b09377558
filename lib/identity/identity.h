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
 * Whose request it is, proved. The one place where that is decided, for the aggregator
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
 * A front end is one that the operator has listed; it names its user by one header, and
 * a token that comes with it must be of the same user. From anybody else such a header
 * is refused, not ignored: a request with two opinions about whose it is is nobody's.
 * Nobody is root by the word of a front end or Grafana.
 * What is used and does not hold is the end; there is no way back to a weaker proof.
 */

#define IDENTITY_MUNGE_PAYLOAD "ceems-api/1 "
#define IDENTITY_LOGIN_BYTES 129
/* The number of the user that a front end names, where it was proved to it: the same
 * login may be two people, of two clusters or one after the other. */
#define IDENTITY_UID_HEADER "X-Ceems-Uid"
/* There when its user was only named to the front end, too: no role, whatever else is
 * proved (the load balancer hands on what it was told). */
#define IDENTITY_NO_ROLE_HEADER "X-Ceems-No-Role"
#define IDENTITY_HEADERS_MAX 8 /* that may name a front end's user */
#define IDENTITY_NAMES_MAX 32  /* of a certificate that are looked at */

enum identity_way { WAY_MUNGE, WAY_CERTIFICATE, WAY_FRONT_END, WAY_TOKEN };

/* Which name of a user's certificate is the login. */
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
	/* Names that this host has beside its own, in credentials; "*": any */
	const char *const *munge_hosts;
	size_t munge_host_count;
	bool munge_unbound; /* credentials of a release before are good */
	enum identity_certificate certificate;
	/* cut from the name's end, "@site.example"; names without it are refused */
	const char *certificate_suffix;
	/* "certificate:NAME", "password:USER", "munge:USER" or its number, each with
	 * @ADDRESS or @RANGE behind it or not (lib/party.h). MUNGE's without one,
	 * where front_end_addresses has none either, are believed from this host. */
	const char *const *front_ends;
	size_t front_end_count;
	/* where those without an address connect from, as ranges; none: from anywhere,
	 * but for MUNGE's */
	const char *const *front_end_addresses;
	size_t front_end_address_count;
	/* Who is named by a front end alone may have a role; else that one has none. */
	bool front_end_roles;
	/* Who reads /metrics: "password:USER", "certificate:NAME", each with @ADDRESS
	 * or not, an address or a range; none: see identity_check_metrics() */
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

/* -EINVAL: a parameter makes no sense, named as the option of doc/config.md. */
int identity_new(const struct identity_params *params, struct identity **ret,
		 struct err *err);
void identity_free(struct identity *id); /* accepts NULL */
/* Whether it is an address that the operator lists for front ends. Ranges wider than a
 * /16 of IPv4 or a /48 of IPv6 say that anybody may be there, and are none. */
bool identity_is_front_address(const struct identity *id, const struct netaddr *a);
/* The headers that may name a user, in order; NULL: there is no i-th. Borrowed. */
const char *identity_user_header(const struct identity *id, size_t i);

struct munge_job;

struct identity_name {
	enum identity_certificate kind;
	const char *text;
};

/* What is known about a request, all of it borrowed. Texts may hold anything. */
struct identity_facts {
	const char *method, *target; /* of the request line, as it came */
	bool has_peer, has_local;
	struct netaddr peer, local; /* both ends of the connection */
	unsigned authorizations;    /* how many Authorization headers there are */
	const char *authorization;  /* the first; NULL: none */
	const char *password_user;  /* whose password was good; NULL: none */
	/* The credential of authorization as it was decoded, which can be done once;
	 * NULL: identity_prove() does so. */
	const struct munge_job *munge;
	struct identity_name names[IDENTITY_NAMES_MAX]; /* of a verified certificate */
	size_t name_count;
	bool client_certificate; /* which is for clients and nothing else */
	struct {
		unsigned count;
		const char *first;
	} user[IDENTITY_HEADERS_MAX]; /* in the order of identity_user_header() */
	unsigned tokens;              /* how many X-Grafana-Id there are */
	const char *token;
	unsigned uids; /* how many IDENTITY_UID_HEADER there are */
	const char *uid;
	bool no_role; /* IDENTITY_NO_ROLE_HEADER is there */
};

struct identity_who {
	enum identity_way way;
	/* Letters, digits and . _ @ + - $ of ASCII. "": only the uid is known, which
	 * this host has no name for. */
	char login[IDENTITY_LOGIN_BYTES];
	bool has_uid;
	uint32_t uid; /* MUNGE's, or a front end's word beside the login */
	char front[IDENTITY_LOGIN_BYTES +
		   16]; /* as listed, "certificate:grafana"; "" */
	/* By the word of a front end alone, which gives no role here. One by MUNGE that
	 * says the number has proved it (the load balancer). */
	bool named;
	/* The login was not proved: records have it for the number. identity_prove()
	 * never says so. */
	bool of_records;
	/* Of MUNGE: the hash that the body must have, for identity_check_body(); "":
	 * not known */
	char body[MUNGE_REQUEST_HASH_BYTES];
	/* Until when a token says so, seconds since the epoch; 0: no token does. The
	 * same request is of the same user until then. */
	uint64_t until_s;
};

/* Waits for the MUNGE daemon, the user database or a token's keys: not on threads that
 * must not. 0; else with words for whoever asks:
 *   -EACCES  it is not proved who asks: 401
 *   -EPERM   it is, and that one may not say what it says (a header, two proofs): 403
 *   -EINVAL  a header is there twice, or is no login: 400
 *   -EHOSTDOWN  what would prove it does not answer: 503
 *   -ENOMEM
 * Thread safe. */
int identity_prove(struct identity *id, const struct identity_facts *f,
		   struct identity_who *ret, struct err *err);

/* Whether identity_prove() may have to wait for somebody; what it knows itself (a front
 * end's password or certificate and the user's header) it says at once. */
bool identity_waits(const struct identity *id, const struct identity_facts *f);

/* The MUNGE credential that identity_prove() would look at, for munge_submit(); NULL:
 * none comes, or none is taken. */
const char *identity_credential(const struct identity *id,
				const struct identity_facts *f);

/* Whether the body that has come since is the one that who proved to send: 0, -EACCES.
 */
int identity_check_body(const struct identity_who *who, const void *body, size_t len,
			struct err *err);

/* Whether /metrics is for whoever asks, whom the web configuration has let in: one of
 * identity_params.metrics, or without such a list any but front ends, behind which all
 * users are. Never whose request names a user. -EPERM. Waits for nobody. */
int identity_check_metrics(const struct identity *id, const struct identity_facts *f,
			   struct err *err);

/* The HTTP status for an error of identity_prove(). */
unsigned identity_status(int rc);
/* "munge", "certificate", ... Static. */
const char *identity_way_name(enum identity_way way);
/* Whether s can be a login. */
bool identity_is_login(const char *s);

#endif
