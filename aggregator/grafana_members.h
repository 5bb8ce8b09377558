/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_GRAFANA_MEMBERS_H
#define CEEMS_AGGREGATOR_GRAFANA_MEMBERS_H

#include "lib/buf.h"
#include "lib/err.h"

#define GRAFANA_BYTES_MAX ((size_t)4 << 20) /* of an answer */

/* Logins of a team's members, from an answer of /api/teams/ID/members, appended to ret
 * as JSON strings with a comma before each. Invalid logins are left out. Returns how
 * many, or -EBADMSG. */
int grafana_members(const char *text, size_t len, struct buf *ret, struct err *err);

#endif
