/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nested YAML files, with every refusal by file and line. */
#include "lib/conf/yaml_walk.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/conf/dropins.h"
#include "lib/conf/yaml_merge.h"
#include "lib/parse.h"
#include "lib/spelling.h"

#define VALUE_MAX 4096

size_t yaml_walk_line(const yaml_node_t *n)
{
	return n->start_mark.line + 1;
}

const char *yaml_walk_file(const struct yaml_walk *w, const yaml_node_t *n)
{
	size_t part = w->more ? n->start_mark.index : 0; /* see yaml_merge.h */

	return part ? w->more->items[part - 1].file : w->file;
}

int yaml_walk_fail(struct yaml_walk *w, const yaml_node_t *at, const char *what,
		   const char *detail)
{
	return err_set(w->err, -EINVAL, "%s:%zu: %s%s%s", yaml_walk_file(w, at),
		       yaml_walk_line(at), what, detail ? ": " : "",
		       detail ? detail : "");
}

int yaml_walk_scalar(struct yaml_walk *w, const char *key, yaml_node_t *n,
		     const char **ret)
{
	if (n->type != YAML_SCALAR_NODE)
		return yaml_walk_fail(w, n, key, "must be a single value");
	const char *s = (const char *)n->data.scalar.value;
	if (strlen(s) != n->data.scalar.length)
		return yaml_walk_fail(w, n, key, "holds a NUL character");
	*ret = s;
	return 0;
}

static bool is_variable_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Appends the value of the variable at s, after its '$', to out; returns the length of
 * its name, 0: invalid. */
static size_t expand_one(const char *s, struct buf *out, const char **ret_why)
{
	bool braces = s[0] == '{';
	const char *name = s + braces;
	size_t len = 0;
	char text[128];

	while (is_variable_char(name[len]))
		len++;
	*ret_why = "a $ without a name (write $$ for a dollar sign)";
	if (!len || len >= sizeof(text) || (braces && name[len] != '}'))
		return 0;
	memcpy(text, name, len);
	text[len] = '\0';
	const char *value = secure_getenv(text);
	*ret_why = "the environment variable is not set";
	if (!value)
		return 0;
	buf_puts(out, value);
	return len + 2ul * braces;
}

int yaml_walk_value(struct yaml_walk *w, bool expand, const char *key, yaml_node_t *n,
		    char **ret)
{
	const char *s = "", *why = NULL;
	struct buf out = {.max = VALUE_MAX};
	char *text = NULL;
	int rc = yaml_walk_scalar(w, key, n, &s);

	for (; rc == 0 && *s; s++) {
		if (*s != '$' || !expand) {
			buf_putc(&out, *s);
		} else if (s[1] == '$') {
			buf_putc(&out, *s++);
		} else {
			size_t len = expand_one(s + 1, &out, &why);
			if (!len)
				rc = yaml_walk_fail(w, n, key, why);
			s += len;
		}
	}
	if (rc == 0 && buf_error(&out))
		rc = yaml_walk_fail(w, n, key, "too long");
	if (rc == 0) {
		text = out.data ? steal_ptr(&out.data) : strdup("");
		rc = text ? 0 : err_set(w->err, -ENOMEM, "%s: out of memory", w->file);
	}
	if (out.data)
		explicit_bzero(out.data, out.cap);
	buf_done(&out);
	if (rc == 0) {
		free(*ret);
		*ret = text;
	}
	return rc;
}

int yaml_walk_bool(struct yaml_walk *w, const char *key, yaml_node_t *n, bool *ret)
{
	const char *s = "";
	int rc = yaml_walk_scalar(w, key, n, &s);

	if (rc == 0 && parse_bool(s, ret) < 0)
		return yaml_walk_fail(w, n, key, "must be true or false");
	return rc;
}

static bool is_empty_scalar(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0;
}

/* The key that was probably meant, or NULL. */
static const char *nearest_key(const char *name, const struct yaml_key *keys, size_t n)
{
	size_t len = strlen(name), best = spelling_most(len) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = spelling_distance(name, len, keys[i].name,
					     strlen(keys[i].name));
		if (d < best) {
			best = d;
			found = keys[i].name;
		}
	}
	return found;
}

/* Lists the mapping's keys, as far as there is room. */
static int refuse_unknown_key(struct yaml_walk *w, const yaml_node_t *at,
			      const char *name, const struct yaml_key *keys, size_t n)
{
	auto_buf struct buf text = BUF_INIT;

	buf_printf(&text, "%.60s (known here:", name);
	for (size_t i = 0; i < n && text.len < 160; i++)
		buf_printf(&text, "%s%s", i ? ", " : " ", keys[i].name);
	buf_puts(&text, text.len < 160 ? ")" : " ...)");
	const char *meant = nearest_key(name, keys, n);
	if (meant)
		buf_printf(&text, ", did you mean %s?", meant);
	return yaml_walk_fail(w, at, "unknown key",
			      buf_error(&text) ? name : text.data);
}

int yaml_walk_map(struct yaml_walk *w, void *arg, const char *where, yaml_node_t *map,
		  const struct yaml_key *keys, size_t n)
{
	if (is_empty_scalar(map))
		return 0; /* "tls_server_config:" without contents */
	if (map->type != YAML_MAPPING_NODE)
		return yaml_walk_fail(w, map, where, "must be a mapping");
	uint64_t seen = 0;
	for (yaml_node_pair_t *i = map->data.mapping.pairs.start;
	     i < map->data.mapping.pairs.top; i++) {
		yaml_node_t *k = yaml_document_get_node(w->doc, i->key);
		yaml_node_t *v = yaml_document_get_node(w->doc, i->value);
		const char *name = "";
		int rc = yaml_walk_scalar(w, where, k, &name);
		if (rc < 0)
			return rc;
		size_t f = 0;
		while (f < n && strcmp(keys[f].name, name) != 0)
			f++;
		if (f == n)
			return refuse_unknown_key(w, k, name, keys, n);
		if (seen & 1ull << f)
			return yaml_walk_fail(w, k, "key given twice", name);
		seen |= 1ull << f;
		rc = keys[f].f(arg, name, v);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int yaml_walk_list(struct yaml_walk *w, void *arg, const char *key, yaml_node_t *list,
		   size_t max, yaml_key_f f)
{
	if (is_empty_scalar(list))
		return 0;
	if (list->type != YAML_SEQUENCE_NODE)
		return yaml_walk_fail(w, list, key, "must be a list");
	size_t n = 0;
	for (yaml_node_item_t *i = list->data.sequence.items.start;
	     i < list->data.sequence.items.top; i++) {
		yaml_node_t *item = yaml_document_get_node(w->doc, *i);
		if (n++ == max)
			return yaml_walk_fail(w, item, key, "too many entries");
		int rc = f(arg, key, item);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int yaml_walk_pairs(struct yaml_walk *w, void *arg, const char *where, yaml_node_t *map,
		    yaml_pair_f f)
{
	if (map->type != YAML_MAPPING_NODE)
		return yaml_walk_fail(w, map, where, "must be a mapping");
	for (yaml_node_pair_t *i = map->data.mapping.pairs.start;
	     i < map->data.mapping.pairs.top; i++) {
		yaml_node_t *k = yaml_document_get_node(w->doc, i->key);
		const char *name = "";
		int rc = yaml_walk_scalar(w, where, k, &name);

		if (rc == 0)
			rc = f(arg, name, k, yaml_document_get_node(w->doc, i->value));
		if (rc < 0)
			return rc;
	}
	return 0;
}

bool yaml_has_tab(const char *text, size_t len, size_t line)
{
	for (size_t i = 0, at = 0; i < len && at <= line; at++) {
		while (i < len && text[i] == ' ')
			i++;
		if (i < len && text[i] == '\t' && at + 1 >= line)
			return true;
		const char *end = memchr(text + i, '\n', len - i);
		i = end ? (size_t)(end - text) + 1 : len;
	}
	return false;
}

static int not_yaml(struct yaml_walk *w, const yaml_parser_t *yaml, const char *text,
		    size_t len)
{
	size_t line = yaml->problem_mark.line;

	return err_set(w->err, -EINVAL, "%s:%zu: %s%s", w->file, line + 1,
		       yaml->problem ? yaml->problem : "not YAML",
		       yaml_has_tab(text, len, line) ? YAML_TAB_HINT : "");
}

/* Anything after the document would be ignored. */
static int check_end(struct yaml_walk *w, yaml_parser_t *yaml, const char *text,
		     size_t len)
{
	yaml_document_t doc;
	int rc = 0;

	if (!yaml_parser_load(yaml, &doc))
		return not_yaml(w, yaml, text, len);
	if (yaml_document_get_root_node(&doc))
		rc = err_set(
			w->err, -EINVAL,
			"%s:%zu: a second document (---): a file may have only one",
			w->file, doc.start_mark.line + 1);
	yaml_document_delete(&doc);
	return rc;
}

int yaml_walk_text(struct yaml_walk *w, const char *text, size_t len, size_t max,
		   int (*root)(void *arg, yaml_node_t *node), void *arg)
{
	yaml_parser_t yaml;
	yaml_document_t doc;
	int rc;

	if (len > max)
		return err_set(w->err, -EFBIG, "%s: longer than %zu bytes", w->file,
			       max);
	if (!yaml_parser_initialize(&yaml))
		return err_set(w->err, -ENOMEM, "%s: out of memory", w->file);
	yaml_parser_set_input_string(&yaml, (const unsigned char *)text, len);
	if (!yaml_parser_load(&yaml, &doc)) {
		rc = not_yaml(w, &yaml, text, len);
	} else {
		w->doc = &doc;
		rc = w->more ? yaml_merge_dropins(w, &doc) : 0;
		if (rc == 0)
			rc = root(arg, yaml_document_get_root_node(&doc));
		w->doc = NULL;
		bool more = yaml_document_get_root_node(&doc) != NULL;
		yaml_document_delete(&doc);
		if (rc == 0 && more)
			rc = check_end(w, &yaml, text, len);
	}
	yaml_parser_delete(&yaml);
	return rc;
}
