/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/conf/yaml_clusters.h"

#include <errno.h>
#include <string.h>

static bool is_scalar_text(const yaml_node_t *n, const char *text)
{
	return n && n->type == YAML_SCALAR_NODE &&
	       strcmp((const char *)n->data.scalar.value, text) == 0;
}

int yaml_read_cluster(struct yaml_reader *r, const struct yaml_row *row,
		      const char *key, yaml_node_t *v, void *at)
{
	bool ours = false;

	if (v->type != YAML_MAPPING_NODE)
		return yaml_walk_fail(&r->w, v, key, "not a mapping");
	for (yaml_node_pair_t *p = v->data.mapping.pairs.start;
	     p < v->data.mapping.pairs.top; p++)
		ours |= is_scalar_text(yaml_document_get_node(r->w.doc, p->key),
				       "manager") &&
			is_scalar_text(yaml_document_get_node(r->w.doc, p->value),
				       row->words);
	return ours ? yaml_read_map(r, row, key, v, at) : 1;
}

static const char *id_of_item(const void *items, size_t size, size_t i)
{
	const char *id;

	memcpy(&id, (const char *)items + i * size, sizeof(id));
	return id;
}

int yaml_clusters_unique(const void *items, size_t count, size_t size, const char *file,
			 struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *id = id_of_item(items, size, i);
		for (size_t k = 0; k < i; k++) {
			if (strcmp(id, id_of_item(items, size, k)) == 0)
				return err_set(err, -EINVAL,
					       "%s: two clusters are called %s", file,
					       id);
		}
	}
	return 0;
}

int yaml_clusters_mode(const char *file, const struct stat *st, struct err *err)
{
	return st->st_mode & 0022
		       ? err_set(err, -EPERM,
				 "%s: can be written by others than its owner (mode "
				 "%04o), refused (chmod go-w)",
				 file, st->st_mode & 07777)
		       : 0;
}
