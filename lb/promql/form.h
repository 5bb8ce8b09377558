/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROMQL_FORM_H
#define CEEMS_LB_PROMQL_FORM_H

#include <stddef.h>
#include <stdint.h>

#include "lb/promql/promql.h"
#include "lib/buf.h"
#include "lib/err.h"

/* Parses application/x-www-form-urlencoded (WHATWG URL, 5) strictly: anything ambiguous
 * is refused. */

#define FORM_FIELDS_MAX 128u

struct form_field {
	const char *name; /* NUL-terminated, no NUL inside */
	struct str value; /* any bytes but NUL */
};

struct form {
	struct form_field fields[FORM_FIELDS_MAX];
	size_t count;
	char *text; /* of names and values */
};

/* Zero-initialise. -EINVAL: a broken escape, a NUL, ";" as a separator, a name that is
 * empty or not plain; -E2BIG: too many fields. */
int form_read(const char *text, size_t len, struct form *ret, struct err *err)
	__attribute__((warn_unused_result));
void form_done(struct form *f);
#define auto_form __attribute__((cleanup(form_done)))

/* The only value of a name: 1; 0: missing; -EINVAL: there are two. */
int form_get(const struct form *f, const char *name, struct str *ret, struct err *err)
	__attribute__((warn_unused_result));

/* Appends name=value, with "&" before all but the first. */
void form_put(struct buf *out, const char *name, const char *value, size_t len);

#endif
