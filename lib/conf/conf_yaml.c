/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The YAML source of options. A stream of libyaml's events, never a tree: each key path
 * is looked up in the option table at once, so a wrong file ends at its first wrong
 * line and nothing grows with the file but libyaml's own buffers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "lib/cleanup.h"
#include "lib/conf/conf_impl.h"
#include "lib/conf/yaml_walk.h"

#define DEPTH_MAX 8

struct conf_yaml_reader {
	const struct conf_opt *opts;
	size_t n;
	const char *file;
	void *dst;
	struct buf *warnings;
	struct err *err;
	yaml_parser_t parser;
	size_t *line_of;              /* per option: where it was set, 0 = not yet */
	char path[CONF_NAME_MAX + 1]; /* the dotted key of the current position */
	size_t path_len;
	unsigned depth;
};

static void event_done(yaml_event_t *e)
{
	yaml_event_delete(e);
}
#define auto_event __attribute__((cleanup(event_done)))

static size_t line_at(const char *text, size_t len, size_t offset)
{
	size_t line = 1;
	for (size_t i = 0; i < len && i < offset; i++)
		line += text[i] == '\n';
	return line;
}

static size_t line_of(const yaml_event_t *e)
{
	return e->start_mark.line + 1;
}

#define fail(r, rc, line, fmt, ...)                                                    \
	err_set((r)->err, rc, "%.200s:%zu: " fmt, (r)->file, (size_t)(line),           \
		##__VA_ARGS__)

/* The next event. Everything that no configuration needs is refused here. */
static int next_event(struct conf_yaml_reader *r, yaml_event_t *ret)
{
	const yaml_parser_t *p = &r->parser;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (!yaml_parser_parse(&r->parser, ret)) {
		const char *why = p->problem ? p->problem : "not YAML";
		if (p->error == YAML_MEMORY_ERROR)
			return fail(r, -ENOMEM, p->mark.line + 1, "out of memory");
		if (p->error == YAML_READER_ERROR)
			return fail(r, -EINVAL,
				    line_at((const char *)p->input.string.start,
					    (size_t)(p->input.string.end -
						     p->input.string.start),
					    p->problem_offset),
				    "%s", why);
		if (yaml_has_tab((const char *)p->input.string.start,
				 (size_t)(p->input.string.end - p->input.string.start),
				 p->problem_mark.line))
			return fail(r, -EINVAL, p->problem_mark.line + 1,
				    "%s" YAML_TAB_HINT, why);
		return fail(r, -EINVAL, p->problem_mark.line + 1, "%s%s%s", why,
			    p->context ? ", " : "", p->context ? p->context : "");
	}
	if (ret->type == YAML_SCALAR_EVENT) {
		anchor = ret->data.scalar.anchor;
		tag = ret->data.scalar.tag;
	} else if (ret->type == YAML_SEQUENCE_START_EVENT) {
		anchor = ret->data.sequence_start.anchor;
		tag = ret->data.sequence_start.tag;
	} else if (ret->type == YAML_MAPPING_START_EVENT) {
		anchor = ret->data.mapping_start.anchor;
		tag = ret->data.mapping_start.tag;
	}
	if (anchor || ret->type == YAML_ALIAS_EVENT)
		return fail(r, -EINVAL, line_of(ret),
			    "anchors and aliases (&, *) are not supported here");
	if (tag)
		return fail(r, -EINVAL, line_of(ret),
			    "tags (\"%.60s\") are not supported here",
			    (const char *)tag);
	return 0;
}

static int refuse_unknown_option(const struct conf_yaml_reader *r, size_t line,
				 bool mapping)
{
	size_t near_len = 0;

	if (conf_find_later(r->opts, r->n, r->path, strlen(r->path)))
		return fail(r, -ENOTSUP, line, "%s: comes with a later release",
			    r->path);
	const char *near = conf_nearest(r->opts, r->n, r->path, mapping, &near_len);

	if (!near)
		return fail(r, -EINVAL, line, "unknown key \"%s\"", r->path);
	return fail(r, -EINVAL, line, "unknown key \"%s\" (did you mean \"%.*s\"?)",
		    r->path, (int)near_len, near);
}

static bool is_option_prefix(const struct conf_yaml_reader *r)
{
	for (size_t i = 0; i < r->n; i++) {
		if (strncmp(r->opts[i].name, r->path, r->path_len) == 0 &&
		    r->opts[i].name[r->path_len] == '.')
			return true;
	}
	return false;
}

/* The option at the current path; "x.enabled" is the switch x itself. */
static const struct conf_opt *option_at_path(const struct conf_yaml_reader *r)
{
	static const char suffix[] = ".enabled";
	const size_t suffix_len = sizeof(suffix) - 1;
	const struct conf_opt *o = conf_find(r->opts, r->n, r->path, r->path_len);

	if (o || r->path_len <= suffix_len ||
	    memcmp(r->path + r->path_len - suffix_len, suffix, suffix_len) != 0)
		return o;
	o = conf_find(r->opts, r->n, r->path, r->path_len - suffix_len);
	return o && o->kind == CONF_BOOL ? o : NULL;
}

/* A scalar as C text, or NULL with err set. */
static const char *scalar_text(const struct conf_yaml_reader *r, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;

	if (!memchr(text, '\0', e->data.scalar.length))
		return text;
	fail(r, -EINVAL, line_of(e), "NUL in a text");
	return NULL;
}

static bool is_null(const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;

	return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

/* Marks the option as set in this file: a second time is an error. */
static int claim_option(struct conf_yaml_reader *r, const struct conf_opt *o,
			size_t line, const struct conf_opt **ret)
{
	const struct conf_opt *t = conf_target(r->opts, r->n, o);
	char where[512];

	if (!t)
		return fail(r, -EINVAL, line, "%s: wrong option table", o->name);
	if (strcmp(t->name, "config.file") == 0)
		return fail(r, -EINVAL, line,
			    "config.file: only on the command line or in the "
			    "environment");
	size_t *seen = &r->line_of[t - r->opts];
	if (*seen)
		return fail(r, -EEXIST, line,
			    "duplicate key \"%s\", set before in line %zu", r->path,
			    *seen);
	*seen = line;
	snprintf(where, sizeof(where), "%.200s:%zu: %s", r->file, line, r->path);
	conf_warn_old(o, where, r->warnings);
	*ret = t;
	return 0;
}

static int set_option(struct conf_yaml_reader *r, const struct conf_opt *o,
		      const char *text, size_t line)
{
	char where[512];

	snprintf(where, sizeof(where), "%.200s:%zu: %s", r->file, line, r->path);
	return conf_set(o, r->dst, text, where, r->err);
}

static int wrong_type(const struct conf_yaml_reader *r, const struct conf_opt *o,
		      size_t line, const char *got)
{
	char wants[256];

	conf_wants(o, wants, sizeof(wants));
	return fail(r, -EINVAL, line, "%s: wants %s, not %s", r->path, wants, got);
}

static int read_scalar(struct conf_yaml_reader *r, const yaml_event_t *e)
{
	const struct conf_opt *o = option_at_path(r);
	const char *text = scalar_text(r, e);

	if (!text)
		return -EINVAL;
	if (!o && is_option_prefix(r) && is_null(e))
		return 0; /* all lines below it are commented out */
	if (!o && is_option_prefix(r))
		return fail(r, -EINVAL, line_of(e),
			    "%s: must be a mapping, not a value", r->path);
	if (!o)
		return refuse_unknown_option(r, line_of(e), false);
	int rc = claim_option(r, o, line_of(e), &o);
	if (rc < 0 || is_null(e))
		return rc;
	conf_clear(o, r->dst);
	return set_option(r, o, text, line_of(e));
}

static int read_sequence(struct conf_yaml_reader *r, size_t line)
{
	const struct conf_opt *o = option_at_path(r);

	if (!o)
		return refuse_unknown_option(r, line, false);
	int rc = claim_option(r, o, line, &o);
	if (rc < 0)
		return rc;
	if (o->kind != CONF_LIST)
		return wrong_type(r, o, line, "a list");
	conf_clear(o, r->dst);
	for (;;) { /* ends with the file, of at most CONF_FILE_MAX bytes */
		auto_event yaml_event_t e = {0};
		rc = next_event(r, &e);
		if (rc < 0)
			return rc;
		if (e.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (e.type != YAML_SCALAR_EVENT || is_null(&e))
			return fail(r, -EINVAL, line_of(&e),
				    "%s: entries of the list must be plain values",
				    r->path);
		const char *text = scalar_text(r, &e);
		rc = text ? set_option(r, o, text, line_of(&e)) : -EINVAL;
		if (rc < 0)
			return rc;
	}
}

static int push_key(struct conf_yaml_reader *r, const yaml_event_t *e)
{
	const char *key = scalar_text(r, e);
	size_t len = key ? strlen(key) : 0, dot = r->path_len != 0;

	if (!key)
		return -EINVAL;
	if (!len)
		return fail(r, -EINVAL, line_of(e), "empty key");
	if (r->path_len + dot + len > CONF_NAME_MAX)
		return fail(r, -EINVAL, line_of(e),
			    "unknown key \"%s%s%.60s...\" (too long)", r->path,
			    dot ? "." : "", key);
	if (dot)
		r->path[r->path_len++] = '.';
	memcpy(r->path + r->path_len, key, len + 1);
	r->path_len += len;
	return 0;
}

static int read_mapping(struct conf_yaml_reader *r);

static bool has_others(const struct conf_yaml_reader *r)
{
	const struct conf_opt *file = conf_find(r->opts, r->n, "config.file", 11);

	return file && file->flags & CONF_OTHERS;
}

/* Skips a value that belongs to another program; next_event() bounds it. */
static int skip_value(struct conf_yaml_reader *r, const yaml_event_t *e)
{
	unsigned depth = e->type != YAML_SCALAR_EVENT;

	while (depth) {
		auto_event yaml_event_t next = {0};
		int rc = next_event(r, &next);
		if (rc < 0)
			return rc;
		if (next.type == YAML_MAPPING_START_EVENT ||
		    next.type == YAML_SEQUENCE_START_EVENT)
			depth++;
		else if (next.type == YAML_MAPPING_END_EVENT ||
			 next.type == YAML_SEQUENCE_END_EVENT)
			depth--;
	}
	return 0;
}

static int read_option_value(struct conf_yaml_reader *r, const yaml_event_t *e)
{
	size_t line = line_of(e);

	if (!option_at_path(r) && !is_option_prefix(r) && has_others(r))
		return skip_value(r, e);
	if (e->type == YAML_SCALAR_EVENT)
		return read_scalar(r, e);
	if (r->depth >= DEPTH_MAX)
		return fail(r, -EINVAL, line, "nested deeper than %d", DEPTH_MAX);
	if (e->type == YAML_SEQUENCE_START_EVENT)
		return read_sequence(r, line);
	const struct conf_opt *o = option_at_path(r);
	if (!is_option_prefix(r) && o && o->kind != CONF_BOOL)
		return wrong_type(r, o, line, "a mapping");
	if (!is_option_prefix(r) && !o)
		return refuse_unknown_option(r, line, true);
	return read_mapping(r);
}

/* Depth is bounded by read_option_value(), breadth by the length of the file. */
static int read_mapping(struct conf_yaml_reader *r)
{
	size_t outer = r->path_len;

	r->depth++;
	for (;;) {
		auto_event yaml_event_t key = {0};
		auto_event yaml_event_t value = {0};
		int rc = next_event(r, &key);
		if (rc < 0)
			return rc;
		if (key.type == YAML_MAPPING_END_EVENT)
			break;
		if (key.type != YAML_SCALAR_EVENT)
			return fail(r, -EINVAL, line_of(&key), "a key must be a word");
		rc = push_key(r, &key);
		if (rc == 0)
			rc = next_event(r, &value);
		if (rc == 0) {
			/* people look for the key; a value's own mark may be lines on
			 */
			value.start_mark.line = key.start_mark.line;
			rc = read_option_value(r, &value);
		}
		if (rc < 0)
			return rc;
		r->path_len = outer;
		r->path[outer] = '\0';
	}
	r->depth--;
	return 0;
}

/* Stream: at most one document, and that a mapping (or nothing). */
static int read_stream(struct conf_yaml_reader *r)
{
	bool have_document = false;

	for (;;) {
		auto_event yaml_event_t e = {0};
		int rc = next_event(r, &e);
		if (rc < 0)
			return rc;
		switch (e.type) {
		case YAML_STREAM_END_EVENT:
			return 0;
		case YAML_DOCUMENT_START_EVENT:
			if (have_document)
				return fail(r, -EINVAL, line_of(&e),
					    "a second document, only one is allowed");
			have_document = true;
			break;
		case YAML_MAPPING_START_EVENT:
			rc = read_mapping(r);
			break;
		case YAML_SCALAR_EVENT:
			if (is_null(&e))
				break;
			/* fall through */
		case YAML_SEQUENCE_START_EVENT:
			rc = fail(r, -EINVAL, line_of(&e),
				  "the file must contain \"key: value\" lines");
			break;
		default:
			break;
		}
		if (rc < 0)
			return rc;
	}
}

int conf_apply_yaml(const struct conf_opt *opts, size_t n, const char *text, size_t len,
		    const char *file, void *dst, struct buf *warnings, struct err *err)
{
	struct conf_yaml_reader r = {.opts = opts,
				     .n = n,
				     .file = file,
				     .dst = dst,
				     .warnings = warnings,
				     .err = err};
	if (len > CONF_FILE_MAX)
		return err_set(err, -EFBIG, "%.200s: longer than %u bytes", file,
			       CONF_FILE_MAX);
	auto_free size_t *lines = calloc(n + 1, sizeof(*lines));
	if (!lines || !yaml_parser_initialize(&r.parser))
		return err_set(err, -ENOMEM, "%.200s: out of memory", file);
	r.line_of = lines;
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	int rc = read_stream(&r);
	yaml_parser_delete(&r.parser);
	return rc;
}

int conf_load_yaml(const struct conf_opt *opts, size_t n, const char *text, size_t len,
		   const char *file, void *dst, struct err *err)
{
	return conf_apply_yaml(opts, n, text, len, file, dst, NULL, err);
}
