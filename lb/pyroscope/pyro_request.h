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
 * A request to Pyroscope as one canonical thing: which call, which times, which
 * selectors as trees. What is sent on is made anew from it, never copied.
 */

enum pyro_way {
	PYRO_RPC,         /* querier.v1: a message, pyro_body.h */
	PYRO_RENDER,      /* GET with a query, of the first Pyroscope */
	PYRO_RENDER_DIFF, /* the same with two */
	PYRO_GET,         /* GET without anything */
	PYRO_LABEL,       /* GET with a label */
};

/* The table: what is not in it is closed. */
struct pyro_call {
	const char *path;
	enum pyro_way way;
	enum protocol_verdict verdict;
	const struct pyro_type *type; /* of PYRO_RPC */
	bool labels;                  /* asks for labels or series, not for profiles */
};

extern const struct pyro_call pyro_calls[];
extern const size_t pyro_call_count;
/* NULL: closed */
const struct pyro_call *pyro_call_of(const char *path);

#define PYRO_SELECTORS_MAX 64u
#define PYRO_TIME_MAX_MS 253402300799000ll /* 9999-12-31 */
/* Labels are kept with blocks of hours and of a few days at most when they have been
 * compacted: what lived that near to the time asked for is answered as well. */
#define PYRO_LABELS_SLACK_MS (24ll * 3600 * 1000)

struct pyro_selector {
	struct promql *query;     /* owned */
	struct pyro_value *value; /* where its text goes; NULL: parameter is set */
	const char *parameter;    /* of a form; static */
	struct str type;          /* of profiles; len 0: any */
	bool narrow;              /* it names nothing, and asks for labels */
	int64_t from_ms, to_ms;   /* what it reads */
};

struct pyro_request {
	const struct pyro_call *call;
	struct pyro_form form;
	int64_t now_ms;
	bool of_now; /* some time of it stands for now */
	enum promql_dialect dialect;
	struct steps steps; /* that reading and proving may take */
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

/* Adds a selector, parsed from text, to r: "{}" and "" select all there is. type is
 * checked, its len 0: any. -EINVAL, -E2BIG, -ENOMEM. */
int pyro_request_add(struct pyro_request *r, struct str text, struct str type,
		     struct pyro_selector **ret, struct err *err)
	__attribute__((warn_unused_result));
/* "<name>:<type>:<unit>:<period type>:<period unit>" with an optional ":delta" */
int pyro_check_type(struct str id, struct err *err) __attribute__((warn_unused_result));

/* pyro_render.c: the forms of the first Pyroscope */
int pyro_render_read(struct pyro_request *r, const struct protocol_input *in,
		     struct err *err) __attribute__((warn_unused_result));
/* What stands behind "?". Errors are the buffer's. */
void pyro_render_write(const struct pyro_request *r, struct buf *out);

#endif
