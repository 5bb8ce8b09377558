/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of a program from one table: values and their checks, and the order of the
 * sources (default, environment, file, command line). The YAML reader is conf_yaml.c.
 */
#include "lib/conf/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/conf/conf_impl.h"
#include "lib/conf/dropins.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/spelling.h"

/* ---- the table ------------------------------------------------------------------- */

const struct conf_opt *conf_find(const struct conf_opt *opts, size_t n,
				 const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (strlen(opts[i].name) == len && memcmp(opts[i].name, name, len) == 0)
			return &opts[i];
	}
	return NULL;
}

const struct conf_opt *conf_find_later(const struct conf_opt *opts, size_t n,
				       const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		size_t l = strlen(opts[i].name);
		if (opts[i].flags & CONF_LATER && l <= len &&
		    memcmp(opts[i].name, name, l) == 0 && (l == len || name[l] == '.'))
			return &opts[i];
	}
	return NULL;
}

int conf_refuse_later(const char *where, struct err *err)
{
	return err_set(err, -ENOTSUP, "%s: comes with a later release", where);
}

const struct conf_opt *conf_target(const struct conf_opt *opts, size_t n,
				   const struct conf_opt *o)
{
	return o->alias_of ? conf_find(opts, n, o->alias_of, strlen(o->alias_of)) : o;
}

const char *conf_nearest(const struct conf_opt *opts, size_t n, const char *name,
			 bool prefixes, size_t *ret_len)
{
	size_t len = strlen(name), best = spelling_most(len) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		const char *s = opts[i].name;
		size_t full = strlen(s);
		if (opts[i].alias_of || opts[i].flags & (CONF_DEPRECATED | CONF_HIDDEN))
			continue;
		for (size_t l = prefixes ? 1 : full; l <= full; l++) {
			if (l < full && s[l] != '.')
				continue;
			size_t d = spelling_distance(name, len, s, l);
			if (d < best) {
				best = d;
				found = s;
				*ret_len = l;
			}
		}
	}
	for (size_t i = 0; !found && len > 3 && i < n; i++) {
		if (strncmp(opts[i].name, name, len) == 0 && !opts[i].alias_of) {
			found = opts[i].name;
			*ret_len = strlen(found);
		}
	}
	return found;
}

/* ---- values ---------------------------------------------------------------------- */

static void *option_member(const struct conf_opt *o, void *dst)
{
	return (char *)dst + o->off;
}

const char *conf_kind_name(const struct conf_opt *o)
{
	switch (o->kind) {
	case CONF_BOOL:
		return "true or false";
	case CONF_U64:
		return "a number";
	case CONF_DURATION:
		return "a duration (such as 15s or 1m30s)";
	case CONF_BYTES:
		return "a size (such as 64KiB or 1GB)";
	case CONF_STRING:
		return "a text";
	case CONF_LIST:
		return "a list";
	case CONF_ENUM:
		return "one of a list of words";
	}
	return "?";
}

void conf_wants(const struct conf_opt *o, char *ret, size_t size)
{
	if (o->kind != CONF_ENUM || !o->choices) {
		snprintf(ret, size, "%s", conf_kind_name(o));
		return;
	}
	size_t used = (size_t)snprintf(ret, size, "one of");
	for (size_t i = 0; o->choices[i] && used < size; i++)
		used += (size_t)snprintf(ret + used, size - used, "%s %s", i ? "," : "",
					 o->choices[i]);
}

static int refuse_value(const struct conf_opt *o, int rc, const char *text,
			const char *where, struct err *err)
{
	char wants[256];

	if (rc == -ERANGE)
		return err_set(err, rc, "%s: \"%.100s\" is too large", where, text);
	conf_wants(o, wants, sizeof(wants));
	return err_set(err, -EINVAL, "%s: \"%.100s\" is not %s", where, text, wants);
}

static int in_range(const struct conf_opt *o, uint64_t v, const char *text,
		    const char *where, struct err *err)
{
	const char *unit = o->kind == CONF_DURATION ? "ms" : "";

	if (v < o->min)
		return err_set(err, -ERANGE,
			       "%s: \"%.100s\" is too small, the least is %ju%s", where,
			       text, (uintmax_t)o->min, unit);
	if (o->max && v > o->max)
		return err_set(err, -ERANGE,
			       "%s: \"%.100s\" is too large, the most is %ju%s", where,
			       text, (uintmax_t)o->max, unit);
	return 0;
}

static int set_option_number(const struct conf_opt *o, void *dst, const char *text,
			     const char *where, struct err *err)
{
	uint64_t v = 0;
	int rc;

	if (o->kind == CONF_DURATION)
		rc = parse_duration_ms(text, &v);
	else if (o->kind == CONF_BYTES)
		rc = parse_bytes(text, &v);
	else
		rc = parse_u64(text, &v);
	if (rc < 0)
		return refuse_value(o, rc, text, where, err);
	rc = in_range(o, v, text, where, err);
	if (rc < 0)
		return rc;
	*(uint64_t *)option_member(o, dst) = v;
	return 0;
}

static int set_enum(const struct conf_opt *o, void *dst, const char *text,
		    const char *where, struct err *err)
{
	for (int i = 0; o->choices && o->choices[i]; i++) {
		if (strcmp(o->choices[i], text) == 0) {
			*(int *)option_member(o, dst) = i;
			return 0;
		}
	}
	return refuse_value(o, -EINVAL, text, where, err);
}

void conf_list_done(struct conf_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct conf_list){0};
}

int conf_list_add(struct conf_list *l, const char *text)
{
	if (l->count >= CONF_LIST_MAX)
		return -E2BIG;
	char **items = realloc(l->items, (l->count + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	l->items = items;
	items[l->count] = strdup(text);
	if (!items[l->count])
		return -ENOMEM;
	l->count++;
	return 0;
}

static int list_append(struct conf_list *l, const char *text, const char *where,
		       struct err *err)
{
	int rc = conf_list_add(l, text);

	if (rc == -E2BIG)
		return err_set(err, rc, "%s: more than %d entries", where,
			       CONF_LIST_MAX);
	return rc < 0 ? err_set(err, rc, "%s: out of memory", where) : 0;
}

int conf_set(const struct conf_opt *o, void *dst, const char *text, const char *where,
	     struct err *err)
{
	switch (o->kind) {
	case CONF_BOOL:
		if (parse_bool(text, option_member(o, dst)) < 0)
			return o->flags & CONF_LATER
				       ? conf_refuse_later(where, err)
				       : refuse_value(o, -EINVAL, text, where, err);
		return o->flags & CONF_LATER && *(bool *)option_member(o, dst)
			       ? conf_refuse_later(where, err)
			       : 0;
	case CONF_U64:
	case CONF_DURATION:
	case CONF_BYTES:
		return set_option_number(o, dst, text, where, err);
	case CONF_STRING: {
		char *copy = strdup(text);
		if (!copy)
			return err_set(err, -ENOMEM, "%s: out of memory", where);
		free(*(char **)option_member(o, dst));
		*(char **)option_member(o, dst) = copy;
		return 0;
	}
	case CONF_LIST:
		return list_append(option_member(o, dst), text, where, err);
	case CONF_ENUM:
		return set_enum(o, dst, text, where, err);
	}
	return err_set(err, -EINVAL, "%s: kind %d in the option table", where, o->kind);
}

void conf_clear(const struct conf_opt *o, void *dst)
{
	if (o->kind == CONF_STRING) {
		free(*(char **)option_member(o, dst));
		*(char **)option_member(o, dst) = NULL;
	} else if (o->kind == CONF_LIST) {
		conf_list_done(option_member(o, dst));
	}
}

void conf_release(const struct conf_opt *opts, size_t n, void *dst)
{
	for (size_t i = 0; i < n; i++)
		conf_clear(&opts[i], dst);
}

static bool list_equal(const struct conf_list *a, const struct conf_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	}
	return true;
}

bool conf_equal(const struct conf_opt *o, const void *a, const void *b)
{
	const void *pa = (const char *)a + o->off, *pb = (const char *)b + o->off;

	switch (o->kind) {
	case CONF_BOOL:
		return *(const bool *)pa == *(const bool *)pb;
	case CONF_U64:
	case CONF_DURATION:
	case CONF_BYTES:
		return *(const uint64_t *)pa == *(const uint64_t *)pb;
	case CONF_STRING: {
		const char *sa = *(char *const *)pa, *sb = *(char *const *)pb;
		return strcmp(sa ? sa : "", sb ? sb : "") == 0;
	}
	case CONF_LIST:
		return list_equal(pa, pb);
	case CONF_ENUM:
		return *(const int *)pa == *(const int *)pb;
	}
	return false;
}

/* A comma-separated text: one item each, trimmed, without empty ones. */
static int set_separated(const struct conf_opt *o, void *dst, const char *text,
			 const char *where, struct err *err)
{
	if (o->kind != CONF_LIST)
		return conf_set(o, dst, text, where, err);
	conf_clear(o, dst);
	auto_free char *copy = strdup(text);
	if (!copy)
		return err_set(err, -ENOMEM, "%s: out of memory", where);
	char *rest = copy, *item;
	while ((item = strsep(&rest, ","))) {
		item += strspn(item, " \t");
		size_t len = strlen(item);
		while (len && (item[len - 1] == ' ' || item[len - 1] == '\t'))
			item[--len] = '\0';
		if (!len)
			continue;
		int rc = conf_set(o, dst, item, where, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void conf_warn_old(const struct conf_opt *o, const char *where, struct buf *warnings)
{
	if (!warnings || !(o->flags & CONF_DEPRECATED))
		return;
	if (o->alias_of)
		buf_printf(warnings, "%s: old name, use \"%s\"\n", where, o->alias_of);
	else
		buf_printf(warnings, "%s: accepted for old configurations, ignored\n",
			   where);
}

/* ---- sources --------------------------------------------------------------------- */

struct load {
	const struct conf_opt *opts;
	size_t n;
	void *dst;
	struct buf *warnings;
	struct err *err;
};

static int apply_defaults(const struct load *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct conf_opt *o = &l->opts[i];
		char where[CONF_NAME_MAX + 32];
		snprintf(where, sizeof(where), "default of %s", o->name);
		if (strlen(o->name) > CONF_NAME_MAX || !conf_target(l->opts, l->n, o))
			return err_set(l->err, -EINVAL, "%s: wrong option table",
				       where);
		if (o->alias_of)
			continue;
		bool text = o->kind == CONF_STRING;
		if (!text && (!o->def || !*o->def))
			continue;
		int rc = set_separated(o, l->dst, o->def ? o->def : "", where, l->err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void conf_env_name(const struct conf_opt *o, char ret[CONF_NAME_MAX + 8])
{
	snprintf(ret, CONF_NAME_MAX + 8, "CEEMS_%s", o->name);
	for (char *p = ret; *p; p++) {
		if (*p >= 'a' && *p <= 'z')
			*p -= 'a' - 'A';
		else if (*p == '.' || *p == '-')
			*p = '_';
	}
}

static int apply_variable(const struct load *l, const struct conf_opt *o,
			  const char *name)
{
	const char *text = secure_getenv(name);

	if (!text || !*text)
		return 0;
	conf_warn_old(o, name, l->warnings);
	return set_separated(conf_target(l->opts, l->n, o), l->dst, text, name, l->err);
}

/* The peer's variables first, so that our own names win over them. */
static int apply_environment(const struct load *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!l->opts[i].env)
			continue;
		int rc = apply_variable(l, &l->opts[i], l->opts[i].env);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < l->n; i++) {
		char name[CONF_NAME_MAX + 8];
		if (l->opts[i].alias_of)
			continue;
		conf_env_name(&l->opts[i], name);
		int rc = apply_variable(l, &l->opts[i], name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int apply_text(const struct load *l, const struct buf *text, const char *file)
{
	return conf_apply_yaml(l->opts, l->n, text->data ? text->data : "", text->len,
			       file, l->dst, l->warnings, l->err);
}

/* The file, then its drop-ins: an option that a later one gives is replaced. */
static int apply_file(const struct load *l, const char *path, bool explicit)
{
	auto_buf struct buf text = BUF_INIT;
	auto_dropins struct dropins more = {.count = 0};

	if (!path || !*path)
		return 0;
	int rc = fs_read_buf_at(AT_FDCWD, path, CONF_FILE_MAX, &text, l->err);
	if (rc < 0 && (rc != -ENOENT || explicit))
		return err_prefix(l->err, rc, "config.file");
	/* the file at the default path may be missing */
	if (rc == 0)
		rc = apply_text(l, &text, path);
	else
		rc = 0;
	if (rc == 0)
		rc = dropins_read(path, &more, l->err);
	for (size_t i = 0; rc == 0 && i < more.count; i++)
		rc = apply_text(l, &more.items[i].text, more.items[i].file);
	return rc;
}

/* A parsed flag of the command line. */
struct arg {
	const struct conf_opt *opt;
	const char *value; /* "true" or "false" for a switch without one */
	const char *flag;  /* as it was written, for messages */
	size_t flag_len;
};

static int unknown_flag(const struct load *l, const char *flag, size_t len)
{
	char name[CONF_NAME_MAX + 1];
	bool no = len > 3 && strncmp(flag, "no-", 3) == 0;
	size_t near_len = 0;

	snprintf(name, sizeof(name), "%.*s", (int)(no ? len - 3 : len),
		 no ? flag + 3 : flag);
	const char *near = conf_nearest(l->opts, l->n, name, false, &near_len);
	if (!near)
		return err_set(l->err, -EINVAL, "unknown flag \"--%.*s\" (see --help)",
			       (int)(len > 100 ? 100 : len), flag);
	return err_set(l->err, -EINVAL,
		       "unknown flag \"--%.*s\" (did you mean \"--%s%.*s\"?)",
		       (int)(len > 100 ? 100 : len), flag, no ? "no-" : "",
		       (int)near_len, near);
}

/* Parses argv[*i], and the next word if that is its value. */
static int parse_arg(const struct load *l, int argc, char *const argv[], int *i,
		     struct arg *ret)
{
	const char *word = argv[*i];

	if (strncmp(word, "--", 2) != 0 || !word[2])
		return err_set(l->err, -EINVAL, "unexpected argument \"%.100s\"", word);
	const char *name = word + 2;
	const char *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	struct arg a = {.flag = word, .flag_len = len + 2, .value = eq ? eq + 1 : NULL};
	bool no = false;

	a.opt = conf_find(l->opts, l->n, name, len);
	if (!a.opt && len > 3 && strncmp(name, "no-", 3) == 0) {
		a.opt = conf_find(l->opts, l->n, name + 3, len - 3);
		no = true;
	}
	if (!a.opt &&
	    (a.opt = conf_find_later(l->opts, l->n, no ? name + 3 : name,
				     no ? len - 3 : len)) &&
	    !no)
		return conf_refuse_later(word, l->err);
	if (!a.opt)
		return unknown_flag(l, name, len);
	const struct conf_opt *o = conf_target(l->opts, l->n, a.opt);
	if (no && (o->kind != CONF_BOOL || a.value))
		return err_set(l->err, -EINVAL, "%.*s: %s", (int)a.flag_len, word,
			       a.value ? "takes no value"
				       : "only a switch can be negated");
	if (o->kind == CONF_BOOL && !a.value)
		a.value = no ? "false" : "true";
	if (!a.value) {
		/* a missing value must not swallow the next flag */
		if (*i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0)
			return err_set(l->err, -EINVAL, "%s: needs a value, %s", word,
				       conf_kind_name(o));
		a.value = argv[++*i];
	}
	*ret = a;
	return 0;
}

static int apply_args(const struct load *l, const struct arg *args, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct conf_opt *o = conf_target(l->opts, l->n, args[i].opt);
		bool first = true;
		char where[CONF_NAME_MAX + 8];
		for (size_t j = 0; j < i && first; j++)
			first = conf_target(l->opts, l->n, args[j].opt) != o;
		if (first)
			conf_clear(o, l->dst);
		snprintf(where, sizeof(where), "%.*s", (int)args[i].flag_len,
			 args[i].flag);
		conf_warn_old(args[i].opt, where, l->warnings);
		int rc = conf_set(o, l->dst, args[i].value, where, l->err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int load_all(const struct load *l, int argc, char *const argv[])
{
	auto_free struct arg *args = calloc((size_t)argc + 1, sizeof(*args));
	const struct conf_opt *file = conf_find(l->opts, l->n, "config.file", 11);
	size_t count = 0;
	bool explicit = false;

	if (!args)
		return err_set(l->err, -ENOMEM, "out of memory");
	int rc = apply_defaults(l);
	for (int i = 1; rc == 0 && i < argc; i++)
		rc = parse_arg(l, argc, argv, &i, &args[count++]);
	if (rc == 0)
		rc = apply_environment(l);
	if (rc == 0 && file && !(file->flags & CONF_ELSEWHERE)) {
		const char *path = *(char **)option_member(file, l->dst);
		explicit = path && strcmp(path, file->def ? file->def : "") != 0;
		for (size_t i = 0; i < count; i++) {
			if (conf_target(l->opts, l->n, args[i].opt) == file) {
				path = args[i].value;
				explicit = true;
			}
		}
		rc = apply_file(l, path, explicit);
	}
	return rc < 0 ? rc : apply_args(l, args, count);
}

int conf_load(const struct conf_opt *opts, size_t n, const char *program, int argc,
	      char *const argv[], void *dst, struct buf *out, struct buf *warnings,
	      struct err *err)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			conf_help(opts, n, program, out);
			return 1;
		}
		if (strcmp(argv[i], "--version") == 0) {
			buf_printf(out, "%s, version %s\n", program, CEEMS_VERSION);
			return 1;
		}
	}
	const struct load l = {
		.opts = opts, .n = n, .dst = dst, .warnings = warnings, .err = err};
	int rc = load_all(&l, argc, argv);
	if (rc < 0)
		conf_release(opts, n, dst);
	return rc;
}
