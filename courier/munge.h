/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_MUNGE_H
#define CEEMS_COURIER_MUNGE_H

#include "lib/buf.h"
#include "lib/err.h"

/* A credential that says to redfish_proxy which node asks; it is good for one request
 * and a minute. Appends to ret. Waits for the MUNGE daemon. -ENOTSUP: built without
 * libmunge; -EIO: the daemon's refusal. */
int munge_credential(const char *node, struct buf *ret, struct err *err);

#endif
