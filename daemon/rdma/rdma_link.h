/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_RDMA_RDMA_LINK_H
#define CEEMS_DAEMON_RDMA_RDMA_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/rdma/rdma_message.h"
#include "lib/err.h"

/* One question to the kernel takes at most so long; the answers to it may be many. */
#define RDMA_ANSWER_MS 10000u

/* A socket of NETLINK_RDMA; it takes no privilege to ask. Returns the fd or negative
 * errno: -EPROTONOSUPPORT: the module ib_core is not loaded. */
int rdma_link_open(void);

/* Asks for all of a kind and gives each entry to found(). 0; -ETIMEDOUT; -ECANCELED:
 * *stop became true; -EOPNOTSUPP: this kernel does not know the question; -EINVAL,
 * -ENODEV: no such device (any more). What was found until then is not taken back.
 * *io_sequence counts the questions on this socket, from 0. */
int rdma_link_ask(int fd, uint32_t *io_sequence, enum rdma_kind kind, uint32_t device,
		  const atomic_bool *stop,
		  void (*found)(void *arg, const struct rdma_entry *e), void *arg,
		  struct err *err);

#endif
