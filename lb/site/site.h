/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_SITE_SITE_H
#define CEEMS_LB_SITE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/promql/access.h"
#include "lb/site/backend.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/identity/identity.h"

/*
 * What the configuration file says, read once and never changed: a reload makes another
 * site, requests under way keep theirs by reference. All strings are the site's own.
 */

enum site_protocol { SITE_PROMETHEUS, SITE_PYROSCOPE, SITE_PROTOCOLS };

struct site_cluster {
	const char *id;
	/* Of Prometheus' metrics, and of Pyroscope's labels. lookback_ms, cluster label
	 * and families are configured per cluster, with defaults that fit our metrics
	 * and the peer's. */
	struct access_policy policy[SITE_PROTOCOLS];
	struct backend_set *backends[SITE_PROTOCOLS]; /* NULL: it has none */
};

/* Where ownership is asked for: the aggregator. url NULL: access is decided for nobody,
 * all requests of users are refused (fail closed), unless open is set by hand. */
struct site_api {
	const char *const *urls; /* tried in order */
	size_t url_count;
	const char *ca_file, *cert_file, *key_file; /* client certificate */
	bool insecure;
	const char *user, *password, *password_file; /* of the front end that we are */
	/* who we are is proved by MUNGE; so by default, without user and certificate */
	bool munge;
	const char *munge_socket; /* that of identity; NULL: libmunge's own */
	uint32_t timeout_ms;
};

struct site_limits {
	uint32_t user_requests;         /* of one user at a time; 0: no limit */
	uint32_t user_rate, user_burst; /* requests per second; 0: no limit */
	uint32_t owned_s;   /* how long an answer about ownership holds: the time
			       in which a revocation is effective; default 60 */
	uint32_t unknown_s; /* the same for units that are not known yet: 3 */
	uint32_t linger_s;  /* series of a unit that ended are still there */
	uint32_t cache_entries;
};

struct site {
	const struct site_cluster *clusters;
	size_t cluster_count;
	struct site_api api;
	bool open; /* no access control at all: said at each start, in /metrics and logs
		    */
	struct site_limits limits;
	/* LOGIN or LOGIN:UID with a role by the file, beside those that the aggregator
	 * says */
	const char *const *admins, *const *operators;
	size_t admin_count, operator_count;
	bool operators_read_all; /* role operator passes unproved for queries */
	bool audit, audit_query; /* each decision is logged; with the query's text */
	/* Whose request it is: for gate_new() and gate_set_identity() */
	struct identity_params identity;
	const char *files; /* that it names, one path per line; "" */
	const char *notes; /* what was taken but is not acted on, one line each; "" */
};

#define SITE_BYTES_MAX (4u << 20)
#define SITE_CLUSTERS_MAX 256

/* Reads and checks a file: ours, or the peer's (ceems_lb, ceems_api_server, clusters);
 * doc/lb.md lists the keys. expand: $NAME and ${NAME} in values are the environment's.
 * before: backends that are the same keep their state; NULL. Errors name file and line.
 * A file that others may write, or that has secrets and others may read, is refused.
 */
int site_read(const char *path, bool expand, const struct site *before,
	      struct site **ret, struct err *err);
/* The same of a text; file is its name in messages and its folder that of relative
 * paths. Total on any bytes. ret_secrets: it holds one itself; may be NULL. */
int site_parse(const char *text, size_t len, const char *file, bool expand,
	       const struct site *before, struct site **ret, bool *ret_secrets,
	       struct err *err);
struct site *site_hold(struct site *s);
void site_drop(struct site *s); /* accepts NULL */

/* The cluster of this id; NULL: there is none. */
const struct site_cluster *site_cluster(const struct site *s, const char *id);

#endif
