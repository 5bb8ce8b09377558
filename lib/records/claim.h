/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_CLAIM_H
#define CEEMS_LIB_RECORDS_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/*
 * A claim: who asked Kubernetes' API server to create an object, as the admission
 * webhook saw it. The object's uid is the one that its control group will have; whether
 * it was created nobody knows yet. Record type 34 of the spool (lib/records/tlv.h).
 * Unknown fields are skipped, required ones checked; the decoder accepts any bytes.
 * Source: k8s.io/api/admission/v1, AdmissionRequest.
 */

#define CLAIM_TYPE 34u
#define CLAIM_BYTES_MAX 4096u /* every claim fits */

enum claim_by {
	CLAIM_BY_USER = 1,       /* who asked is the owner */
	CLAIM_BY_NAMER = 2,      /* an account that may name owners named it */
	CLAIM_BY_CONTROLLER = 3, /* a controller took it from a template */
};

/* Texts are "" where they are not known. None is ever cut: two owners must not become
 * one. */
struct claim {
	char cluster[256];
	char kind[64]; /* "Pod" */
	char uid[64];
	char namespace[64]; /* "" for an object that is in none */
	char name[256];     /* "" where the API server makes it up later */
	char owner[1024];   /* Kubernetes' name of the user; "": nobody is known */
	char owner_uid[256];
	char controller[64]; /* uid of the object that it is a part of */
	uint64_t at_ns;      /* CLOCK_REALTIME of the review */
	uint8_t by;          /* enum claim_by */
};

/* CLAIM_BYTES_MAX bytes always suffice. Returns the length; -EMSGSIZE; -EINVAL: a
 * required field (cluster, kind, uid, at_ns, by) is missing. */
int claim_encode(const struct claim *c, void *buf, size_t size);

/* 0, or -EPROTO with a text that names the field. On failure *ret is undefined. */
int claim_decode(const void *data, size_t len, struct claim *ret, struct err *err);

#endif
