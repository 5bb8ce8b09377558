/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CONF_YAML_WALK_H
#define CEEMS_LIB_CONF_YAML_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "lib/err.h"

/* A nested YAML file as a document that is walked key by key. A key is either handled
 * or an error with file and line: an option that is silently ignored is worse than a
 * program that does not start. For flat options there is lib/conf/conf.h. Not thread
 * safe. */

#define YAML_WALK_KEYS_MAX 64 /* in one mapping's table */

struct dropins;

struct yaml_walk {
	yaml_document_t *doc;
	const char *file; /* its name in messages; borrowed */
	struct err *err;
	const struct dropins *more; /* merged into it; NULL: there are none */
};

/* Handles a key's value. arg: as passed to the walk. */
typedef int (*yaml_key_f)(void *arg, const char *key, yaml_node_t *value);

struct yaml_key {
	const char *name;
	yaml_key_f f;
};

/* Parses text and calls root with the document's root node, NULL when there is none.
 * -EFBIG: longer than max; -EINVAL with file and line: not YAML. Accepts any bytes. */
int yaml_walk_text(struct yaml_walk *w, const char *text, size_t len, size_t max,
		   int (*root)(void *arg, yaml_node_t *node), void *arg);

/* Calls the function of each key of a mapping; unknown and repeated keys are errors,
 * an empty value is an empty mapping. where names the mapping. */
int yaml_walk_map(struct yaml_walk *w, void *arg, const char *where, yaml_node_t *map,
		  const struct yaml_key *keys, size_t n);

/* Calls f for each key of a mapping whose keys the site chooses. */
typedef int (*yaml_pair_f)(void *arg, const char *name, yaml_node_t *key,
			   yaml_node_t *value);
int yaml_walk_pairs(struct yaml_walk *w, void *arg, const char *where, yaml_node_t *map,
		    yaml_pair_f f);

/* Calls f for each item of a sequence of at most max items. */
int yaml_walk_list(struct yaml_walk *w, void *arg, const char *key, yaml_node_t *list,
		   size_t max, yaml_key_f f);

/* A scalar without NULs. Borrowed from the document. */
int yaml_walk_scalar(struct yaml_walk *w, const char *key, yaml_node_t *n,
		     const char **ret);
/* A scalar of at most 4 KiB as an allocated string; with expand, $NAME and ${NAME} in
 * it are replaced from the environment and $$ by $. Frees the previous *ret, which may
 * be NULL. */
int yaml_walk_value(struct yaml_walk *w, bool expand, const char *key, yaml_node_t *n,
		    char **ret);
int yaml_walk_bool(struct yaml_walk *w, const char *key, yaml_node_t *n, bool *ret);

/* "FILE:LINE: what: detail" into the error; returns -EINVAL. detail may be NULL. */
int yaml_walk_fail(struct yaml_walk *w, const yaml_node_t *at, const char *what,
		   const char *detail);

size_t yaml_walk_line(const yaml_node_t *n);
/* The file that a node is from: w->file or a drop-in. */
const char *yaml_walk_file(const struct yaml_walk *w, const yaml_node_t *n);

/* Whether line `line` (from 0), at which the parser gave up, or the one before begins
 * with a tab; and the hint to append to the parser's message. */
bool yaml_has_tab(const char *text, size_t len, size_t line);
#define YAML_TAB_HINT " (indent YAML with spaces, not with tabs)"

#endif
