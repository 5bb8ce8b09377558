/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_POD_SIZE_H
#define CEEMS_LIB_HTTP_POD_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a pod requests, as the scheduler counts it (k8s.io/component-helpers,
 * resource.PodRequests): its containers and sidecars together, or the largest init
 * container with the sidecars that run by then, if that is more; and the overhead of
 * its runtime class. A container requests what its status says that it has (it may have
 * been resized in place), else what the specification says; its limit, where it
 * requests nothing. What a pod requests as a whole (spec.resources) wins. Nodes and the
 * aggregator count alike.
 */

struct pod_amount {
	uint64_t cpu_milli, memory_bytes;
};

enum pod_part {
	PART_CONTAINER,
	PART_INIT,
	PART_SIDECAR, /* an init container with restartPolicy Always */
	PART_OVERHEAD,
	PART_WHOLE,
};

struct pod_size {
	struct pod_amount sum, sidecars, init, overhead, whole;
};

/* In the order of the specification. Zero-initialise s. */
void pod_size_add(struct pod_size *s, enum pod_part part, const struct pod_amount *a);
/* now: what its status says that it has. init: it is an init container. */
void pod_size_add_container(struct pod_size *s, bool init, const char *restart_policy,
			    const struct pod_amount *now,
			    const struct pod_amount *asked);
struct pod_amount pod_size_total(const struct pod_size *s);

/* A quantity of Kubernetes ("100m", "1.5", "32Mi", "1e3"; apimachinery, resource.
 * Quantity) in thousandths, rounded up; any bytes. False: it is none, is negative or
 * too large. */
bool pod_quantity(const char *text, size_t len, uint64_t *ret_milli);
/* Takes a resource by its name: "cpu" and "memory", others are nothing. */
void pod_amount_set(struct pod_amount *a, const char *name, const char *text,
		    size_t len);
/* What requests has, else what limits has. */
struct pod_amount pod_amount_or(const struct pod_amount *requests,
				const struct pod_amount *limits);

#endif
