/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /etc/ceems/jobcomp.yaml. A mistake in it must not keep slurmctld from starting: the
 * line is reported and skipped. */
#include "lib/plugin/jobcomp_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define LINES_MAX 256
#define OURSELVES "jobcomp/ceems"

struct options_reading {
	struct jobcomp_options *o;
	jobcomp_complain_f complain;
	void *arg;
	unsigned seen; /* one bit per key */
};

struct jobcomp_word {
	const char *text;
	size_t len;
};

static struct jobcomp_word trim_option(const char *from, const char *end)
{
	while (from < end && (*from == ' ' || *from == '\t' || *from == '\r'))
		from++;
	while (end > from && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return (struct jobcomp_word){from, (size_t)(end - from)};
}

void jobcomp_options_init(struct jobcomp_options *o)
{
	*o = (struct jobcomp_options){.spool = JOBCOMP_SPOOL_DEFAULT,
				      .max_bytes = JOBCOMP_MAX_BYTES_DEFAULT};
}

static const char *set_spool(struct jobcomp_options *o, const char *v)
{
	if (v[0] != '/')
		return "spool is not an absolute path";
	snprintf(o->spool, sizeof(o->spool), "%s", v);
	return NULL;
}

static const char *set_max_bytes(struct jobcomp_options *o, const char *v)
{
	uint64_t n;

	if (parse_bytes(v, &n) < 0 || n < JOBCOMP_MAX_BYTES_MIN)
		return "max_bytes is not a size of at least 1MiB, such as 4GiB";
	o->max_bytes = n;
	return NULL;
}

static const char *set_chain(struct jobcomp_options *o, const char *v)
{
	const char *prefix = strchr(v, '/') ? "" : "jobcomp/";
	char full[sizeof(o->chain)];

	if (strcmp(v, "none") == 0 || !*v) {
		o->chain[0] = '\0';
		return NULL;
	}
	int n = snprintf(full, sizeof(full), "%s%s", prefix, v);
	if (n < 0 || (size_t)n >= sizeof(full) || strncmp(full, "jobcomp/", 8) != 0)
		return "chain is not a jobcomp plugin, such as jobcomp/kafka";
	if (strcmp(full, OURSELVES) == 0)
		return "chain is this plugin itself";
	memcpy(o->chain, full, sizeof(full));
	return NULL;
}

static const char *set_cluster(struct jobcomp_options *o, const char *v)
{
	snprintf(o->cluster, sizeof(o->cluster), "%s", v);
	return NULL;
}

static const char *set_submit_line(struct jobcomp_options *o, const char *v)
{
	return parse_bool(v, &o->submit_line) < 0 ? "submit_line is not yes or no"
						  : NULL;
}

static const struct option_key {
	const char *name;
	const char *(*set)(struct jobcomp_options *o, const char *value);
} keys[] = {
	{"spool", set_spool},
	{"max_bytes", set_max_bytes},
	{"chain", set_chain},
	{"cluster", set_cluster},
	{"submit_line", set_submit_line},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* A scalar: plain with an optional comment, or quoted. NULL: valid, else the error. */
static const char *get_value(struct jobcomp_word w, char ret[JOBCOMP_VALUE_MAX])
{
	bool quoted = w.len && (w.text[0] == '"' || w.text[0] == '\'');
	char quote = (char)(quoted ? w.text[0] : 0);

	if (quote) {
		const char *end = memchr(w.text + 1, quote, w.len - 1);
		if (!end)
			return "no closing quote";
		struct jobcomp_word rest = trim_option(end + 1, w.text + w.len);
		if (rest.len && rest.text[0] != '#')
			return "text after the closing quote";
		w = (struct jobcomp_word){w.text + 1, (size_t)(end - w.text) - 1};
	} else {
		for (size_t i = 0; i < w.len; i++)
			if (w.text[i] == '#' &&
			    (i == 0 || w.text[i - 1] == ' ' || w.text[i - 1] == '\t'))
				w = trim_option(w.text, w.text + i);
	}
	if (w.len >= JOBCOMP_VALUE_MAX)
		return "value too long";
	if (memchr(w.text, '\0', w.len))
		return "zero byte";
	memcpy(ret, w.text, w.len);
	ret[w.len] = '\0';
	return NULL;
}

static const char *read_option_line(struct options_reading *r, struct jobcomp_word line)
{
	const char *colon = memchr(line.text, ':', line.len);
	char value[JOBCOMP_VALUE_MAX];

	if (!colon ||
	    (colon + 1 < line.text + line.len && colon[1] != ' ' && colon[1] != '\t'))
		return "not \"key: value\"";
	struct jobcomp_word name = trim_option(line.text, colon);
	for (size_t i = 0; i < KEYS; i++) {
		if (strlen(keys[i].name) != name.len ||
		    memcmp(keys[i].name, name.text, name.len) != 0)
			continue;
		if (r->seen >> i & 1)
			return "the key appears twice";
		r->seen |= 1u << i;
		const char *bad =
			get_value(trim_option(colon + 1, line.text + line.len), value);
		return bad ? bad : keys[i].set(r->o, value);
	}
	return "unknown key: only spool, max_bytes, chain, cluster and submit_line may "
	       "be set";
}

void jobcomp_options_parse(struct jobcomp_options *o, const char *text, size_t len,
			   jobcomp_complain_f complain, void *arg)
{
	struct options_reading r = {.o = o, .complain = complain, .arg = arg};
	const char *p = text, *end = text + len, *line;
	char what[160];
	size_t line_len;

	for (int n = 1; n <= LINES_MAX && scan_line(&p, end, &line, &line_len); n++) {
		struct jobcomp_word w = trim_option(line, line + line_len);
		if (!w.len || w.text[0] == '#' ||
		    (w.len == 3 && !memcmp(w.text, "---", 3)))
			continue;
		const char *bad =
			w.text != line
				? "indented: a key must begin at the start of its line"
				: read_option_line(&r, w);
		if (!bad)
			continue;
		snprintf(what, sizeof(what), "line %d: %s", n, bad);
		complain(arg, what);
	}
	if (p < end)
		complain(arg, "more than 256 lines, the rest is left out");
}

int jobcomp_options_read(struct jobcomp_options *o, const char *path, uid_t owner,
			 jobcomp_complain_f complain, void *arg, struct err *err)
{
	char text[JOBCOMP_OPTIONS_MAX];
	struct stat st;

	jobcomp_options_init(o);
	auto_close int fd = fs_open_at(AT_FDCWD, path, err);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	int rc = fs_check_trusted_stat(&st, path, st.st_uid == owner ? owner : 0, 0755,
				       err);
	if (rc < 0)
		return rc;
	ssize_t n = fs_pread(fd, text, sizeof(text));
	if (n < 0)
		return err_set(err, (int)n, "read %s: %s", path, strerror((int)-n));
	jobcomp_options_parse(o, text, (size_t)n, complain, arg);
	return 0;
}
