/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_SITE_BACKEND_H
#define CEEMS_LB_SITE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/promql/promql.h"
#include "lib/err.h"
#include "lib/prom.h"

/*
 * The servers behind the load balancer, and the choice between them. A set belongs to
 * one cluster and one protocol. Thread safe: all workers pick from the same sets; state
 * is atomic, and backend_pick() takes no lock that anybody holds while blocking.
 */

struct backend_set;

/* One server. Its public members never change; borrowed while picked or held. A backend
 * that is unchanged by a reload keeps its state. */
struct backend {
	const char *name; /* for logs and metrics: scheme://host:port/path */
	const char *host; /* name or address, without brackets */
	uint16_t port;
	bool tls;
	const char *base_path; /* before each target: "" or "/prometheus" */
	/* "Host: ..." and, with credentials, "Authorization: ...", and the site's other
	 * headers, each ended by CR LF, for every request */
	const char *fixed_headers;
	/* TLS, as in lib/http/client.h's config; NULL: default */
	const char *ca_file, *cert_file, *key_file, *server_name;
	bool insecure;
	uint32_t connect_timeout_ms,
		timeout_ms;             /* timeout: until the end of the answer */
	uint32_t first_byte_timeout_ms; /* until its head has come; 0: as timeout */
	/* labels to remove from its answers (filter_labels) */
	const char *const *filter_labels;
	size_t filter_label_count;
};

struct backend *backend_ref(struct backend *b); /* one more reference; returns b */
void backend_unref(struct backend *b);          /* accepts NULL */

/* What a request needs of a server. */
struct backend_need {
	int64_t from_ms, to_ms; /* the data it reads */
	int64_t now_ms;
	enum promql_dialect dialect;    /* for which it was proved */
	const struct backend *not_this; /* it has just failed; NULL: any will do */
};

/* Picks a server, which counts as busy until backend_ended(). None that may be no
 * Prometheus gets what was proved for Prometheus, though it came back, or turned out to
 * be one, since. Errors, with texts for the client: -EHOSTUNREACH: none is healthy
 * (502); -EBUSY: all healthy ones are at their limit, or of that kind (503); -ERANGE:
 * none holds this time (422). */
int backend_pick(struct backend_set *s, const struct backend_need *need,
		 struct backend **ret, struct err *err);

enum backend_outcome {
	BACKEND_ANSWERED,  /* any status below 500, or 500 and 503 from its API */
	BACKEND_FAILED,    /* refused, reset, closed early, not HTTP, 502, 504: its own
			      fault */
	BACKEND_TIMED_OUT, /* also its own fault, counted separately */
	BACKEND_CANCELLED, /* the client left: says nothing about the server */
};
/* Ends what backend_pick() began, with the time to its first byte. */
void backend_ended(struct backend *b, enum backend_outcome how, uint32_t first_byte_ms);

/* The oldest dialect among its healthy servers (among all, if none is), from their
 * build info or the configuration. */
enum promql_dialect backend_set_dialect(const struct backend_set *s);

#endif
