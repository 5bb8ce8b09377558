/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option table as text: --help and the table of doc/config.md. */
#include <string.h>

#include "lib/conf/conf_impl.h"

#define HELP_WIDTH 80
#define HELP_INDENT 8

static const char *value_name(const struct conf_opt *o)
{
	switch (o->kind) {
	case CONF_BOOL:
		return "";
	case CONF_U64:
		return "N";
	case CONF_DURATION:
		return "DURATION";
	case CONF_BYTES:
		return "SIZE";
	case CONF_STRING:
	case CONF_LIST:
		return "TEXT";
	case CONF_ENUM:
		return "WORD";
	}
	return "";
}

static void put_choices(const struct conf_opt *o, struct buf *out)
{
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		buf_printf(out, "%s%s", i ? "|" : "", o->choices[i]);
}

static void put_option_flag(const struct conf_opt *o, struct buf *out)
{
	buf_printf(out, "--%s%s", o->kind == CONF_BOOL ? "[no-]" : "", o->name);
	if (o->kind == CONF_BOOL)
		return;
	buf_putc(out, '=');
	if (o->kind == CONF_ENUM)
		put_choices(o, out);
	else
		buf_puts(out, value_name(o));
}

static void put_default(const struct conf_opt *o, struct buf *out)
{
	if (o->kind == CONF_BOOL) {
		bool on = o->def &&
			  (strcmp(o->def, "true") == 0 || strcmp(o->def, "yes") == 0 ||
			   strcmp(o->def, "on") == 0 || strcmp(o->def, "1") == 0);
		buf_puts(out, on ? "true" : "false");
	} else if (o->def) {
		buf_puts(out, o->def);
	}
}

/* Words of text, broken at HELP_WIDTH; *col is where the line stands. */
static void put_wrapped(struct buf *out, const char *text, size_t *col)
{
	while (*text) {
		size_t len = strcspn(text, " ");
		if (*col && *col + 1 + len > HELP_WIDTH) {
			buf_putc(out, '\n');
			*col = 0;
		}
		if (*col == 0) {
			buf_printf(out, "%*s", HELP_INDENT, "");
			*col = HELP_INDENT;
		} else {
			buf_putc(out, ' ');
			(*col)++;
		}
		buf_put(out, text, len);
		*col += len;
		text += len + strspn(text + len, " ");
	}
}

static void put_option_help(const struct conf_opt *o, struct buf *out)
{
	struct buf tail = BUF_INIT;
	size_t col = 0;

	buf_puts(out, "  ");
	put_option_flag(o, out);
	buf_putc(out, '\n');
	put_wrapped(out, o->help ? o->help : "", &col);
	if (o->alias_of)
		buf_printf(&tail, "(same as --%s)", o->alias_of);
	else if (o->kind == CONF_BOOL || (o->def && *o->def)) {
		buf_puts(&tail, "(default: ");
		put_default(o, &tail);
		buf_putc(&tail, ')');
	}
	if (o->kind == CONF_LIST)
		buf_puts(&tail, " (may be repeated)");
	if (tail.data)
		put_wrapped(out, tail.data, &col);
	buf_done(&tail);
	if (col)
		buf_putc(out, '\n');
}

static size_t option_group_len(const struct conf_opt *o)
{
	const char *dot = strchr(o->name, '.');

	return dot ? (size_t)(dot - o->name) : 0;
}

static bool same_group(const struct conf_opt *a, const struct conf_opt *b)
{
	size_t len = option_group_len(a);

	return len == option_group_len(b) && memcmp(a->name, b->name, len) == 0;
}

static bool is_option_shown(const struct conf_opt *o)
{
	return !(o->flags & (CONF_HIDDEN | CONF_DEPRECATED | CONF_LATER));
}

/* Groups by the first word of the name, in the table's order. */
void conf_help(const struct conf_opt *opts, size_t n, const char *program,
	       struct buf *out)
{
	const struct conf_opt *file = conf_find(opts, n, "config.file", 11);
	bool ours = file && !(file->flags & CONF_ELSEWHERE);

	buf_printf(out,
		   "Usage: %s [--name=value ...]\n\n"
		   "Each option can also stand in %senvironment (CEEMS_ and the name "
		   "in capitals); the command line wins%s.\n\n"
		   "General:\n  --help\n        This text.\n  --version\n        "
		   "The version.\n",
		   program,
		   ours ? "the file of --config.file (YAML) or in the\n" : "the ",
		   ours ? " over the\nfile, the file over the environment" : "");
	for (size_t i = 0; i < n; i++) {
		if (is_option_shown(&opts[i]) && option_group_len(&opts[i]) == 0)
			put_option_help(&opts[i], out);
	}
	for (size_t i = 0; i < n; i++) {
		bool first =
			is_option_shown(&opts[i]) && option_group_len(&opts[i]) != 0;
		for (size_t j = 0; first && j < i; j++)
			first = !is_option_shown(&opts[j]) ||
				!same_group(&opts[i], &opts[j]);
		if (!first)
			continue;
		buf_printf(out, "\n%.*s:\n", (int)option_group_len(&opts[i]),
			   opts[i].name);
		for (size_t j = i; j < n; j++) {
			if (is_option_shown(&opts[j]) && same_group(&opts[i], &opts[j]))
				put_option_help(&opts[j], out);
		}
	}
}

/* A text inside a table cell. */
static void put_cell(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			buf_putc(out, '\\');
		if (*text == '\n')
			buf_putc(out, ' ');
		else
			buf_putc(out, *text);
	}
}

void conf_markdown(const struct conf_opt *opts, size_t n, struct buf *out)
{
	static const char *const kinds[] = {
		[CONF_BOOL] = "bool",         [CONF_U64] = "number",
		[CONF_DURATION] = "duration", [CONF_BYTES] = "size",
		[CONF_STRING] = "text",       [CONF_LIST] = "list",
		[CONF_ENUM] = "word",
	};

	buf_puts(out, "| option | type | default | environment | meaning |\n"
		      "|---|---|---|---|---|\n");
	for (size_t i = 0; i < n; i++) {
		const struct conf_opt *o = &opts[i];
		char env[CONF_NAME_MAX + 8];
		struct buf cell = BUF_INIT;
		if (o->flags & CONF_LATER)
			continue;
		conf_env_name(o, env);
		if (o->kind == CONF_ENUM)
			put_choices(o, &cell);
		else
			buf_puts(&cell, kinds[o->kind]);
		buf_printf(out, "| `%s` | ", o->name);
		put_cell(out, cell.data ? cell.data : "");
		buf_puts(out, " | ");
		buf_reset(&cell);
		put_default(o, &cell);
		if (cell.len) {
			buf_putc(out, '`');
			put_cell(out, cell.data);
			buf_putc(out, '`');
		}
		buf_done(&cell);
		buf_puts(out, " | ");
		if (!o->alias_of)
			buf_printf(out, "`%s`%s", env, o->env ? ", " : "");
		if (o->env)
			buf_printf(out, "`%s`", o->env);
		buf_puts(out, " | ");
		put_cell(out, o->help ? o->help : "");
		if (o->alias_of)
			buf_printf(out, " Same as `%s`.", o->alias_of);
		if (o->flags & CONF_DEPRECATED)
			buf_puts(out, " Old name, do not use.");
		if (o->flags & CONF_RELOAD)
			buf_puts(out, " Changes at SIGHUP.");
		buf_puts(out, " |\n");
	}
}
