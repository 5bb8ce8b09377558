/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds 64 bytes at a time into 16 that have the same remainder (V. Gopal et al., Fast
 * CRC Computation Using PCLMULQDQ, Intel 2009, for the reflected polynomial); zlib does
 * the rest. */
#include "daemon/web/gzip_crc.h"

#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>

#define FOLD_BYTES 64u
#define TARGET __attribute__((target("pclmul,sse4.1")))

/* x^n mod P for the two halves: n = 512 +- 32 bits, and 128 +- 32 */
static const uint64_t over_64[2] = {0x154442bd4, 0x1c6e41596};
static const uint64_t over_16[2] = {0x1751997d0, 0x0ccaa009e};

TARGET static __m128i load_16(const void *at)
{
	return _mm_loadu_si128(at);
}

TARGET static __m128i fold_into(__m128i x, __m128i by, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(x, by, 0x00);
	__m128i high = _mm_clmulepi64_si128(x, by, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* len: FOLD_BYTES or a multiple */
TARGET static uint32_t fold_all(uint32_t crc, const unsigned char *at, size_t len)
{
	__m128i by = load_16(over_64), x[4];
	unsigned char rest[16];

	for (unsigned i = 0; i < 4; i++)
		x[i] = load_16(at + 16 * i);
	x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)~crc));
	for (at += FOLD_BYTES, len -= FOLD_BYTES; len;
	     at += FOLD_BYTES, len -= FOLD_BYTES) {
		for (unsigned i = 0; i < 4; i++)
			x[i] = fold_into(x[i], by, load_16(at + 16 * i));
	}
	by = load_16(over_16);
	for (unsigned i = 1; i < 4; i++)
		x[i] = fold_into(x[i - 1], by, x[i]);
	_mm_storeu_si128((__m128i *)rest, x[3]);
	/* which begins with no remainder instead of zlib's */
	return (uint32_t)crc32_z(UINT32_MAX, rest, sizeof(rest));
}
#endif

uint32_t gzip_crc(uint32_t crc, const void *data, size_t len)
{
	const unsigned char *at = data;

#ifdef __x86_64__
	size_t whole = len - len % FOLD_BYTES;

	if (whole && __builtin_cpu_supports("pclmul") &&
	    __builtin_cpu_supports("sse4.1")) {
		crc = fold_all(crc, at, whole);
		at += whole;
		len -= whole;
	}
#endif
	return (uint32_t)crc32_z(crc, at, len);
}
