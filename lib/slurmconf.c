/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads slurm.conf, cgroup.conf and the like without Slurm's library, so that checks
 * also work where Slurm does not start, which is when they are needed. */
#include "lib/slurmconf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

bool slurmconf_line(const char **p, const char *end, unsigned *next_no,
		    unsigned *line_no, struct buf *line)
{
	const char *s;
	size_t len;

	buf_reset(line);
	*line_no = *next_no;
	while (scan_line(p, end, &s, &len)) {
		(*next_no)++;
		if (len && s[len - 1] == '\r')
			len--;
		bool more = len && s[len - 1] == '\\';
		len -= more;
		for (size_t i = 0; i < len; i++) {
			if (s[i] == '#' && (i == 0 || s[i - 1] != '\\')) {
				more = false; /* a comment is not continued */
				len = i;
			}
		}
		buf_put(line, s, len);
		if (!more)
			break;
	}
	buf_putc(line, '\0');
	return *next_no != *line_no && !buf_error(line);
}

char *path_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	struct buf b = BUF_INIT;

	if (name[0] != '/' && slash)
		buf_put(&b, path, (size_t)(slash - path) + 1);
	buf_puts(&b, name);
	if (buf_error(&b)) {
		buf_done(&b);
		return NULL;
	}
	return b.data;
}

static int add_pair(struct slurmconf *c, const char *key, size_t key_len,
		    const char *value, size_t value_len, const char *file,
		    unsigned line, struct err *err)
{
	if (c->count >= SLURMCONF_PAIRS_MAX)
		return err_set(err, -E2BIG, "%s:%u: more than %u settings", file, line,
			       SLURMCONF_PAIRS_MAX);
	if ((c->count & (c->count - 1)) == 0) { /* full at each power of two */
		size_t room = c->count ? 2 * c->count : 1;
		struct slurmconf_pair *pairs = realloc(c->pairs, room * sizeof(*pairs));
		if (!pairs)
			return err_set(err, -ENOMEM, "%s: out of memory", file);
		c->pairs = pairs;
	}
	struct slurmconf_pair pair = {.key = strndup(key, key_len),
				      .value = strndup(value, value_len),
				      .file = file,
				      .line = line};
	if (!pair.key || !pair.value) {
		free(pair.key);
		free(pair.value);
		return err_set(err, -ENOMEM, "%s: out of memory", file);
	}
	c->pairs[c->count++] = pair;
	return 0;
}

static bool key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

/* All Key=Value of a line; anything else is skipped, as Slurm will complain. */
static int parse_pairs(struct slurmconf *c, const char *s, const char *file,
		       unsigned line, struct err *err)
{
	while (*s) {
		const char *key = s;
		while (key_char(*s))
			s++;
		size_t key_len = (size_t)(s - key);
		s += strspn(s, " \t+*-/");
		if (!key_len || *s != '=') {
			s += s == key && *s;
			continue;
		}
		s++;
		s += strspn(s, " \t");
		const char *value = s, *stop;
		if (*s == '"') {
			value++;
			stop = strchr(value, '"');
			stop = stop ? stop : value + strlen(value);
			s = *stop ? stop + 1 : stop;
		} else {
			stop = s + strcspn(s, " \t");
			s = stop;
		}
		int rc = add_pair(c, key, key_len, value, (size_t)(stop - value), file,
				  line, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The file of an "Include file" line, or NULL. */
static const char *include_name(char *s)
{
	s += strspn(s, " \t");
	if (strncasecmp(s, "include", 7) != 0 || (s[7] != ' ' && s[7] != '\t'))
		return NULL;
	s += 7;
	s += strspn(s, " \t");
	s[strcspn(s, " \t")] = '\0';
	return *s && *s != '=' ? s : NULL;
}

int slurmconf_parse(struct slurmconf *c, const char *text, size_t len, const char *file,
		    int (*include)(void *data, const char *name, unsigned line),
		    void *data, struct err *err)
{
	auto_buf struct buf line = BUF_INIT;
	const char *p = text, *end = text + len;
	unsigned next_no = 1, line_no;

	while (slurmconf_line(&p, end, &next_no, &line_no, &line)) {
		const char *name = include_name(line.data);
		int rc = name ? include(data, name, line_no)
			      : parse_pairs(c, line.data, file, line_no, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

struct slurmconf_reading {
	struct slurmconf *c;
	const char *file;
	unsigned depth;
	struct err *err;
};

static int read_slurmconf_file(struct slurmconf *c, const char *path, unsigned depth,
			       struct err *err);

static int follow_include(void *data, const char *name, unsigned line)
{
	struct slurmconf_reading *r = data;
	auto_free char *path = path_beside(r->c->files[0], name);

	if (!path)
		return err_set(r->err, -ENOMEM, "out of memory");
	if (r->depth >= SLURMCONF_DEPTH_MAX)
		return err_set(r->err, -ELOOP, "%s:%u: includes nested deeper than %d",
			       r->file, line, SLURMCONF_DEPTH_MAX);
	int rc = read_slurmconf_file(r->c, path, r->depth + 1, r->err);
	if (rc == -ENOENT || rc == -EACCES)
		return err_prefix(r->err, rc, "%s:%u: include", r->file, line);
	return rc;
}

static int read_slurmconf_file(struct slurmconf *c, const char *path, unsigned depth,
			       struct err *err)
{
	auto_buf struct buf text = BUF_INIT;

	if (c->file_count >= SLURMCONF_FILES_MAX)
		return err_set(err, -E2BIG, "%s: more than %d files included", path,
			       SLURMCONF_FILES_MAX);
	int rc = fs_read_buf_at(AT_FDCWD, path, SLURMCONF_BYTES_MAX, &text, err);
	if (rc < 0)
		return rc;
	char *file = strdup(path);
	if (!file)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	c->files[c->file_count++] = file;
	struct slurmconf_reading r = {.c = c, .file = file, .depth = depth, .err = err};
	return slurmconf_parse(c, text.data ? text.data : "", text.len, file,
			       follow_include, &r, err);
}

int slurmconf_read(struct slurmconf *c, const char *path, struct err *err)
{
	return read_slurmconf_file(c, path, 0, err);
}

void slurmconf_done(struct slurmconf *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->pairs[i].key);
		free(c->pairs[i].value);
	}
	free(c->pairs);
	for (size_t i = 0; i < c->file_count; i++)
		free(c->files[i]);
	*c = (struct slurmconf){0};
}

const struct slurmconf_pair *slurmconf_get(const struct slurmconf *c, const char *key)
{
	for (size_t i = c->count; i > 0; i--) {
		if (strcasecmp(c->pairs[i - 1].key, key) == 0)
			return &c->pairs[i - 1];
	}
	return NULL;
}

bool slurmconf_names(const char *value, const char *prefix, const char *word)
{
	size_t prefix_len = prefix ? strlen(prefix) : 0, word_len = strlen(word);

	while (*value) {
		value += strspn(value, ", \t");
		size_t len = strcspn(value, ", \t");
		if (prefix_len && len > prefix_len &&
		    strncasecmp(value, prefix, prefix_len) == 0) {
			value += prefix_len;
			len -= prefix_len;
		}
		if (len == word_len && strncasecmp(value, word, len) == 0)
			return true;
		value += len;
	}
	return false;
}
