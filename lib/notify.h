/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_NOTIFY_H
#define CEEMS_LIB_NOTIFY_H

/* Tells systemd about the state of the service: "READY=1", "STOPPING=1", ... one
 * datagram to $NOTIFY_SOCKET, as sd_notify(3) describes. 1: sent; 0: nobody asked;
 * negative errno. The socket is opened anew each time: it works after a change of user
 * as long as systemd's NotifyAccess allows the process. */
int notify_send(const char *state);

#endif
