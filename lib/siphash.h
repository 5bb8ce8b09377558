/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SIPHASH_H
#define CEEMS_LIB_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-1-3 (Aumasson, Bernstein 2012), for tables whose keys strangers choose:
 * without the key nobody can find values that collide. */
uint64_t siphash13(const uint64_t key[2], const void *data, size_t len);

#endif
