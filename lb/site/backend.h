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
 * Servers behind the load balancer, and which of them gets a call. A set belongs to one
 * cluster and one protocol. Thread safe: all workers pick from the same sets; what
 * changes is atomic and pick() takes no lock that is held while anything waits.
 */

struct backend_set;

/* One server. What is public here never changes while it lives; borrowed while picked
 * or held. A backend that is the same after a reload keeps its state. */
struct backend {
	const char *name; /* as logs and metrics say it: scheme://host:port/path */
	const char *host; /* name or address, without brackets */
	uint16_t port;
	bool tls;
	const char *base_path; /* before each target: "" or "/prometheus" */
	/* "Host: ..." and, with credentials, "Authorization: ...", more headers of the
	 * site, each ended by CR LF: as it is put into each request */
	const char *fixed_headers;
	/* TLS, as in lib/http/client.h's config; NULL: default */
	const char *ca_file, *cert_file, *key_file, *server_name;
	bool insecure;
	uint32_t connect_timeout_ms, timeout_ms; /* timeout: until the answer is over */
	uint32_t first_byte_timeout_ms; /* until its head is there; 0: as timeout */
	/* labels that are taken out of its answers (filter_labels) */
	const char *const *filter_labels;
	size_t filter_label_count;
};

struct backend *backend_hold(struct backend *b); /* one more reference; returns b */
void backend_drop(struct backend *b);            /* accepts NULL */

/* The one to send to, counted as busy until backend_ended(). Never `not_this` (that
 * failed just now; NULL: any). Errors, told to whoever asks: -EHOSTUNREACH none is
 * healthy (502), -EBUSY all that are have as much as they may (503), -ERANGE none holds
 * this time (422). */
int backend_pick(struct backend_set *s, int64_t from_ms, int64_t to_ms, int64_t now_ms,
		 const struct backend *not_this, struct backend **ret, struct err *err);

enum backend_outcome {
	BACKEND_ANSWERED, /* whatever its status below 500, or 500 and 503 by its API */
	BACKEND_FAILED,   /* refused, reset, cut, not HTTP, 502, 504: its own fault */
	BACKEND_TIMED_OUT, /* its own fault as well, counted apart */
	BACKEND_CANCELLED, /* the client went: says nothing of it */
};
/* Ends what backend_pick() began, with the time to its first byte. */
void backend_ended(struct backend *b, enum backend_outcome how, uint32_t first_byte_ms);

/* The oldest dialect among its servers that are well (all, when none is), by build info
 * or as the site says. */
enum promql_dialect backend_set_dialect(const struct backend_set *s);

#endif
