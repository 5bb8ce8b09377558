/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CONF_YAML_CLUSTERS_H
#define CEEMS_LIB_CONF_YAML_CLUSTERS_H

#include <stddef.h>
#include <sys/stat.h>

#include "lib/conf/yaml_rows.h"

/* The list `clusters:` that programs share, each of which reads those of its managers:
 * keys of the others' are not its own. */

/* Sections of other programs in the file; for a table of its rows. */
#define YAML_OTHER_SECTIONS                                                            \
	YAML_SKIPPED("ceems_api_server", ), YAML_SKIPPED("ceems_lb", ),                \
		YAML_SKIPPED("updaters", )

/* Reads an item whose `manager` is row->words by row->rows; 1: it is another's. */
int yaml_read_cluster(struct yaml_reader *r, const struct yaml_row *row,
		      const char *key, yaml_node_t *v, void *at);

/* items: structs of size bytes that begin with their `const char *id`. -EINVAL: two are
 * called the same. */
int yaml_clusters_unique(const void *items, size_t count, size_t size, const char *file,
			 struct err *err);

/* -EPERM: others than its owner may write the file, who would decide whose units are
 * whose. */
int yaml_clusters_mode(const char *file, const struct stat *st, struct err *err);

#endif
