/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_NODE_IB_PORTS_H
#define CEEMS_DAEMON_NODE_IB_PORTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* InfiniBand, Omni-Path and RoCE devices and their ports in sysfs: kernel
 * Documentation/ABI/stable/sysfs-class-infiniband. */

#define IB_CLASS "class/infiniband"
#define IB_NAME_BYTES 64
#define IB_DEVICES_MAX 256u
#define IB_PORTS_MAX 256u /* of a device */

struct ib_visitor {
	void (*device)(void *arg, int devfd, const char *device); /* NULL: none */
	void (*port)(void *arg, int portfd, const char *device, const char *port);
	void *arg;
};

/* Visits each device and then its ports, sorted by name, numbers by their value. What
 * was unplugged meanwhile is left out. -ENOENT: there is no such class. */
int ib_walk(int sysfd, const struct ib_visitor *visitor, struct err *err);

/* A file's first line; "" when it cannot be read. */
void ib_read_word(int fd, const char *path, char *ret, size_t size);

/* The number of a state file: 4 of "4: ACTIVE". -ENODATA: it has none. */
int ib_read_state(int portfd, const char *file, uint64_t *ret);

#endif
