/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_BOOT_H
#define CEEMS_LIB_BOOT_H

#include "lib/err.h"

/* with its NUL, padded with zeros: may be compared and written as a whole */
#define BOOT_ID_BYTES 40

/* Which boot of the machine this is, from /proc/sys/kernel/random/boot_id: what tells a
 * file of this boot from one of an earlier boot. Read once per process. Thread safe. 0
 * or negative errno. */
int boot_id(char ret[BOOT_ID_BYTES], struct err *err);

#endif
