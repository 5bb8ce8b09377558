/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_RDMA_RDMA_SAMPLE_H
#define CEEMS_DAEMON_RDMA_RDMA_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/node/ib_ports.h"
#include "daemon/rdma/rdma_message.h"
#include "lib/err.h"
#include "lib/records/record.h"

/* What all processes hold of all RDMA devices at one moment, by the steps that these
 * processes are in, and the state of the ports. */

#define RDMA_DEVICES_MAX 256u
/* Pairs of a process and a port (or device) that are told apart; what is beyond counts
 * as held outside of any step. */
#define RDMA_HOLDERS_MAX 32768u
/* Counters of queue pairs in a sample; what is beyond is not read. */
#define RDMA_SAMPLE_COUNTERS_MAX 8192u

struct rdma_held {
	uint64_t qps, cqs, cqes, mrs, mr_bytes;
};
void rdma_held_add(struct rdma_held *to, const struct rdma_held *h); /* clamps */

struct rdma_row {
	uint32_t device; /* in devices */
	uint32_t port;   /* queue pairs: of this port, 0: of none yet; all else: 0 */
	bool kernel;
	char path[RECORD_CGROUP_MAX]; /* the step's control group, "": of none */
	struct rdma_held held;
};

struct rdma_device {
	uint32_t index; /* the kernel's */
	uint32_t known; /* mask of enum rdma_kind that the kernel told in full */
	char name[RDMA_NAME_BYTES];
};

enum rdma_port_counter {
	RDMA_PORT_CONSTRAINT_RECEIVED,
	RDMA_PORT_CONSTRAINT_TRANSMITTED,
	RDMA_PORT_BYTES_RECEIVED,
	RDMA_PORT_BYTES_TRANSMITTED,
	RDMA_PORT_DISCARDS_RECEIVED,
	RDMA_PORT_DISCARDS_TRANSMITTED,
	RDMA_PORT_ERRORS_RECEIVED,
	RDMA_PORT_PACKETS_RECEIVED,
	RDMA_PORT_PACKETS_TRANSMITTED,
	RDMA_PORT_COUNTERS
};

struct rdma_port {
	char device[IB_NAME_BYTES], port[IB_NAME_BYTES];
	bool has_state;
	uint32_t has; /* mask of enum rdma_port_counter */
	uint64_t state, counters[RDMA_PORT_COUNTERS];
};

/* What a counter that queue pairs are bound to has */
struct rdma_counter {
	uint32_t device; /* in devices */
	uint32_t port, id, pid;
	char path[RECORD_CGROUP_MAX];
	uint32_t has; /* mask of rdma_counter_names */
	uint64_t values[RDMA_COUNTERS];
};

struct rdma_sample {
	struct rdma_device devices[RDMA_DEVICES_MAX];
	size_t device_count;
	struct rdma_row *rows; /* each path, device and port once */
	size_t row_count;
	struct rdma_port *ports;
	size_t port_count, port_room;
	struct rdma_counter *counters;
	size_t counter_count, counter_room;
	uint64_t begun_ns, ended_ns; /* boot time */
	struct err partial;          /* what could not be read; "" */
};

/* Takes one; for a thread that nothing waits for. stop ends it early (-ECANCELED).
 * -ENODEV: there is no class of such devices; -ENOMEM. */
int rdma_sample_take(const struct env *env, const atomic_bool *stop,
		     struct rdma_sample **ret, struct err *err);
void rdma_sample_free(struct rdma_sample *s); /* accepts NULL */

#endif
