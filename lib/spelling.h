/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SPELLING_H
#define CEEMS_LIB_SPELLING_H

#include <stddef.h>

/* For messages of the form "unknown NAME (did you mean OTHER?)". */

#define SPELLING_MAX 128

/* Edit distance: letters to change, add, drop or swap with their neighbour to turn one
 * name into the other, ignoring case. SIZE_MAX: a name is longer than SPELLING_MAX. */
size_t spelling_distance(const char *a, size_t a_len, const char *b, size_t b_len)
	__attribute__((pure));

/* Largest distance at which it may still be the same word. */
static inline size_t spelling_most(size_t len)
{
	return 1 + len / 6;
}

#endif
