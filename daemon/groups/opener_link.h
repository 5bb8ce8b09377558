/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_OPENER_LINK_H
#define CEEMS_DAEMON_GROUPS_OPENER_LINK_H

#include "daemon/groups/group_slots.h"

/* Starts ceems-opener (path), waits at most OPENER_MS for what it hands over, and for
 * its end. Before privileges_limit(), after which nothing that is started has
 * capabilities. ret_adopted: slots of groups that were there before. -ENOENT: there is
 * no such program; -EPERM and others: what the kernel refused; -ETIMEDOUT; -EPROTO: it
 * is of another build. */
#define OPENER_MS 10000u
int opener_take_slots(const char *path, uint32_t slots, const char *cgroupfs,
		      struct group_slots *ret, uint32_t *ret_adopted, struct err *err);

#endif
