/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_BENCH_MEDIAN_H
#define CEEMS_TEST_BENCH_MEDIAN_H

#include <stdlib.h>

static inline int median_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of n > 0 values, which are sorted. */
static inline double median_of(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), median_order);
	return v[n / 2];
}

#endif
