/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test/fake/starve.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

static atomic_bool on;
static bool all_after;
static unsigned fails_at;
static atomic_uint asked;

void starve_at(unsigned nth, bool rest)
{
	fails_at = nth;
	all_after = rest;
	atomic_store(&asked, 0);
	atomic_store(&on, true);
}

bool starve_end(void)
{
	atomic_store(&on, false);
	return atomic_load(&asked) >= fails_at;
}

static bool fails(void)
{
	unsigned n;

	if (!atomic_load(&on))
		return false;
	n = atomic_fetch_add(&asked, 1) + 1;
	if (n != fails_at && !(all_after && n > fails_at))
		return false;
	errno = ENOMEM;
	return true;
}

#define WRAP(type, name, params, ...)                                                  \
	type __real_##name params;                                                     \
	type __wrap_##name params;                                                     \
	type __wrap_##name params                                                      \
	{                                                                              \
		return fails() ? NULL : __real_##name(__VA_ARGS__);                    \
	}

WRAP(void *, malloc, (size_t size), size)
WRAP(void *, calloc, (size_t n, size_t size), n, size)
WRAP(void *, realloc, (void *p, size_t size), p, size)
WRAP(void *, reallocarray, (void *p, size_t n, size_t size), p, n, size)
WRAP(void *, aligned_alloc, (size_t align, size_t size), align, size)
WRAP(char *, strdup, (const char *s), s)
WRAP(char *, strndup, (const char *s, size_t n), s, n)

int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	return fails() ? -1 : vasprintf(ret, fmt, ap);
}

int __wrap_asprintf(char **ret, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **ret, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = __wrap_vasprintf(ret, fmt, ap);
	va_end(ap);
	return n;
}
