/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CRC32C_H
#define CEEMS_LIB_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli; RFC 3720 appendix B.4: reflected 0x82f63b78, initial value and
 * final xor of all ones). Start with crc = 0; pass the result back in to continue with
 * more bytes. Uses the CPU's instruction where there is one. Thread safe, no
 * allocation. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/* The table version for CPUs without the instruction; public so that a test can compare
 * the two. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len);

#endif
