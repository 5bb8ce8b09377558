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
 * The contents of the configuration file. Read-only: a reload makes another site, and
 * running requests keep a reference to theirs. All strings are the site's own.
 */

enum site_protocol { SITE_PROMETHEUS, SITE_PYROSCOPE, SITE_PROTOCOLS };

struct site_cluster {
	const char *id;
	/* For Prometheus' metrics, and for Pyroscope's labels. lookback_ms, cluster
	 * label and families are configured per cluster; the defaults fit our metrics
	 * and the peer's. */
	struct access_policy policy[SITE_PROTOCOLS];
	struct backend_set *backends[SITE_PROTOCOLS]; /* NULL: none */
};

/* The aggregator, which is asked about ownership. url NULL: all users' requests are
 * refused (fail closed), unless open is set explicitly. */
struct site_api {
	const char *const *urls; /* tried in order */
	size_t url_count;
	const char *ca_file, *cert_file, *key_file; /* client certificate */
	bool insecure;
	const char *user, *password,
		*password_file; /* credentials with which we are a front end */
	/* authenticate by MUNGE; the default without user and certificate */
	bool munge;
	const char *munge_socket; /* identity's; NULL: libmunge's default */
	uint32_t timeout_ms;
};

struct site_limits {
	uint32_t user_requests;         /* concurrent, per user; 0: no limit */
	uint32_t user_rate, user_burst; /* requests per second; 0: no limit */
	uint32_t ownership_s; /* how long an answer about ownership is valid, so the
			     delay of a revocation; default 60 */
	uint32_t unknown_s;   /* the same for units that are not known yet; default 3 */
	uint32_t linger_s;    /* how long series of an ended unit stay */
	uint32_t cache_entries;
};

struct site {
	const struct site_cluster *clusters;
	size_t cluster_count;
	struct site_api api;
	bool open; /* no access control at all: reported at each start, in /metrics and
		      in logs */
	struct site_limits limits;
	/* LOGIN or LOGIN:UID with a role by the configuration, besides those of the
	 * aggregator */
	const char *const *admins, *const *operators;
	size_t admin_count, operator_count;
	bool operators_read_all; /* operators need no proof for queries */
	bool audit, audit_query; /* log each decision; with the query's text */
	/* For gate_new() and gate_set_identity() */
	struct identity_params identity;
	const char *files; /* named in it, one path per line; "" */
	const char *notes; /* accepted settings without effect, one line each; "" */
};

#define SITE_BYTES_MAX (4u << 20)
#define SITE_CLUSTERS_MAX 256

/* Reads and checks a file: ours, or the peer's (ceems_lb, ceems_api_server, clusters);
 * doc/lb.md lists the keys. expand: replace $NAME and ${NAME} in values from the
 * environment. before: its unchanged backends keep their state; may be NULL. Errors
 * name file and line. A file that is writable by others, or contains secrets and is
 * readable by others, is refused. */
int site_read(const char *path, bool expand, const struct site *before,
	      struct site **ret, struct err *err);
/* The same for a text; file is its name in messages, and relative paths are relative
 * to its folder. Accepts any bytes. ret_secrets: it contains a secret itself; may be
 * NULL. */
int site_parse(const char *text, size_t len, const char *file, bool expand,
	       const struct site *before, struct site **ret, bool *ret_secrets,
	       struct err *err);
struct site *site_ref(struct site *s);
void site_unref(struct site *s); /* accepts NULL */

/* The cluster with this id; NULL: none. */
const struct site_cluster *site_cluster(const struct site *s, const char *id);

#endif
