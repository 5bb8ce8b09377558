/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PYROSCOPE_PYRO_REQUEST_H
#define CEEMS_LB_PYROSCOPE_PYRO_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/gate/protocol.h"
#include "lb/promql/access.h"
#include "lb/pyroscope/pyro_body.h"
#include "lb/pyroscope/pyro_message.h"

/*
 * A request to Pyroscope in canonical form: the call, the times, and the selectors as
 * trees. What is sent on is composed from it, never copied.
 */

enum pyro_way {
	PYRO_RPC,         /* querier.v1: a message, pyro_body.h */
	PYRO_RENDER,      /* GET with a query, of the first Pyroscope API */
	PYRO_RENDER_DIFF, /* the same with two */
	PYRO_GET,         /* GET without anything */
	PYRO_LABEL,       /* GET with a label */
};

/* The table of calls; others are closed. */
struct pyro_call {
	const char *path;
	enum pyro_way way;
	enum protocol_verdict verdict;
	const struct pyro_type *type; /* of PYRO_RPC */
	bool labels;                  /* for labels or series, not profiles */
};

extern const struct pyro_call pyro_calls[];
extern const size_t pyro_call_count;
/* NULL: closed */
const struct pyro_call *pyro_call_of(const char *path);

#define PYRO_SELECTORS_MAX 64u
#define PYRO_TIME_MAX_MS 253402300799000ll /* 9999-12-31 */
/* Labels are stored with blocks of hours, or of a few days at most once compacted:
 * labels of whatever ran that near to the requested time are returned as well. */
#define PYRO_LABELS_SLACK_MS (24ll * 3600 * 1000)

struct pyro_selector {
	struct promql *query;     /* owned */
	struct pyro_value *value; /* where its text is written; NULL: use parameter */
	const char *parameter;    /* of a form; static */
	struct str type;          /* of profiles; len 0: any */
	bool narrow;              /* a request for labels that names nothing */
	int64_t from_ms, to_ms;   /* what it reads */
};

struct pyro_request {
	const struct pyro_call *call;
	struct pyro_form form;
	int64_t now_ms;
	bool of_now; /* some time in it means now */
	enum promql_dialect dialect;
	struct steps steps; /* budget for parsing and proving */
	struct pyro_arena arena;
	struct pyro_message *message; /* of PYRO_RPC */
	struct buf parameters;        /* of a form, all but selectors */
	struct pyro_selector selectors[PYRO_SELECTORS_MAX];
	size_t count;
};

/* Errors as in protocol.h. */
int pyro_request_read(const struct protocol_input *in, struct pyro_request **ret,
		      struct err *err) __attribute__((warn_unused_result));
void pyro_request_free(struct pyro_request *r); /* accepts NULL */

/* Adds a selector, parsed from text, to r: "{}" and "" select everything. type is
 * checked; len 0: any. -EINVAL, -E2BIG, -ENOMEM. */
int pyro_request_add(struct pyro_request *r, struct str text, struct str type,
		     struct pyro_selector **ret, struct err *err)
	__attribute__((warn_unused_result));
/* "<name>:<type>:<unit>:<period type>:<period unit>" with an optional ":delta" */
int pyro_check_type(struct str id, struct err *err) __attribute__((warn_unused_result));

/* pyro_render.c: the calls of the first Pyroscope API */
int pyro_render_read(struct pyro_request *r, const struct protocol_input *in,
		     struct err *err) __attribute__((warn_unused_result));
/* The query string after "?". Errors are the buffer's. */
void pyro_render_write(const struct pyro_request *r, struct buf *out);

#endif
