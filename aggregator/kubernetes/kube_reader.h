/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_KUBERNETES_KUBE_READER_H
#define CEEMS_AGGREGATOR_KUBERNETES_KUBE_READER_H

#include <stdatomic.h>

#include "aggregator/kubernetes/kube_client.h"
#include "aggregator/kubernetes/kube_json.h"
#include "lib/log.h"
#include "lib/periodic.h"
#include "lib/pg/pg.h"

/* Follows one cluster's pods, namespaces and role bindings into the database, on a
 * thread of its own. Of several aggregators the one that has the lock does. */

struct kube_reader {
	const struct kube *kube;
	const atomic_bool *stop;
	struct kube_client *client; /* NULL: there is no API server */
	struct pg *pg;
	struct periodic thread;
	int64_t cluster;                  /* its id in the database */
	char version[KUBE_VERSION_BYTES]; /* "": list all pods */
	uint64_t people_ns, whole_ns;     /* when they were read; 0: never */
	uint32_t page;                    /* objects of an answer; 0: not asked yet */
	struct log_repeat failing, bindings_failing;
	atomic_uint_fast64_t pods, lists, watches, failures, bad;
	atomic_uint_fast64_t read_ns; /* boottime of the last good turn; 0: none */
};

/* The periodic thread's turn. */
uint64_t kube_reader_turn(void *arg);

#endif
