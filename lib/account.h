/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_ACCOUNT_H
#define CEEMS_LIB_ACCOUNT_H

#include <stdint.h>

/* The number that this host has for a login. -ENOENT: none, or the user database does
 * not answer. Waits for it; thread safe. */
int account_find_uid(const char *login, uint32_t *ret);

#endif
