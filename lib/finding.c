/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a check's report. */
#include "lib/finding.h"

#include <stdarg.h>
#include <string.h>

#include "lib/buf.h"

static void put_plain(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		putc(c < 0x20 || c == 0x7f ? '?' : c, out);
	}
}

static unsigned findings_total(const struct findings *f)
{
	unsigned sum = 0;

	for (int level = 0; level < LEVELS; level++)
		sum += f->count[level];
	return sum;
}

static void put_json_member(struct buf *line, const char *name, const char *value)
{
	buf_printf(line, "%s\"%s\":", line->len > 1 ? "," : "", name);
	if (value)
		buf_put_json(line, value, strlen(value));
	else
		buf_puts(line, "null");
}

static void put_json_finding(const struct findings *f, bool first, const char *level,
			     const char *text, const char *todo)
{
	auto_buf struct buf line = {.max = 16384};

	buf_puts(&line, "{");
	put_json_member(&line, "section", f->section);
	put_json_member(&line, "level", level);
	put_json_member(&line, "what", text);
	put_json_member(&line, "todo", todo);
	if (buf_error(&line) == 0)
		fprintf(f->out, "%s%s}", first ? "{\"findings\":[\n" : ",\n",
			line.data);
}

void findings_section(struct findings *f, const char *name, const char *title)
{
	f->section = name;
	if (!f->json)
		fprintf(f->out, "%s%s\n", findings_total(f) ? "\n" : "", title);
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
	if (f->json) {
		put_json_finding(f, findings_total(f) == 1, names[level], text, todo);
		return;
	}
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
	if (f->json)
		fprintf(f->out, "%s],\"ok\":%u,\"warn\":%u,\"fail\":%u}\n",
			findings_total(f) ? "\n" : "{\"findings\":[",
			f->count[LEVEL_OK], f->count[LEVEL_WARN], f->count[LEVEL_FAIL]);
	else
		fprintf(f->out, "%u ok, %u to look at, %u wrong\n", f->count[LEVEL_OK],
			f->count[LEVEL_WARN], f->count[LEVEL_FAIL]);
	if (f->count[LEVEL_FAIL])
		return 2;
	return f->count[LEVEL_WARN] ? 1 : 0;
}
