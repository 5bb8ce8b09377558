/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A keyed hash of short texts, fast enough for tables. */
#include "lib/siphash.h"

#include <string.h>

#define ROTATE(x, b) ((x) << (b) | (x) >> (64 - (b)))
#define SIP_ROUND(v0, v1, v2, v3)                                                      \
	do {                                                                           \
		v0 += v1;                                                              \
		v1 = ROTATE(v1, 13) ^ v0;                                              \
		v0 = ROTATE(v0, 32);                                                   \
		v2 += v3;                                                              \
		v3 = ROTATE(v3, 16) ^ v2;                                              \
		v0 += v3;                                                              \
		v3 = ROTATE(v3, 21) ^ v0;                                              \
		v2 += v1;                                                              \
		v1 = ROTATE(v1, 17) ^ v2;                                              \
		v2 = ROTATE(v2, 32);                                                   \
	} while (0)

uint64_t siphash13(const uint64_t key[2], const void *data, size_t len)
{
	uint64_t v0 = key[0] ^ 0x736f6d6570736575ull;
	uint64_t v1 = key[1] ^ 0x646f72616e646f6dull;
	uint64_t v2 = key[0] ^ 0x6c7967656e657261ull;
	uint64_t v3 = key[1] ^ 0x7465646279746573ull;
	const unsigned char *p = data;
	uint64_t m, last = (uint64_t)len << 56;

	for (size_t n = len / 8; n; n--, p += 8) {
		memcpy(&m, p, 8);
		v3 ^= m;
		SIP_ROUND(v0, v1, v2, v3);
		v0 ^= m;
	}
	for (size_t i = 0; i < len % 8; i++)
		last |= (uint64_t)p[i] << (8 * i);
	v3 ^= last;
	SIP_ROUND(v0, v1, v2, v3);
	v0 ^= last;
	v2 ^= 0xff;
	SIP_ROUND(v0, v1, v2, v3);
	SIP_ROUND(v0, v1, v2, v3);
	SIP_ROUND(v0, v1, v2, v3);
	return v0 ^ v1 ^ v2 ^ v3;
}
