/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_CONTAINERS_H
#define CEEMS_CONTRIB_K8S_CONTAINERS_H

#include <stdbool.h>
#include <stdint.h>

#include "contrib/adapter/teller.h"
#include "contrib/k8s/pods.h"

/*
 * The containers of one pod: what its status calls them, and those that have ended and
 * have not been told of. The group of one tells when it ended and what it used, the
 * status its name and exit code; they come in any order. Not thread safe.
 *
 * Told is a part of the pod's step (RECORD_PART), when both are known; without an exit
 * code after CONTAINER_STATUS_MS, or when the pod is over.
 */
#define CONTAINER_STATUS_MS 10000u
#define CONTAINER_ENDS_MAX 128u /* of a pod; the first of more is dropped */

struct containers {
	struct pod_container *named;
	uint32_t named_count;
	struct container_end *ends;
	uint32_t end_count;
};

/* What the status has now; without memory what it had. */
void containers_name(struct containers *c, const struct pod_info *info);
void containers_end(struct containers *c, const struct container_end *end);
/* Tells of those of pod uid that are ready. over: the pod is. */
void containers_send(struct containers *c, struct teller *t, const char *uid,
		     bool over);
void containers_done(struct containers *c); /* frees; accepts a zeroed one */

#endif
