/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SPELLING_H
#define CEEMS_LIB_SPELLING_H

#include <stddef.h>

/* For messages of the form "unknown NAME (did you mean OTHER?)". */

#define SPELLING_MAX 128

/* How many letters are to be changed, added, left out or exchanged with their neighbour
 * to make one name of the other; capitals are the same letters. SIZE_MAX: a name is
 * longer than SPELLING_MAX. */
size_t spelling_distance(const char *a, size_t a_len, const char *b, size_t b_len)
	__attribute__((pure));

/* Beyond so many it is another word. */
static inline size_t spelling_most(size_t len)
{
	return 1 + len / 6;
}

#endif
