/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_GROUPS_TAKE_OPENED_H
#define CEEMS_DAEMON_GROUPS_TAKE_OPENED_H

struct daemon;

/* Has ceems-opener open what the options ask for, and takes it. What the kernel refuses
 * stays off, and is logged. Before privileges_limit(): what is started later has no
 * capabilities. */
void take_opened(struct daemon *d);

#endif
