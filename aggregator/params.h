/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_PARAMS_H
#define CEEMS_AGGREGATOR_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Query parameters of an API request: which ones an endpoint takes, and their values,
 * checked and bounded before use. Accepts any text. */

#define PARAMS_MAX 128       /* in one request */
#define PARAM_BYTES_MAX 1024 /* of one value */

enum param_kind {
	PARAM_TEXT,    /* any UTF-8 without control characters */
	PARAM_ID,      /* a unit's id: letters, digits and . _ : + - , at most 128 */
	PARAM_FLAG,    /* "", true, false, ... */
	PARAM_TIME,    /* params_time() */
	PARAM_COUNT,   /* 1 to 1000 */
	PARAM_MANAGER, /* slurm, openstack, libvirt, k8s */
};

struct param_spec {
	const char *name;
	enum param_kind kind;
	bool repeats;
	const char *what; /* for the OpenAPI document */
};

struct param {
	const struct param_spec *spec;
	const char *value; /* borrowed from params.text */
	uint64_t number;   /* FLAG: 0 or 1; TIME: microseconds since 1970; COUNT */
};

struct param_set {
	char *text; /* owned: the decoded query */
	struct param items[PARAMS_MAX];
	size_t count;
};

/* Parses the query of target by the endpoint's parameters (NULL-terminated). Unknown
 * ones are refused, except those that the peer's clients send to all endpoints: these
 * are named in warnings. -EINVAL with a text for the client; -ENOMEM. now_us is the
 * time for relative times. */
int params_parse(const char *target, const struct param_spec *const specs[],
		 uint64_t now_us, struct param_set *ret, struct buf *warnings,
		 struct err *err);
void params_done(struct param_set *p);

/* Whether this is a valid unit id: PARAM_ID. */
bool params_is_id(const char *s, size_t len);

/* The first value; NULL: not given. */
const struct param *params_get(const struct param_set *p, const char *name);
bool params_has(const struct param_set *p, const char *name);
/* Appends all values as a JSON list of strings: "[]" if there is none. */
void params_list(const struct param_set *p, const char *name, struct buf *ret);

/* A time: seconds since 1970 ("1700000000"; a fraction is truncated; 13 digits are
 * milliseconds), RFC 3339 with a zone, "now", or "now-1d12h". -EINVAL, -ERANGE. */
int params_time(const char *s, uint64_t now_us, uint64_t *ret_us)
	__attribute__((warn_unused_result));

#endif
