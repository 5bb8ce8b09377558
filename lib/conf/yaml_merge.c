/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merges the drop-ins of a nested YAML file into its document. Each node keeps the line
 * of its own file; which file that is stands in its mark's index (yaml_merge.h). */
#include "lib/conf/yaml_merge.h"

#include <errno.h>
#include <string.h>

#define DEPTH_MAX 16
#define NODES_MAX 20000 /* aliases can make a small file a huge tree */
#define PAIRS_MAX 1024  /* in one mapping of a drop-in */

struct yaml_merge {
	struct yaml_walk *w;
	struct yaml_walk one; /* of the drop-in; its document is open in merge_root() */
	yaml_document_t *to;
	size_t part; /* number of the drop-in, from 1 */
	size_t copied;
};

static int copy_dropin_node(struct yaml_merge *m, int id, unsigned depth);

static yaml_node_t *from_node(struct yaml_merge *m, int id)
{
	return yaml_document_get_node(m->one.doc, id);
}

static int refuse_dropin(struct yaml_merge *m, const yaml_node_t *at, const char *what)
{
	return err_set(m->w->err, -EINVAL, "%s:%zu: %s",
		       m->w->more->items[m->part - 1].file, yaml_walk_line(at), what);
}

static int refuse_memory(struct yaml_merge *m)
{
	return err_set(m->w->err, -ENOMEM, "%s: out of memory", m->w->file);
}

static bool same_scalar(const yaml_node_t *a, const yaml_node_t *b)
{
	return a->type == YAML_SCALAR_NODE && b->type == YAML_SCALAR_NODE &&
	       a->data.scalar.length == b->data.scalar.length &&
	       memcmp(a->data.scalar.value, b->data.scalar.value,
		      a->data.scalar.length) == 0;
}

/* The pair of a mapping of doc with this key, or NULL. */
static yaml_node_pair_t *find_pair(yaml_document_t *doc, const yaml_node_t *map,
				   const yaml_node_t *key)
{
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top; p++)
		if (same_scalar(yaml_document_get_node(doc, p->key), key))
			return p;
	return NULL;
}

/* What the parser does not see: two equal keys of one drop-in, of which merging would
 * silently take the second. */
static int check_keys(struct yaml_merge *m, const yaml_node_t *map)
{
	const yaml_node_pair_t *top = map->data.mapping.pairs.top;

	if (top - map->data.mapping.pairs.start > PAIRS_MAX)
		return refuse_dropin(m, map, "more than 1024 keys");
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < top; p++) {
		const yaml_node_t *key = from_node(m, p->key);
		if (find_pair(m->one.doc, map, key) != p)
			return refuse_dropin(m, key,
					     key->type == YAML_SCALAR_NODE
						     ? "key given twice"
						     : "a key must be a word");
	}
	return 0;
}

/* Adds an empty copy of a node, with its line. Its number in m->to, 0: no memory. */
static int add_node(struct yaml_merge *m, const yaml_node_t *n)
{
	int id;

	if (n->type == YAML_SCALAR_NODE)
		id = yaml_document_add_scalar(m->to, n->tag, n->data.scalar.value,
					      (int)n->data.scalar.length,
					      n->data.scalar.style);
	else if (n->type == YAML_SEQUENCE_NODE)
		id = yaml_document_add_sequence(m->to, n->tag,
						YAML_BLOCK_SEQUENCE_STYLE);
	else
		id = yaml_document_add_mapping(m->to, n->tag, YAML_BLOCK_MAPPING_STYLE);
	if (id) {
		yaml_node_t *copy = yaml_document_get_node(m->to, id);
		copy->start_mark = n->start_mark;
		copy->start_mark.index = m->part;
	}
	return id;
}

static int copy_pairs(struct yaml_merge *m, const yaml_node_t *n, int id,
		      unsigned depth)
{
	int rc = check_keys(m, n);

	for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
	     rc == 0 && p < n->data.mapping.pairs.top; p++) {
		int key = copy_dropin_node(m, p->key, depth);
		int value = key < 0 ? key : copy_dropin_node(m, p->value, depth);
		if (value < 0)
			return value;
		if (!yaml_document_append_mapping_pair(m->to, id, key, value))
			return refuse_memory(m);
	}
	return rc;
}

/* The number of the copy in m->to, or negative errno. */
static int copy_dropin_node(struct yaml_merge *m, int from, unsigned depth)
{
	const yaml_node_t *n = from_node(m, from);

	if (depth >= DEPTH_MAX || ++m->copied > NODES_MAX)
		return refuse_dropin(m, n, "nested too deeply, or too large");
	int id = add_node(m, n), rc = 0;
	if (!id)
		return refuse_memory(m);
	if (n->type == YAML_MAPPING_NODE)
		rc = copy_pairs(m, n, id, depth + 1);
	else if (n->type == YAML_SEQUENCE_NODE)
		for (yaml_node_item_t *i = n->data.sequence.items.start;
		     rc == 0 && i < n->data.sequence.items.top; i++) {
			int item = copy_dropin_node(m, *i, depth + 1);
			if (item < 0)
				return item;
			if (!yaml_document_append_sequence_item(m->to, id, item))
				return refuse_memory(m);
		}
	return rc < 0 ? rc : id;
}

/* "key:", with nothing behind or below it. */
static bool is_empty_node(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0;
}

/* Both are mappings; adding nodes moves m->to's, so they are named by number. */
static int merge_maps(struct yaml_merge *m, int to, int from, unsigned depth)
{
	const yaml_node_t *map = from_node(m, from);
	int rc = check_keys(m, map);

	for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     rc == 0 && p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *v = from_node(m, p->value);
		yaml_node_pair_t *old = find_pair(
			m->to, yaml_document_get_node(m->to, to), from_node(m, p->key));
		const yaml_node_t *was =
			old ? yaml_document_get_node(m->to, old->value) : NULL;

		/* whose lines are all commented out must not take others' away: users
		 * and their passwords */
		if (was && was->type == YAML_MAPPING_NODE && is_empty_node(v))
			continue;
		if (was && was->type == YAML_MAPPING_NODE &&
		    v->type == YAML_MAPPING_NODE && depth < DEPTH_MAX) {
			rc = merge_maps(m, old->value, p->value, depth + 1);
			continue;
		}
		int key = copy_dropin_node(m, p->key, depth);
		int value = key < 0 ? key : copy_dropin_node(m, p->value, depth);
		if (value < 0)
			return value;
		if (old) { /* pairs do not move with the nodes */
			old->key = key;
			old->value = value;
		} else if (!yaml_document_append_mapping_pair(m->to, to, key, value)) {
			return refuse_memory(m);
		}
	}
	return rc;
}

static int merge_document(struct yaml_merge *m)
{
	yaml_node_t *root = yaml_document_get_root_node(m->one.doc);
	const yaml_node_t *old = yaml_document_get_root_node(m->to);

	if (!root)
		return 0;
	if (is_empty_node(root))
		return 0;
	if (root->type != YAML_MAPPING_NODE)
		return refuse_dropin(m, root, "must contain \"key: value\" lines");
	if (!old) { /* the first node of a document is its root */
		int id = copy_dropin_node(m, 1, 0);
		return id < 0 ? id : 0;
	}
	if (old->type != YAML_MAPPING_NODE)
		return err_set(m->w->err, -EINVAL,
			       "%s: must contain \"key: value\" lines", m->w->file);
	return merge_maps(m, 1, 1, 0);
}

/* One drop-in, a file of its own in messages about its syntax. */
static int merge_root(void *arg, yaml_node_t *root)
{
	struct yaml_merge *m = arg;

	return root ? merge_document(m) : 0;
}

int yaml_merge_dropins(struct yaml_walk *w, yaml_document_t *doc)
{
	for (yaml_node_t *n = doc->nodes.start; n < doc->nodes.top; n++)
		n->start_mark.index = 0;
	for (size_t i = 0; i < w->more->count; i++) {
		const struct dropin *d = &w->more->items[i];
		struct yaml_merge m = {.w = w,
				       .one = {.file = d->file, .err = w->err},
				       .to = doc,
				       .part = i + 1};
		int rc = yaml_walk_text(&m.one, d->text.data ? d->text.data : "",
					d->text.len, DROPIN_BYTES_MAX, merge_root, &m);
		if (rc < 0)
			return rc;
	}
	return 0;
}
