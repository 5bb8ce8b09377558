/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of each kind of row, and the walk over tables of rows. */
#include "lib/conf/yaml_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/parse.h"

/* ---- the reader ------------------------------------------------------------------ */

int yaml_reader_no_memory(struct yaml_reader *r)
{
	return err_set(r->w.err, -ENOMEM, "%s: out of memory", r->w.file);
}

void *yaml_reader_alloc(struct yaml_reader *r, size_t n, size_t size)
{
	void *p = arena_alloc(r->arena, n, size);

	if (!p)
		(void)yaml_reader_no_memory(r);
	return p;
}

void yaml_reader_note(struct yaml_reader *r, const char *key, const char *text)
{
	if (r->notes)
		buf_printf(r->notes, "%s: %s\n", key, text);
}

int yaml_reader_text(struct yaml_reader *r, const char *key, yaml_node_t *v,
		     const char **ret)
{
	char *text = NULL;
	int rc = yaml_walk_value(&r->w, r->expand, key, v, &text);

	if (rc < 0)
		return rc;
	const char *kept = arena_text(r->arena, text);
	explicit_bzero(text, strlen(text));
	free(text);
	if (!kept)
		return yaml_reader_no_memory(r);
	*ret = kept;
	return 0;
}

/* ---- kinds of values ------------------------------------------------------------- */

int yaml_read_text(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at)
{
	const char *s = "";
	int rc = yaml_reader_text(r, key, v, &s);

	(void)row;
	if (rc == 0 && r->empty_is_absent && !*s)
		return 1;
	if (rc == 0)
		*(const char **)at = s;
	return rc;
}

int yaml_read_name(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at)
{
	const char *s = "";
	int rc = yaml_read_text(r, row, key, v, &s);

	if (rc == 0 && !*s)
		return yaml_walk_fail(&r->w, v, key, "empty");
	if (rc == 0)
		*(const char **)at = s;
	return rc;
}

int yaml_read_secret(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, void *at)
{
	int rc = yaml_read_text(r, row, key, v, at);

	r->has_secret |= rc == 0;
	return rc;
}

int yaml_read_path(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at)
{
	const char *slash = strrchr(r->w.file, '/'), *path = "";
	int rc = yaml_read_text(r, row, key, v, &path);

	if (rc != 0)
		return rc;
	if (!*path)
		return yaml_walk_fail(&r->w, v, key, "must name a file");
	if (*path != '/' && slash) {
		int n = (int)(slash - r->w.file);
		size_t size = (size_t)n + strlen(path) + 2;
		char *full = yaml_reader_alloc(r, size, 1);

		if (!full)
			return -ENOMEM;
		snprintf(full, size, "%.*s/%s", n, r->w.file, path);
		path = full;
	}
	if (r->files)
		buf_printf(r->files, "%s\n", path);
	*(const char **)at = path;
	return 0;
}

int yaml_read_bool(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at)
{
	(void)row;
	return yaml_walk_bool(&r->w, key, v, at);
}

int yaml_read_unused_bool(struct yaml_reader *r, const struct yaml_row *row,
			  const char *key, yaml_node_t *v, void *at)
{
	bool on = false;
	int rc = yaml_walk_bool(&r->w, key, v, &on);

	(void)row;
	(void)at;
	return rc < 0 ? rc : !on;
}

static void store_number(const struct yaml_row *row, void *at, uint64_t n)
{
	if (row->size == sizeof(uint16_t))
		*(uint16_t *)at = (uint16_t)n;
	else if (row->size == sizeof(uint32_t))
		*(uint32_t *)at = (uint32_t)n;
	else
		*(uint64_t *)at = n;
}

struct number_kind {
	int (*parse)(const char *s, uint64_t *ret);
	const char *wrong, *unit;
	uint64_t divisor;
};

static int read_in_range(struct yaml_reader *r, const struct yaml_row *row,
			 const char *key, yaml_node_t *v, void *at,
			 const struct number_kind *kind)
{
	const char *s = "";
	uint64_t n = 0;
	int rc = yaml_reader_text(r, key, v, &s);

	if (rc < 0)
		return rc;
	if (kind->parse(s, &n) < 0)
		return yaml_walk_fail(&r->w, v, key, kind->wrong);
	if (n < row->min || n > row->max)
		return err_set(r->w.err, -EINVAL,
			       "%s:%zu: %s: must be from %llu to %llu%s",
			       yaml_walk_file(&r->w, v), yaml_walk_line(v), key,
			       (unsigned long long)row->min,
			       (unsigned long long)row->max, kind->unit);
	store_number(row, at, n / kind->divisor);
	return 0;
}

int yaml_read_number(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, void *at)
{
	static const struct number_kind kind = {parse_u64, "not a number", "", 1};

	return read_in_range(r, row, key, v, at, &kind);
}

#define NO_DURATION "not a duration, such as 10s or 30d"

int yaml_read_ms(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		 yaml_node_t *v, void *at)
{
	static const struct number_kind kind = {parse_duration_ms, NO_DURATION, " ms",
						1};

	return read_in_range(r, row, key, v, at, &kind);
}

static int parse_old_ms(const char *s, uint64_t *ret)
{
	return parse_u64(s, ret) == 0 ? 0 : parse_duration_ms(s, ret);
}

int yaml_read_old_ms(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, void *at)
{
	static const struct number_kind kind = {
		parse_old_ms, "not a duration, such as 10s, nor a number of ms", " ms",
		1};

	return read_in_range(r, row, key, v, at, &kind);
}

int yaml_read_seconds(struct yaml_reader *r, const struct yaml_row *row,
		      const char *key, yaml_node_t *v, void *at)
{
	static const struct number_kind kind = {parse_duration_ms, NO_DURATION, " ms",
						1000};

	return read_in_range(r, row, key, v, at, &kind);
}

int yaml_read_bytes(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		    yaml_node_t *v, void *at)
{
	static const struct number_kind kind = {parse_bytes, "not a size (64KiB)", "",
						1};

	return read_in_range(r, row, key, v, at, &kind);
}

/* "must be none, basic or session" */
static int refuse_word(struct yaml_reader *r, const struct yaml_row *row,
		       const char *key, yaml_node_t *v)
{
	char text[256];
	size_t n = 0;

	for (const char *w = row->words; *w && n < sizeof(text);) {
		size_t len = strcspn(w, " ");
		const char *next = w[len] ? w + len + 1 : w + len;
		const char *before = w == row->words ? "must be "
				     : *next         ? ", "
						     : " or ";

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", before,
				      (int)len, w);
		w = next;
	}
	return yaml_walk_fail(&r->w, v, key, text);
}

int yaml_read_word(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at)
{
	const char *s = "", *w = row->words;
	int rc = yaml_read_text(r, row, key, v, &s);

	if (rc != 0)
		return rc;
	for (unsigned i = 0; *w; i++) {
		size_t len = strcspn(w, " ");

		if (strlen(s) == len && strncmp(s, w, len) == 0) {
			*(unsigned *)at = i;
			return 0;
		}
		w += len + (w[len] == ' ');
	}
	return refuse_word(r, row, key, v);
}

int yaml_read_tls_version(struct yaml_reader *r, const struct yaml_row *row,
			  const char *key, yaml_node_t *v, void *at)
{
	const char *s = "";
	uint32_t minor = 0;
	int rc = yaml_read_text(r, row, key, v, &s);

	if (rc != 0)
		return rc;
	if (strncmp(s, "TLS1", 4) != 0 || strlen(s) != 5 ||
	    parse_u32(s + 4, &minor) < 0 || minor > 3)
		return yaml_walk_fail(&r->w, v, "must be TLS10, TLS11, TLS12 or TLS13",
				      key);
	*(unsigned *)at = 10 + minor;
	return 0;
}

int yaml_refuse(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		yaml_node_t *v, void *at)
{
	(void)row;
	(void)at;
	return yaml_walk_fail(&r->w, v, "not supported", key);
}

int yaml_skip(struct yaml_reader *r, const struct yaml_row *row, const char *key,
	      yaml_node_t *v, void *at)
{
	(void)r;
	(void)row;
	(void)key;
	(void)v;
	(void)at;
	return 0;
}

/* ---- mappings and lists ---------------------------------------------------------- */

const struct yaml_row yaml_item_name = {.read = yaml_read_name};

/* One mapping or list that is being read. */
struct yaml_place {
	struct yaml_reader *r;
	const struct yaml_row *row; /* the list's */
	const struct yaml_row *rows;
	unsigned char *to; /* the mapping's struct; the list's next item */
	size_t *count;
};

/* 0; 1: not given. to: the struct of the row's mapping, or the item. */
static int apply_row(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, unsigned char *to)
{
	int rc = row->read(r, row, key, v, to + row->off);

	if (rc == 0 && row->given)
		*(size_t *)(void *)(to + row->given) = yaml_walk_line(v);
	if (rc == 0 && row->note)
		yaml_reader_note(r, key, row->note);
	return rc == 0 && row->check ? row->check(r, key, v, to + row->off) : rc;
}

static int apply_key(void *arg, const char *key, yaml_node_t *v)
{
	struct yaml_place *p = arg;
	const struct yaml_row *row = p->rows;

	while (strcmp(row->key, key) != 0)
		row++;
	int rc = apply_row(p->r, row, key, v, p->to);
	return rc < 0 ? rc : 0;
}

static int read_yaml_rows(struct yaml_reader *r, const struct yaml_row *rows,
			  const char *where, yaml_node_t *map, void *to)
{
	struct yaml_key keys[YAML_WALK_KEYS_MAX];
	struct yaml_place p = {.r = r, .rows = rows, .to = to};
	size_t n = 0;

	for (; rows[n].key && n < YAML_WALK_KEYS_MAX; n++)
		keys[n] = (struct yaml_key){rows[n].key, apply_key};
	return yaml_walk_map(&r->w, &p, where, map, keys, n);
}

int yaml_read_map(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		  yaml_node_t *v, void *at)
{
	return read_yaml_rows(r, row->rows, key, v, at);
}

static int apply_item(void *arg, const char *key, yaml_node_t *v)
{
	struct yaml_place *p = arg;

	if (p->rows->rows)
		yaml_rows_default(p->rows->rows, p->to);
	int rc = apply_row(p->r, p->rows, key, v, p->to);
	if (rc == 0) {
		p->to += p->row->size;
		++*p->count;
	}
	return rc < 0 ? rc : 0;
}

int yaml_read_list(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		   yaml_node_t *v, void *at)
{
	size_t n = v->type == YAML_SEQUENCE_NODE
			   ? (size_t)(v->data.sequence.items.top -
				      v->data.sequence.items.start)
			   : 0;
	unsigned char *items =
		yaml_reader_alloc(r, n < row->max ? n : row->max, row->size);
	struct yaml_place p = {.r = r, .row = row, .rows = row->rows, .to = items};

	if (!items)
		return -ENOMEM;
	memcpy(at, &items, sizeof(items)); /* a pointer to any type */
	p.count = (size_t *)(void *)((unsigned char *)at - row->off + row->count);
	*p.count = 0;
	return yaml_walk_list(&r->w, &p, key, v, row->max, apply_item);
}

/* ---- headers --------------------------------------------------------------------- */

struct header_values { /* of one name */
	const char **values, **secrets, **files;
	size_t value_count, secret_count, file_count;
};

#define HEADER_VALUES_MAX 64

static const struct yaml_row header_text = {.read = yaml_read_text};
static const struct yaml_row header_secret = {.read = yaml_read_secret};
static const struct yaml_row header_file = {.read = yaml_read_path};
static const struct yaml_row header_rows[] = {
	YAML_LIST("values", &header_text, struct header_values, values, value_count,
		  HEADER_VALUES_MAX),
	YAML_LIST("secrets", &header_secret, struct header_values, secrets,
		  secret_count, HEADER_VALUES_MAX),
	YAML_LIST("files", &header_file, struct header_values, files, file_count,
		  HEADER_VALUES_MAX),
	YAML_END,
};

static int read_yaml_header(void *arg, const char *name, yaml_node_t *k, yaml_node_t *v)
{
	struct yaml_place *p = arg;
	struct yaml_header *to = (struct yaml_header *)(void *)p->to;
	struct header_values h = {.value_count = 0};
	const char *kept = NULL;
	int rc = yaml_reader_text(p->r, p->row->key, k, &kept);

	if (rc == 0)
		rc = read_yaml_rows(p->r, header_rows, name, v, &h);
	if (rc < 0)
		return rc;
	size_t plain = h.value_count + h.secret_count, all = plain + h.file_count;
	if (*p->count + all > p->row->max)
		return yaml_walk_fail(&p->r->w, k, "too many headers", name);
	for (size_t i = 0; i < all; i++)
		to[(*p->count)++] = (struct yaml_header){
			.name = kept,
			.value = i < h.value_count ? h.values[i]
				 : i < plain       ? h.secrets[i - h.value_count]
						   : NULL,
			.file = i < plain ? NULL : h.files[i - plain],
			.line = yaml_walk_line(k),
		};
	return 0;
}

int yaml_read_headers(struct yaml_reader *r, const struct yaml_row *row,
		      const char *key, yaml_node_t *v, void *at)
{
	void *items = yaml_reader_alloc(r, row->max, sizeof(struct yaml_header));
	struct yaml_place p = {.r = r, .row = row, .to = items};

	if (!items)
		return -ENOMEM;
	memcpy(at, &items, sizeof(items)); /* a pointer to any type */
	p.count = (size_t *)(void *)((unsigned char *)at - row->off + row->count);
	*p.count = 0;
	return yaml_walk_pairs(&r->w, &p, key, v, read_yaml_header);
}

/* ---- the whole ------------------------------------------------------------------- */

void yaml_rows_default(const struct yaml_row *rows, void *to)
{
	for (; rows->key; rows++) {
		unsigned char *at = (unsigned char *)to + rows->off;

		if (rows->read == yaml_read_map)
			yaml_rows_default(rows->rows, at);
		else if (rows->def)
			store_number(rows, at, rows->def);
	}
}

struct yaml_root {
	struct yaml_reader *r;
	const struct yaml_row *rows;
	const char *where;
	void *to;
};

static int read_root(void *arg, yaml_node_t *node)
{
	const struct yaml_root *root = arg;

	return node ? read_yaml_rows(root->r, root->rows, root->where, node, root->to)
		    : 0;
}

int yaml_rows_read(struct yaml_reader *r, const char *text, size_t len, size_t max,
		   const char *where, const struct yaml_row *rows, void *to)
{
	struct yaml_root root = {r, rows, where, to};

	return yaml_walk_text(&r->w, text, len, max, read_root, &root);
}
