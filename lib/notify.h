/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_NOTIFY_H
#define CEEMS_LIB_NOTIFY_H

/* Tells systemd the state of the service, "READY=1", "STOPPING=1", ..., as one datagram
 * to $NOTIFY_SOCKET (sd_notify(3)). 1: sent; 0: no such socket is set; negative errno.
 * The socket is opened anew each time, so it works after a change of user as long as
 * NotifyAccess= allows the process. */
int notify_send(const char *state);
/* With a copy of a descriptor (-1: none), for FDSTORE=1 */
int notify_send_fd(const char *state, int passed);

#endif
