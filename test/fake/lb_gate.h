/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_FAKE_LB_GATE_H
#define CEEMS_TEST_FAKE_LB_GATE_H

#include <stdatomic.h>

#include "lb/gate/gate.h"
#include "lb/site/backend.h"

/* A gate that allows everything, and backends that take turns, for tests of what lies
 * between. Paths that begin with /wait are decided by another thread after 20 ms;
 * /refuse is refused with 403, /answer is answered by the gate. */

#define FAKE_BACKENDS_MAX 8

struct fake_backend {
	struct backend public;
	char name[64], host[64], headers[96];
	atomic_uint refs, picked, ended[BACKEND_CANCELLED + 1];
};

struct backend_set {
	struct fake_backend backends[FAKE_BACKENDS_MAX];
	size_t count;
	atomic_uint next;
};

/* "HOST:PORT" or "tls:HOST:PORT"; -EINVAL. */
int fake_backend_add(struct backend_set *s, const char *text);

int fake_gate_new(struct backend_set *s, struct gate **ret);

#endif
