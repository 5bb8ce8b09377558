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
 * What the load balancer speaks: Prometheus' HTTP API and Pyroscope's. Each reads a
 * request into a thing of its own, adds the selectors in it to an access plan, and
 * writes what may be sent on. Deciding is lb/promql/access.h's alone; who asks, for
 * which cluster, and where it is sent is lb/gate/gate.h's and lb/site/backend.h's.
 */

/* What came, all of it borrowed. */
struct protocol_input {
	bool post;         /* else GET (HEAD is answered as GET without its body) */
	const char *path;  /* as target_path() makes it */
	const char *query; /* behind "?", as it came; NULL: none */
	const void *body;
	size_t body_len;
	/* Of headers: NULL where it is not there. One that is there twice was refused.
	 */
	const char *content_type, *content_encoding, *accept, *accept_encoding;
	enum promql_dialect dialect;
	int64_t now_ms;
};

/* What a request is, by its path: */
enum protocol_verdict {
	PROTOCOL_PROVE,  /* its selectors are to be proved */
	PROTOCOL_ANSWER, /* answered here, by answer() */
	PROTOCOL_PUBLIC, /* tells nothing of anybody (build info): any known user */
	PROTOCOL_ROLE,   /* read, but not provable: for roles that the site names */
	PROTOCOL_CLOSED, /* for nobody: writes, unknown paths */
};

/* At which times a request's queries are evaluated, and these as write() writes them.
 */
struct protocol_times {
	int64_t start_ms, end_ms;
	char text[128]; /* behind other parameters, each with its "&"; "": none */
};

struct protocol {
	const char *name; /* "prometheus", "pyroscope" */
	/* Static verdict for a path and method, before anything else is read. */
	enum protocol_verdict (*verdict)(const char *path, bool post);
	/* Errors as prom_request_read(): -EINVAL 400, -EACCES 403, -E2BIG 413 (422 for
	 * too many units), -EOPNOTSUPP 415, -ENOMEM. *ret is freed by free(). */
	int (*read)(const struct protocol_input *in, void **ret, struct err *err);
	void (*free)(void *request); /* accepts NULL */
	/* The cluster that all selectors name by this label with "=", when they name
	 * one: 1 and its name; 0: none does; -EINVAL: two of them differ. */
	int (*cluster)(const void *request, const char *label, const char **ret,
		       struct err *err);
	int (*prove)(void *request, const struct access_policy *policy,
		     struct access_plan *plan, struct err *err);
	/* After access_decide() was good: what is sent on. A request of a role is
	 * written without a plan, narrowed to nothing but the cluster. */
	int (*write)(void *request, struct call *ret, struct err *err);
	/* Takes the times out of a request that is otherwise plain: appends to key what
	 * of the parameters is left, so that two requests with one key differ in their
	 * times alone. False: it takes read() to understand it. NULL: of this protocol
	 * always. */
	bool (*times)(const struct protocol_input *in, struct buf *key,
		      struct protocol_times *ret);
	/* PROTOCOL_ANSWER: the body of a 200, with its media type (static). */
	int (*answer)(void *request, struct buf *out, const char **type,
		      struct err *err);
	/* An error as clients of this protocol show it: body and media type (static).
	 * in: what asked, for protocols that answer in the form they were asked in. */
	void (*refuse)(const struct protocol_input *in, unsigned status,
		       const char *text, struct buf *out, const char **type);
};

extern const struct protocol protocol_prometheus, protocol_pyroscope;

#endif
