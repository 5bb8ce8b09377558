/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CONF_CONF_IMPL_H
#define CEEMS_LIB_CONF_CONF_IMPL_H

#include "lib/conf/conf.h"

/* Shared by conf.c (values, sources), conf_yaml.c and conf_help.c only. */

#define CONF_NAME_MAX 128
#define CONF_FILE_MAX (1u << 20)

/* The option of exactly this name, aliases included, or NULL. */
const struct conf_opt *conf_find(const struct conf_opt *opts, size_t n,
				 const char *name, size_t len);
/* The target of an alias, or the option itself; NULL: the table is wrong. */
const struct conf_opt *conf_target(const struct conf_opt *opts, size_t n,
				   const struct conf_opt *o);
/* The CONF_LATER row that is name or a prefix of it, or NULL. */
const struct conf_opt *conf_find_later(const struct conf_opt *opts, size_t n,
				       const char *name, size_t len);
/* "WHERE: comes with a later release" */
int conf_refuse_later(const char *where, struct err *err);
/* The most likely option for a misspelt name, or NULL. prefixes: parts of names up to a
 * dot are candidates too. *ret_len: its length in the borrowed text. */
const char *conf_nearest(const struct conf_opt *opts, size_t n, const char *name,
			 bool prefixes, size_t *ret_len);

/* Sets one value from text; for CONF_LIST appends one item. where is the beginning of
 * error messages ("--x", "CEEMS_X", "file:3: x"). */
int conf_set(const struct conf_opt *o, void *dst, const char *text, const char *where,
	     struct err *err);
void conf_clear(const struct conf_opt *o, void *dst);
/* Warns that o is an alias or an old name. warnings may be NULL. */
void conf_warn_old(const struct conf_opt *o, const char *where, struct buf *warnings);
/* "a number", "a duration (such as 15s or 1m30s)", ... */
const char *conf_kind_name(const struct conf_opt *o);
/* "one of a, b" for CONF_ENUM, conf_kind_name() for the others. */
void conf_wants(const struct conf_opt *o, char *ret, size_t size);

int conf_apply_yaml(const struct conf_opt *opts, size_t n, const char *text, size_t len,
		    const char *file, void *dst, struct buf *warnings, struct err *err);

/* CEEMS_ and the name, as an environment variable. */
void conf_env_name(const struct conf_opt *o, char ret[CONF_NAME_MAX + 8]);

#endif
