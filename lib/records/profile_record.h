/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_PROFILE_RECORD_H
#define CEEMS_LIB_RECORDS_PROFILE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/records/spool.h"

/*
 * One finished profile on its way from a node to the profile store: what ceems-profiler
 * puts into a spool of its own and ceems-courier sends. Record type 48 of the spool:
 * fields as in lib/records/tlv.h, the profile's bytes in as many fields as they need.
 * Unknown fields are skipped, required ones checked; the decoder accepts any bytes.
 *
 * A record is small enough for the store: who writes one splits a larger profile
 * (profiler/stack_parts.h). Limits of Grafana Pyroscope's distributor, by default:
 * pkg/validation/limits.go.
 */

/* A POST to an aggregator has one record as its body, as it stands in the spool. */
#define PROFILE_PATH "/api/v1/profiles"
#define PROFILE_TYPE "application/x-ceems-profile"

#define PROFILE_RECORD_TYPE 48u
#define PROFILE_RECORD_VERSION 1u

#define PROFILE_SAMPLES_MAX 16000u            /* stacks of one profile */
#define PROFILE_PLAIN_MAX ((size_t)4 << 20)   /* its bytes before gzip */
#define PROFILE_DEPTH_MAX 1000u               /* frames of a stack */
#define PROFILE_TOLD_BYTES ((size_t)16 << 10) /* room for all but the bytes */
#define PROFILE_PACKED_MAX (SPOOL_RECORD_MAX - PROFILE_TOLD_BYTES) /* gzip */

#define PROFILE_LABELS_MAX 16u
#define PROFILE_LABEL_NAME_MAX 64u
#define PROFILE_LABEL_VALUE_MAX 255u

/* A name is [a-zA-Z_][a-zA-Z0-9_]* and does not begin with "__", which is the store's
 * own; a value is UTF-8 without control characters, and not empty. */
struct profile_label {
	const char *name, *value;
};

struct profile_record {
	/* The store's name of the kind of profile, "process_cpu", as a label's name;
	 * types and units are in the profile itself. */
	const char *name;
	uint64_t from_ns, until_ns; /* Unix time of the first and the last sample */
	uint64_t samples;           /* taken, to say what is lost with the record */
	uint64_t plain_bytes;       /* of the profile before gzip */
	/* service_name, by which the store shows it, is required and equals uuid;
	 * others are uuid, hostname, manager, cluster, step and rank */
	struct profile_label labels[PROFILE_LABELS_MAX];
	size_t label_count;
	const void *data; /* pprof, packed by gzip */
	size_t len;
	char *memory; /* holds labels and data after profile_record_decode(); else NULL
		       */
};

/* The value of a label; NULL: it has none of that name. */
const char *profile_record_label(const struct profile_record *r, const char *name);

/* Encodes into buf, for which SPOOL_RECORD_MAX bytes always suffice. Returns the
 * length; -EINVAL: a text, a time or a size is not as said above; -EMSGSIZE: no room.
 */
int profile_record_encode(const struct profile_record *r, void *buf, size_t size,
			  struct err *err) __attribute__((warn_unused_result));
/* Appends it to a spool as SPOOL_INTERVAL, which is given up oldest first: so a spool
 * of profiles has at most its bytes. A failure has been counted as a loss there. Errors
 * are those of profile_record_encode() and spool_append(). */
int profile_record_put(struct spool_writer *w, const struct profile_record *r,
		       struct err *err) __attribute__((warn_unused_result));

/* Decodes any bytes: 0, -EPROTO with a text that names the field, or -ENOMEM. On
 * success the caller frees with profile_record_done(); on failure ret is untouched. */
int profile_record_decode(const void *data, size_t len, struct profile_record *ret,
			  struct err *err) __attribute__((warn_unused_result));
/* NULL-safe, idempotent. */
void profile_record_done(struct profile_record *r);
#define auto_profile_record __attribute__((cleanup(profile_record_done)))

#endif
