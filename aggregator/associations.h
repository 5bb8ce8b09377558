/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_ASSOCIATIONS_H
#define CEEMS_AGGREGATOR_ASSOCIATIONS_H

#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"

/* `sacctmgr -nP list associations format=Cluster,Account,User` as a JSON list.
 * *ret_rows: rows that name a user. -EBADMSG: not that output. Accepts any bytes. */
int associations_parse(const char *text, size_t len, struct buf *ret, size_t *ret_rows,
		       struct err *err);

#endif
