/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_ADMISSION_REVIEW_H
#define CEEMS_CONTRIB_K8S_ADMISSION_REVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "contrib/k8s/admission/owner.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/records/claim.h"

/*
 * An AdmissionReview (admission.k8s.io v1 and v1beta1) and its answer. Nothing is ever
 * refused: accounting must not stop a pod. Pure: any bytes, no state.
 */

#define REVIEW_OWNER "ceems.io/created-by"
#define REVIEW_OWNER_UID "ceems.io/created-by-uid"
/* An UPDATE holds the object twice; the API server takes objects of 3 MiB, and writes a
 * character of theirs in up to six bytes ("\u003c"). What is longer has no owner. */
#define REVIEW_BYTES_MAX ((size_t)37 << 20)

enum review_path { REVIEW_MUTATE, REVIEW_VALIDATE };

struct review_result {
	bool patched;     /* the answer has a patch */
	bool overwritten; /* ... which takes an owner away that somebody had written */
	bool dry_run;
	bool has_claim; /* of REVIEW_VALIDATE, without cluster and time */
	struct claim claim;
};

/* Appends the answer to ret. -EBADMSG: no review that can be answered; -ENOMEM. */
int review_answer(const struct owner_rules *rules, enum review_path path,
		  const char *body, size_t len, struct buf *ret,
		  struct review_result *result, struct err *err);

#endif
