/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_RING_WORD_H
#define CEEMS_LIB_RECORDS_RING_WORD_H

#include <stdint.h>
#include <sys/types.h>

/* A slot's word: lap:20 | state:2 | pid:22 | second:20, most significant first. For
 * lib/records/ring.c and what looks at rings from outside (ringdump, tests); pids fit
 * because the kernel's PID_MAX_LIMIT is 2^22 (include/linux/threads.h). */

enum ring_state { RING_FREE = 0, RING_RESERVED = 1, RING_PUBLISHED = 2 };

#define RING_LAP_MASK 0xfffffu
#define RING_PID_MASK 0x3fffffu
#define RING_SECOND_MASK 0xfffffu

/* In the `second` field of a free slot: what became of its last record. Only for those
 * who inspect a ring from outside. */
#define RING_MARK_RELEASED 0u
#define RING_MARK_HOLE 1u

static inline uint64_t ring_word(uint32_t lap, enum ring_state state, uint32_t pid,
				 uint32_t second)
{
	return (uint64_t)(lap & RING_LAP_MASK) << 44 | (uint64_t)state << 42 |
	       (uint64_t)(pid & RING_PID_MASK) << 20 | (second & RING_SECOND_MASK);
}

static inline uint32_t ring_word_lap(uint64_t word)
{
	return (uint32_t)(word >> 44);
}

/* May be 3, which is not a valid enum ring_state. */
static inline unsigned ring_word_state(uint64_t word)
{
	return (unsigned)(word >> 42) & 3;
}

static inline pid_t ring_word_pid(uint64_t word)
{
	return (pid_t)(word >> 20 & RING_PID_MASK);
}

static inline uint32_t ring_word_second(uint64_t word)
{
	return (uint32_t)(word & RING_SECOND_MASK);
}

/* The same lap, pid and second in another state. */
static inline uint64_t ring_word_to(uint64_t word, enum ring_state state)
{
	return (word & ~((uint64_t)3 << 42)) | (uint64_t)state << 42;
}

/* slots is a power of two */
static inline uint32_t ring_lap_of(uint64_t pos, uint32_t slots)
{
	return (uint32_t)(pos >> __builtin_ctz(slots)) & RING_LAP_MASK;
}

/* How far lap a is ahead of lap b, counted round the end of 20 bits. */
static inline int32_t ring_lap_diff(uint32_t a, uint32_t b)
{
	int32_t d = (int32_t)((a - b) & RING_LAP_MASK);

	return d > (int32_t)(RING_LAP_MASK >> 1) ? d - (int32_t)RING_LAP_MASK - 1 : d;
}

#endif
