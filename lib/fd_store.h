/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_FD_STORE_H
#define CEEMS_LIB_FD_STORE_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptors that systemd passed to this process, and those that it keeps for a
 * service while that is started again, also after kill -9: FDSTORE=1 of sd_notify(3),
 * sd_listen_fds_with_names(3), FileDescriptorStoreMax= of the unit. Names of stored
 * ones begin with FD_STORE_PREFIX; all others are sockets of a .socket unit. */
#define FD_STORE_PREFIX "stored-"
#define FD_STORE_NAME_MAX 64
#define FD_STORE_FIRST 3 /* SD_LISTEN_FDS_START */

/* How many were passed; they begin at FD_STORE_FIRST. 0: none, or to another process.
 */
uint32_t fd_store_passed(void);
/* Whether the descriptor was stored. */
bool fd_store_is_stored(int fd);

/* Has systemd keep a copy. 1: sent; 0: not run by systemd; negative errno. It is not
 * told whether the unit allows any. */
int fd_store_put(const char *name, int fd);
/* The descriptor stored with this name, which is closed on exec from now on and remains
 * in the store. -ENOENT: there is none. */
int fd_store_take(const char *name);
/* Closes all stored ones whose names do not begin with `but` (NULL: all), and has
 * systemd forget them. */
void fd_store_drop(const char *but);

#endif
