/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_ACCOUNT_H
#define CEEMS_LIB_ACCOUNT_H

#include <stdint.h>

/* The uid of a login on this host. -ENOENT: there is none, or the user database does
 * not answer. Blocks; thread safe. */
int account_find_uid(const char *login, uint32_t *ret);

#endif
