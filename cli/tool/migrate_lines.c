/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a configuration that comes from the peer's: the program that is to have it
 * says itself which it has no counterpart for, so that there is no second list of
 * options here. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool/migrate.h"
#include "cli/tool/tool.h"
#include "lib/cleanup.h"
#include "lib/exec.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define CHECK_MS 20000

static void put_yaml_text(struct buf *b, const char *s)
{
	if (strcmp(s, "true") == 0 || strcmp(s, "false") == 0) {
		buf_puts(b, s);
		return;
	}
	buf_putc(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_putc(b, '\\');
		buf_putc(b, *s);
	}
	buf_putc(b, '"');
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

int migrated_add(struct migrated *m, const char *name, const struct conf_list *values,
		 struct err *err)
{
	auto_buf struct buf line = {.max = 64 << 10};

	buf_printf(&line, "%s: %s", name, values->count > 1 ? "[" : "");
	for (size_t i = 0; i < values->count; i++) {
		if (!is_printable(values->items[i])) {
			finding(m->f, LEVEL_WARN, "set it by hand",
				"%s: its value has control characters", name);
			return 0;
		}
		buf_puts(&line, i ? ", " : "");
		put_yaml_text(&line, values->items[i]);
	}
	buf_puts(&line, values->count > 1 ? "]" : "");
	int rc = buf_error(&line) ? -ENOMEM : conf_list_add(&m->lines, line.data);
	return rc < 0 ? err_set(err, rc, "%s: too much", name) : 0;
}

int migrated_add_one(struct migrated *m, const char *name, const char *value,
		     struct err *err)
{
	char *item = (char *)(uintptr_t)value; /* not changed */
	const struct conf_list one = {&item, 1};

	return migrated_add(m, name, &one, err);
}

/* "FILE:LINE: why" in what a program says last: the line, or 0. Without a line *ret is
 * its last words. */
static size_t line_in_message(char *said, const char *file, const char **ret)
{
	size_t len = strlen(said);
	uint64_t line = 0;

	while (len && said[len - 1] == '\n')
		said[--len] = '\0';
	char *last = strrchr(said, '\n');
	*ret = last ? last + 1 : said;
	const char *p = strstr(*ret, file);
	if (!p)
		return 0;
	p += strlen(file);
	size_t n = strspn(p + 1, "0123456789");
	if (*p != ':' || !n || p[n + 1] != ':' || parse_u64_len(p + 1, n, &line) < 0)
		return 0;
	*ret = p + n + 2 + strspn(p + n + 2, " ");
	return (size_t)line;
}

static void put_all_lines(const struct migrated *m, const bool *left_out, struct buf *b)
{
	buf_reset(b);
	for (size_t i = 0; i < m->lines.count; i++)
		buf_printf(b, "%s%s\n", left_out[i] ? "# no counterpart: " : "",
			   m->lines.items[i]);
}

/* One check: 0 accepted; 1 a line was left out, try again. */
static int check_lines_once(struct migrated *m, const char *program, const char *file,
			    bool *left_out, struct err *err)
{
	char path[PATH_MAX], option[PATH_MAX + 16];
	auto_buf struct buf out = {.max = 64 << 10}, said = {.max = 64 << 10};
	const char *why = "it does not say why";
	int status = 0;

	if (tool_find_program(program, path, sizeof(path)) < 0)
		return err_set(
			err, -ENOENT,
			"%s is not here: it says what it has no counterpart for; "
			"run this where it is installed",
			program);
	(void)snprintf(option, sizeof(option), "--config.file=%s", file);
	const char *const argv[] = {path, "--check-config", option, NULL};
	int rc = exec_run(argv, NULL, CHECK_MS, &out, &said, &status, err);
	if (rc < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return rc;
	size_t line = said.len ? line_in_message(said.data, file, &why) : 0;
	if (line == 0 || line > m->lines.count || left_out[line - 1]) {
		finding(m->f, LEVEL_FAIL, "mend it, and check it again",
			"%s refuses what was migrated: %.300s", program, why);
		return 0;
	}
	left_out[line - 1] = true;
	finding(m->f, LEVEL_WARN, "see doc/compat.md", "no counterpart: %s: %s",
		m->lines.items[line - 1], why);
	return 1;
}

int migrated_settle(struct migrated *m, const char *program, struct buf *ret,
		    struct err *err)
{
	char folder[] = "/tmp/ceems-migrate.XXXXXX", file[64];
	bool left_out[CONF_LIST_MAX] = {false};
	int rc = 1;

	if (!mkdtemp(folder))
		return err_set(err, -errno, "%s: %s", folder, strerror(errno));
	(void)snprintf(file, sizeof(file), "%s/config.yaml", folder);
	for (size_t i = 0; rc == 1 && i <= m->lines.count; i++) {
		put_all_lines(m, left_out, ret);
		rc = buf_error(ret) ? err_set(err, -ENOMEM, "out of memory")
				    : fs_write_atomic_at(AT_FDCWD, file,
							 ret->data ? ret->data : "",
							 ret->len, 0600, err);
		if (rc == 0)
			rc = check_lines_once(m, program, file, left_out, err);
	}
	(void)unlink(file);
	(void)rmdir(folder);
	return rc < 0 ? rc : 0;
}
