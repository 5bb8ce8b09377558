/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PYROSCOPE_PYRO_MESSAGE_H
#define CEEMS_LB_PYROSCOPE_PYRO_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lb/promql/promql.h"
#include "lib/buf.h"
#include "lib/err.h"

/*
 * Request messages of Pyroscope's querier (querier/v1/querier.proto and
 * types/v1/types.proto of its API), as a tree of values that the tables in
 * pyro_schema.c describe, read from protobuf or from its JSON and written as either.
 * Fields missing in the tables are dropped, so that what is written contains nothing
 * that was not parsed. Anything ambiguous is refused: a repeated field, a wrong wire
 * type, groups, text that is not UTF-8 or has a NUL.
 */

enum pyro_kind {
	PYRO_STRING,
	PYRO_INT64,
	PYRO_UINT32,
	PYRO_BOOL,
	PYRO_DOUBLE,
	PYRO_ENUM,
	PYRO_MESSAGE,
};

/* What a field means for the proof. */
enum pyro_role {
	PYRO_PLAIN,    /* affects what is made of profiles, not which are read */
	PYRO_TYPE,     /* the id of the type of profiles */
	PYRO_SELECTOR, /* one selector; repeated: a union of them */
	PYRO_FROM,     /* milliseconds since the epoch */
	PYRO_TO,
	PYRO_STEP,    /* seconds; one step before FROM is read too */
	PYRO_HANDLE,  /* refers to an earlier request: must be empty */
	PYRO_DROPPED, /* is not sent on */
};

struct pyro_type;

struct pyro_field {
	uint32_t number;
	enum pyro_kind kind;
	bool repeated;
	bool optional; /* 0 differs from missing */
	enum pyro_role role;
	const char *name, *json;      /* both are accepted in JSON */
	const struct pyro_type *type; /* of a message */
	const char *const *values;    /* of an enum, indexed by number */
	uint32_t value_count;
};

struct pyro_type {
	const char *name;
	const struct pyro_field *fields; /* by number, ascending */
	size_t count;
};

struct pyro_value {
	struct pyro_value *next; /* by field, then as they came */
	const struct pyro_field *field;
	union {
		struct str string;
		int64_t integer; /* also uint32, bool and enum */
		double number;
		struct pyro_message *message;
	};
};

struct pyro_message {
	const struct pyro_type *type;
	struct pyro_value *values;
	struct pyro_value **last; /* of each field of the type; NULL: no value yet */
};

/* A tree's memory, freed as a whole. Zero-initialise. */
struct pyro_arena {
	struct pyro_chunk *chunks;
	char *room;
	size_t left;
	uint32_t values;     /* made so far */
	struct steps *steps; /* for parsing; NULL: not counted */
};
#define PYRO_VALUES_MAX 1024u /* values of one request */
#define PYRO_DEPTH_MAX 16u    /* nested messages */
#define PYRO_BODY_MAX (256u << 10)

void pyro_arena_done(struct pyro_arena *a);
/* Zeroed; NULL: no memory. */
void *pyro_alloc(struct pyro_arena *a, size_t size);
int pyro_keep(struct pyro_arena *a, const void *bytes, size_t len, struct str *ret);

/* Adds a value to a message in its place. -EINVAL: it is there and not repeated;
 * -E2BIG: too many values; -ENOMEM. */
int pyro_add(struct pyro_arena *a, struct pyro_message *m, const struct pyro_field *f,
	     struct pyro_value **ret, struct err *err)
	__attribute__((warn_unused_result));
struct pyro_message *pyro_new(struct pyro_arena *a, const struct pyro_type *type);
/* The first value of a role; NULL: none. */
struct pyro_value *pyro_find(const struct pyro_message *m, enum pyro_role role);
const struct pyro_field *pyro_field_of(const struct pyro_type *t, enum pyro_role role);
/* Whether it means the same as if it were missing. */
bool pyro_is_default(const struct pyro_value *v);

/* Bytes are copied. -EINVAL, -E2BIG, -ENOMEM. */
int pyro_read_proto(struct pyro_arena *a, const struct pyro_type *type,
		    const void *bytes, size_t len, struct pyro_message **ret,
		    struct err *err) __attribute__((warn_unused_result));
int pyro_read_json(struct pyro_arena *a, const struct pyro_type *type, const char *text,
		   size_t len, struct pyro_message **ret, struct err *err)
	__attribute__((warn_unused_result));
/* Writes fields in the order of their numbers, except those with PYRO_DROPPED and zeros
 * (unless optional). Errors are the buffer's. */
void pyro_write_proto(const struct pyro_message *m, struct buf *out);
void pyro_write_json(const struct pyro_message *m, struct buf *out);

extern const struct pyro_type pyro_profile_types, pyro_label_values, pyro_label_names,
	pyro_series, pyro_stacktraces, pyro_span_profile, pyro_profile,
	pyro_select_series, pyro_heatmap, pyro_diff, pyro_nothing, pyro_analyze;

#endif
