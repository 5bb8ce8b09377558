/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a check's report. */
#include "lib/finding.h"

#include <stdarg.h>
#include <string.h>

static void put_plain(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		putc(c < 0x20 || c == 0x7f ? '?' : c, out);
	}
}

void finding(struct findings *f, enum level level, const char *todo, const char *fmt,
	     ...)
{
	static const char *const names[LEVELS] = {"ok", "warn", "fail"};
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f->count[level]++;
	fprintf(f->out, "%s: ", names[level]);
	put_plain(f->out, text);
	if (todo) {
		fputs("; ", f->out);
		put_plain(f->out, todo);
	}
	putc('\n', f->out);
}

int findings_end(const struct findings *f)
{
	fprintf(f->out, "%u ok, %u to look at, %u wrong\n", f->count[LEVEL_OK],
		f->count[LEVEL_WARN], f->count[LEVEL_FAIL]);
	if (f->count[LEVEL_FAIL])
		return 2;
	return f->count[LEVEL_WARN] ? 1 : 0;
}
