/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_LISTEN_H
#define CEEMS_LIB_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Listening TCP sockets: non-blocking, close-on-exec. */

/* Listens on ":9010" (IPv6 and IPv4 where the machine has both), "127.0.0.1:9010",
 * "[::1]:9010" or "name:9010". Returns the fd; on failure the text names the address.
 */
int listen_open(const char *address, struct err *err);

/* Checks addresses with the same error texts, without opening anything. */
int listen_check(const char *const *addresses, size_t count, struct err *err);

/* Takes over the sockets that systemd passed (sd_listen_fds(3): LISTEN_PID,
 * LISTEN_FDS): their number, at most max, into ret_fds. -ENOENT when there are none. */
int listen_take_systemd(int *ret_fds, size_t max, struct err *err);

/* The port of a listening socket, 0 when it has none (a unix socket). */
unsigned listen_port(int fd);

/* Whether only this host's own programs can connect to a listening socket: it is a
 * loopback address or a unix socket. */
bool listen_is_local(int fd);

/* Splits "host:port" or "[host]:port" into host and port, which must be 0-65535. The
 * host may be empty. -EINVAL. */
int listen_split(const char *address, char *ret_host, size_t host_size, char *ret_port,
		 size_t port_size);

/* Raises the soft limit of open files to wanted, as far as the hard limit allows: the
 * default is low only for the sake of select(2). */
void listen_files(uint64_t wanted);

#endif
