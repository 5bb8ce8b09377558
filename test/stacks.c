/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program whose stacks are known: outer() ten deep, or qsort() that calls back. It
 * never ends. */
#include <math.h>
#include <stdlib.h>
#define OWN __attribute__((noinline))
volatile double sink;
OWN double leaf(double x, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += sqrt(x + i);
	return s;
}
OWN double mid(double x, int n)
{
	sink = leaf(x, n);
	return sink + 1;
}
OWN double outer(int depth, int n)
{
	sink = depth ? outer(depth - 1, n) : mid(depth, n);
	return sink * 2;
}
OWN int compare(const void *a, const void *b)
{
	sink = *(const double *)a;
	return (sink > *(const double *)b) - (sink < *(const double *)b);
}
OWN void sorting(void)
{
	static double v[20000];
	for (int i = 0; i < 20000; i++)
		v[i] = rand();
	qsort(v, 20000, sizeof(double), compare);
	sink = v[1];
}
int main(void)
{
	for (;;) {
		outer(8, 300000);
		sorting();
	}
}
