/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_GATE_PROTOCOL_H
#define CEEMS_LB_GATE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/gate/call.h"
#include "lb/promql/access.h"
#include "lib/err.h"

/*
 * What the load balancer speaks: Prometheus' HTTP API and Pyroscope's. Each parses a
 * request into its own structure, adds its selectors to an access plan, and writes the
 * call that may be sent on. The decision is made in lb/promql/access.h only; user,
 * cluster and backend are the business of lb/gate/gate.h and lb/site/backend.h.
 */

/* The request as it came, all of it borrowed. */
struct protocol_input {
	bool post;         /* else GET (HEAD is answered as GET without its body) */
	const char *path;  /* as target_path() makes it */
	const char *query; /* behind "?", as it came; NULL: none */
	const void *body;
	size_t body_len;
	/* Headers: NULL if missing. A header sent twice has been refused before. */
	const char *content_type, *content_encoding, *accept, *accept_encoding;
	enum promql_dialect dialect;
	int64_t now_ms;
};

/* What to do with a request, by its path: */
enum protocol_verdict {
	PROTOCOL_PROVE,  /* its selectors must be proved */
	PROTOCOL_ANSWER, /* answered here, by answer() */
	PROTOCOL_PUBLIC, /* contains nobody's data (build info): any known user */
	PROTOCOL_ROLE,   /* parsed but not provable: for roles that the site names */
	PROTOCOL_CLOSED, /* for nobody: writes, unknown paths */
};

/* The times at which a request's queries are evaluated, also in the form of write(). */
struct protocol_times {
	int64_t start_ms, end_ms;
	char text[128]; /* to append to other parameters, each with its "&"; "": none */
};

struct protocol {
	const char *name; /* "prometheus", "pyroscope" */
	/* Static verdict for a path and method, before anything else is read. */
	enum protocol_verdict (*verdict)(const char *path, bool post);
	/* Errors as prom_request_read(): -EINVAL 400, -EACCES 403, -E2BIG 413 (422 for
	 * too many units), -EOPNOTSUPP 415, -ENOMEM. *ret is freed by free(). */
	int (*read)(const struct protocol_input *in, void **ret, struct err *err);
	void (*free)(void *request); /* accepts NULL */
	/* The cluster that the selectors name by this label with "=": 1 and its name;
	 * 0: none; -EINVAL: two different ones. */
	int (*cluster)(const void *request, const char *label, const char **ret,
		       struct err *err);
	int (*prove)(void *request, const struct access_policy *policy,
		     struct access_plan *plan, struct err *err);
	/* After access_decide() succeeded: the call to send. A role's request is
	 * written without a plan, narrowed to the cluster only. */
	int (*write)(void *request, struct call *ret, struct err *err);
	/* Separates the times from an otherwise plain request: appends the other
	 * parameters to key, so that two requests with the same key differ in their
	 * times only. False: read() is needed to understand it. NULL: always needed. */
	bool (*times)(const struct protocol_input *in, struct buf *key,
		      struct protocol_times *ret);
	/* PROTOCOL_ANSWER: the body of a 200, with its media type (static). */
	int (*answer)(void *request, struct buf *out, const char **type,
		      struct err *err);
	/* An error in the form of this protocol: body and media type (static). in: the
	 * request, for protocols whose errors have the form of the request. */
	void (*refuse)(const struct protocol_input *in, unsigned status,
		       const char *text, struct buf *out, const char **type);
};

extern const struct protocol protocol_prometheus, protocol_pyroscope;

#endif
