/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CONF_DROPINS_H
#define CEEMS_LIB_CONF_DROPINS_H

#include <stddef.h>
#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Drop-ins of a configuration file: of DIR/NAME.yaml all DIR/NAME.d/X.yaml, in the
 * order of their names (LC_ALL=C). What is in a later one wins: mappings are merged key
 * by key (a key with nothing below it leaves one as it is), any other value, lists too,
 * takes the place of the one before. Names that begin with a dot or end otherwise are
 * not read. Not thread safe. */

#define DROPINS_MAX 64
#define DROPIN_BYTES_MAX (64u << 10) /* of each */

struct dropin {
	char *file; /* its whole name */
	struct buf text;
	struct stat st;
};

struct dropins {
	struct dropin *items;
	size_t count;
};

/* The folder's name: "/etc/ceems/lb.d" of "/etc/ceems/lb.yaml" (or .yml), of any other
 * name "NAME.d". -ENAMETOOLONG. */
int dropins_folder(const char *config_file, char *ret, size_t size);

/* Reads them; ret is zeroed by the caller. 0, also where there is no such folder;
 * -E2BIG: more than DROPINS_MAX; else negative errno, err names the file. */
int dropins_read(const char *config_file, struct dropins *ret, struct err *err);

/* secret_check() of each, for a program that has found secrets in its configuration. */
int dropins_check_secret(const struct dropins *d, struct err *err);

/* -EPERM: others than its owner can write one, and so decide what it says. */
int dropins_check_writers(const struct dropins *d, struct err *err);

void dropins_done(struct dropins *d); /* wipes the texts; accepts a zeroed one */
#define auto_dropins __attribute__((cleanup(dropins_done)))

#endif
