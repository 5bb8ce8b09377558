/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_WEB_UNITS_JSON_H
#define CEEMS_DAEMON_WEB_UNITS_JSON_H

#include "daemon/units.h"
#include "lib/buf.h"

/* Appends {"units": [...]}: every unit of the table with its steps and counters, hints
 * under "hints". Times in ns as the table has them, seconds where a name says so. The
 * caller holds the lock. Returns buf_error(). */
int units_put_json(struct units *u, struct buf *out);

#endif
