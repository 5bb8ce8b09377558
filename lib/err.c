/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Error texts in a buffer of the caller: no allocation, so reporting cannot fail. */
#include "lib/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef err_set /* the analyzer's view of them */
#undef err_prefix

int err_set(struct err *err, int rc, const char *fmt, ...)
{
	if (!err)
		return rc;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return rc;
}

int err_prefix(struct err *err, int rc, const char *fmt, ...)
{
	if (!err)
		return rc;
	char prefix[ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, ap);
	va_end(ap);
	size_t n = strlen(prefix);
	size_t old = strlen(err->text);
	if (n + 2 >= sizeof(err->text))
		return rc;
	if (old > sizeof(err->text) - n - 3)
		old = sizeof(err->text) - n - 3;
	memmove(err->text + n + 2, err->text, old);
	err->text[n + 2 + old] = '\0';
	memcpy(err->text, prefix, n);
	memcpy(err->text + n, ": ", 2);
	return rc;
}

const char *err_text(const struct err *err)
{
	return err ? err->text : "";
}
