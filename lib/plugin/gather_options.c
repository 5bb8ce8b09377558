/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's few options, without a YAML library inside slurmd. */
#include "lib/plugin/gather_options.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/records/energy_page.h"

#define LINES_MAX 256

void gather_options_init(struct gather_options *o)
{
	*o = (struct gather_options){.page = ENERGY_PAGE_PATH_DEFAULT, .final = true};
}

struct gather_word {
	const char *text;
	size_t len;
};

static bool is_gather_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct gather_word trim_word(const char *from, const char *end)
{
	while (from < end && is_gather_blank(*from))
		from++;
	while (end > from && is_gather_blank(end[-1]))
		end--;
	return (struct gather_word){from, (size_t)(end - from)};
}

static bool gather_word_is(struct gather_word w, const char *s)
{
	return strlen(s) == w.len && memcmp(w.text, s, w.len) == 0;
}

static int set_gather_option(struct gather_options *o, struct gather_word name,
			     const char *value, int line, struct err *err)
{
	if (gather_word_is(name, "page")) {
		if (value[0] != '/')
			return err_set(err, -EINVAL,
				       "line %d: page is not an absolute path", line);
		memcpy(o->page, value, strlen(value) + 1);
		return 0;
	}
	if (gather_word_is(name, "final")) {
		if (parse_bool(value, &o->final) < 0)
			return err_set(err, -EINVAL, "line %d: final is not yes or no",
				       line);
		return 0;
	}
	return err_set(err, -EINVAL,
		       "line %d: unknown name: only page and final may be set", line);
}

int gather_options_parse(struct gather_options *o, const char *text, size_t len,
			 struct err *err)
{
	struct gather_options now = *o;
	const char *p = text, *end = text + len, *line;
	char value[GATHER_PATH_MAX];
	size_t line_len;
	int n = 0;

	while (scan_line(&p, end, &line, &line_len)) {
		if (++n > LINES_MAX)
			return err_set(err, -EINVAL, "more than %d lines", LINES_MAX);
		struct gather_word all = trim_word(line, line + line_len);
		if (all.len == 0 || all.text[0] == '#')
			continue;
		const char *equals = memchr(all.text, '=', all.len);
		if (!equals)
			return err_set(err, -EINVAL, "line %d: not \"name = value\"",
				       n);
		struct gather_word v = trim_word(equals + 1, all.text + all.len);
		if (v.len >= sizeof(value) || memchr(v.text, '\0', v.len))
			return err_set(err, -EINVAL, "line %d: value too long", n);
		memcpy(value, v.text, v.len);
		value[v.len] = '\0';
		int rc = set_gather_option(&now, trim_word(all.text, equals), value, n,
					   err);
		if (rc < 0)
			return rc;
	}
	*o = now;
	return 0;
}

int gather_options_read(struct gather_options *o, const char *path, uid_t owner,
			struct err *err)
{
	char text[GATHER_OPTIONS_MAX];

	gather_options_init(o);
	auto_close int fd = fs_open_at(AT_FDCWD, path, err);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	int rc = fs_check_trusted(fd, path, owner, 0755, err);
	if (rc < 0)
		return rc;
	ssize_t n = fs_pread(fd, text, sizeof(text));
	if (n < 0)
		return err_set(err, (int)n, "read %s: %s", path, strerror((int)-n));
	rc = gather_options_parse(o, text, (size_t)n, err);
	return rc < 0 ? err_prefix(err, rc, "%s", path) : 0;
}
