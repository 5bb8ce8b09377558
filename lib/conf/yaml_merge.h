/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CONF_YAML_MERGE_H
#define CEEMS_LIB_CONF_YAML_MERGE_H

#include "lib/conf/dropins.h"
#include "lib/conf/yaml_walk.h"

/* Merges w->more into doc, the document of w->file, which may be empty. Nodes have
 * lines of their own file; yaml_walk_file() tells which that is. -EINVAL with file and
 * line: not YAML, no mapping, a key given twice, nested too deeply; -ENOMEM. For
 * yaml_walk.c only. */
int yaml_merge_dropins(struct yaml_walk *w, yaml_document_t *doc);

#endif
