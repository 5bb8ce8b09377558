/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_RDMA_RDMA_READER_H
#define CEEMS_DAEMON_RDMA_RDMA_READER_H

#include "daemon/rdma/rdma_counts.h"
#include "daemon/rdma/rdma_sample.h"

/* Takes samples on a thread of its own: for each queue pair the kernel may have to ask
 * the device, which no scrape waits for. Every five seconds, or so seldom that it is
 * busy for a tenth of the time at most. */
#define RDMA_PERIOD_MS 5000u

struct rdma_reader;

/* env outlives it. Starts no thread yet. */
int rdma_reader_new(const struct env *env, struct rdma_reader **ret, struct err *err);
/* Ends the thread. One that hangs in the kernel is abandoned. Accepts NULL. */
void rdma_reader_free(struct rdma_reader *r);

/* The last sample, and the counters of all so far, the reader's until
 * rdma_reader_give(). The first call starts the thread, after privileges were dropped,
 * and waits a moment for the first sample. -EAGAIN: none yet; -ETIMEDOUT: too old to be
 * shown. */
int rdma_reader_take(struct rdma_reader *r, const struct rdma_sample **ret,
		     struct rdma_counts **ret_counts, struct err *err);
void rdma_reader_give(struct rdma_reader *r);

#endif
