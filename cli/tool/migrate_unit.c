/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of a service file, with its drop-ins and environment. */
#include "cli/tool/migrate_unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"

static const char blanks[] = " \t\r\n";

void unit_done(struct unit_file *u)
{
	conf_list_done(&u->argv);
	conf_list_done(&u->environment);
	conf_list_done(&u->files);
	free(u->exec);
	u->exec = NULL;
}

static int fail_list(int rc, struct err *err)
{
	return rc == -E2BIG ? err_set(err, rc, "more than %d words", CONF_LIST_MAX)
			    : err_set(err, rc, "out of memory");
}

/* The value of NAME in NAME=VALUE of a list, the last one. NULL: none. */
static const char *find_variable(const struct conf_list *l, const char *name, size_t n)
{
	for (size_t i = l->count; i > 0; i--)
		if (strncmp(l->items[i - 1], name, n) == 0 && l->items[i - 1][n] == '=')
			return l->items[i - 1] + n + 1;
	return NULL;
}

static size_t name_length(const char *s)
{
	return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
			 "0123456789");
}

/* Appends the variable at *s, which begins with '$', and moves *s past it. */
static void put_variable(struct unit_file *u, const char **s, struct buf *word)
{
	const char *p = *s + 1;
	size_t n = name_length(p + (*p == '{'));

	if (*p == '$') {
		buf_putc(word, '$');
		*s = p + 1;
	} else if (*p == '{' && n && p[n + 1] == '}') {
		const char *v = find_variable(&u->environment, p + 1, n);
		buf_puts(word, v ? v : "");
		*s = p + n + 2;
	} else {
		buf_putc(word, '$');
		*s = p;
	}
}

/* The next word of a line: quotes are taken off, and a backslash before one, a blank or
 * another; before anything else it stays. with_variables: ${NAME} is replaced. 1: there
 * is one. */
static int next_word(struct unit_file *u, const char **line, bool with_variables,
		     struct buf *word, struct err *err)
{
	const char *s = *line + strspn(*line, blanks);
	char quote = '\0';

	buf_reset(word);
	if (!*s)
		return 0;
	while (*s && (quote || !strchr(blanks, *s))) {
		if (quote ? *s == quote : *s == '"' || *s == '\'') {
			quote = quote ? '\0' : *s;
			s++;
		} else if (*s == '\\' && s[1] && strchr("\"'\\ \t", s[1])) {
			buf_putc(word, s[1]);
			s += 2;
		} else if (*s == '%' && s[1] == '%') {
			buf_putc(word, '%');
			s += 2;
		} else if (*s == '$' && with_variables) {
			put_variable(u, &s, word);
		} else {
			buf_putc(word, *s++);
		}
	}
	if (quote)
		return err_set(err, -EINVAL, "a %c without its end: %.60s", quote,
			       *line);
	buf_putc(word, '\0');
	*line = s;
	return buf_error(word) ? err_set(err, -ENOMEM, "out of memory") : 1;
}

static int add_words(struct unit_file *u, struct conf_list *to, const char *line,
		     bool with_variables, struct err *err)
{
	auto_buf struct buf word = {.max = UNIT_BYTES_MAX};
	int rc;

	while ((rc = next_word(u, &line, with_variables, &word, err)) > 0) {
		rc = conf_list_add(to, word.data);
		if (rc < 0)
			return fail_list(rc, err);
	}
	return rc;
}

/* One line with its continuations joined: KEY=VALUE of any section. */
static int read_assignment(struct unit_file *u, char *line, struct err *err)
{
	char *value = strchr(line, '=');

	if (!value || *line == '#' || *line == ';')
		return 0;
	char *end = value;
	while (end > line && strchr(blanks, end[-1]))
		end--;
	*end = '\0';
	value += 1 + strspn(value + 1, blanks);
	if (strcmp(line, "ExecStart") == 0) {
		free(u->exec);
		u->exec = strdup(value + strspn(value, "-@:+!"));
		return u->exec ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	if (strcmp(line, "Environment") == 0) {
		if (!*value)
			conf_list_done(&u->environment);
		return add_words(u, &u->environment, value, false, err);
	}
	if (strcmp(line, "EnvironmentFile") == 0) {
		if (!*value)
			conf_list_done(&u->files);
		return add_words(u, &u->files, value + (*value == '-'), false, err);
	}
	return 0;
}

int unit_read(struct unit_file *u, const char *text, size_t len, struct err *err)
{
	const char *end = text + len;
	auto_buf struct buf line = {.max = 2 * UNIT_BYTES_MAX};
	int rc = 0;

	while (rc == 0 && text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((nl ? nl : end) - text);
		bool goes_on = n && text[n - 1] == '\\' && nl;
		buf_put(&line, text, goes_on ? n - 1 : n);
		text += n + (nl != NULL);
		if (goes_on) {
			buf_putc(&line, ' ');
			continue;
		}
		buf_putc(&line, '\0');
		if (buf_error(&line))
			return err_set(err, -ENOMEM, "out of memory");
		rc = read_assignment(u, line.data + strspn(line.data, blanks), err);
		buf_reset(&line);
	}
	return rc;
}

int unit_read_environment(struct unit_file *u, const char *text, size_t len,
			  struct err *err)
{
	auto_buf struct buf copy = {.max = 2 * UNIT_BYTES_MAX};
	char *save = NULL;
	int rc = 0;

	buf_put(&copy, text, len);
	buf_putc(&copy, '\0');
	if (buf_error(&copy))
		return err_set(err, -ENOMEM, "out of memory");
	for (char *l = strtok_r(copy.data, "\n", &save); rc == 0 && l;
	     l = strtok_r(NULL, "\n", &save)) {
		const char *p = l + strspn(l, blanks);
		auto_buf struct buf value = {.max = UNIT_BYTES_MAX};
		size_t n = name_length(p);
		if (!n || p[n] != '=')
			continue;
		const char *v = p + n + 1;
		char quote = *v == '"' || *v == '\'' ? *v++ : '\0';
		size_t length = strcspn(v, quote == '"' ? "\"" : quote ? "'" : "\r");
		buf_printf(&value, "%.*s=%.*s", (int)n, p, (int)length, v);
		buf_putc(&value, '\0');
		rc = buf_error(&value) ? -ENOMEM
				       : conf_list_add(&u->environment, value.data);
	}
	return rc < 0 ? fail_list(rc, err) : 0;
}

int unit_expand(struct unit_file *u, struct err *err)
{
	auto_buf struct buf word = {.max = UNIT_BYTES_MAX};
	const char *line = u->exec;
	int rc = 0;

	if (!line || !line[strspn(line, blanks)])
		return err_set(err, -EINVAL, "no ExecStart= in it");
	conf_list_done(&u->argv);
	for (;;) {
		const char *s = line + strspn(line, blanks);
		size_t n = *s == '$' ? name_length(s + 1) : 0;
		/* a word that is a variable is as many words as its value has */
		if (n && (!s[n + 1] || strchr(blanks, s[n + 1]))) {
			const char *v = find_variable(&u->environment, s + 1, n);
			rc = add_words(u, &u->argv, v ? v : "", false, err);
			line = s + n + 1;
		} else {
			rc = next_word(u, &line, true, &word, err);
			if (rc <= 0)
				return rc;
			rc = conf_list_add(&u->argv, word.data);
			if (rc < 0)
				return fail_list(rc, err);
		}
		if (rc < 0)
			return rc;
	}
}
