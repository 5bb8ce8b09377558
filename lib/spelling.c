/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Three rows of the table of optimal string alignment are enough. */
#include "lib/spelling.h"

#include <stdbool.h>
#include <stdint.h>

static bool same_letter(char a, char b)
{
	a |= a >= 'A' && a <= 'Z' ? 0x20 : 0;
	b |= b >= 'A' && b <= 'Z' ? 0x20 : 0;
	return a == b;
}

static size_t min_of_three(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;
	return m < c ? m : c;
}

size_t spelling_distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t row[3][SPELLING_MAX + 1];
	size_t *prev = row[0], *cur = row[1], *before = row[2];

	if (na > SPELLING_MAX || nb > SPELLING_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		prev[j] = j;
	for (size_t i = 1; i <= na; i++) {
		cur[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			cur[j] = min_of_three(
				prev[j] + 1, cur[j - 1] + 1,
				prev[j - 1] + (!same_letter(a[i - 1], b[j - 1])));
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]) &&
			    before[j - 2] + 1 < cur[j])
				cur[j] = before[j - 2] + 1;
		}
		size_t *t = before;
		before = prev;
		prev = cur;
		cur = t;
	}
	return prev[nb];
}
