/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_CONTAINERS_H
#define CEEMS_CONTRIB_K8S_CONTAINERS_H

#include <stdbool.h>
#include <stdint.h>

#include "contrib/adapter/teller.h"
#include "contrib/k8s/pods.h"

/*
 * The containers of one pod: what its status calls them, those that run, and those that
 * have ended and have not been told of. The group of one tells when it began and ended
 * and what it used, the status its name and exit code; they come in any order. Not
 * thread safe.
 *
 * Told is a part of the pod's step (RECORD_PART): its start when its name is known, its
 * end when both are known; without an exit code after CONTAINER_STATUS_MS, or when the
 * pod is over.
 */
#define CONTAINER_STATUS_MS 10000u
/* Of a pod, that have ended; the first of more is dropped. Those that run are bounded
 * by who sees their groups. */
#define CONTAINERS_MAX 128u

struct containers {
	struct pod_container *named;
	uint32_t named_count;
	struct kept_container *kept;
	uint32_t count;
};

struct containers_pod {
	const char *uid;
	const char *path; /* of its control group; NULL: its start was not told */
	uint32_t bits;    /* the hierarchies that have it: enum record_cgroup_bit */
	bool over;
};

/* What the status has now; without memory what it had. */
void containers_name(struct containers *c, const struct pod_info *info);
/* group: its name below the pod's. */
void containers_begin(struct containers *c, const struct container_run *run,
		      const char *group);
void containers_end(struct containers *c, const struct container_run *run);
/* Tells of those of this pod that are ready. */
void containers_send(struct containers *c, struct teller *t,
		     const struct containers_pod *pod);
/* The ring is another: what runs is told again. */
void containers_again(struct containers *c);
void containers_done(struct containers *c); /* frees; accepts a zeroed one */

#endif
