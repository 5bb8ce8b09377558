/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PLUGIN_GATHER_OPTIONS_H
#define CEEMS_LIB_PLUGIN_GATHER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* What the energy plugin may be told. Not in acct_gather.conf: a key of ours there ends
 * slurmctld as soon as the plugin is switched off. Lines "name = value", blank lines
 * and lines that begin with #:
 *
 *	page = /run/ceems/energy	absolute path of the energy page
 *	final = yes			write a step's last value when it is over
 */

#define GATHER_OPTIONS_PATH "/etc/ceems/acct_gather.conf"
/* Names another file; of the environment of slurmd, which a job cannot change. */
#define GATHER_OPTIONS_VARIABLE "CEEMS_ACCT_GATHER_CONF"
#define GATHER_OPTIONS_MAX 4096 /* bytes of the file */
#define GATHER_PATH_MAX 256

struct gather_options {
	char page[GATHER_PATH_MAX];
	bool final;
};

void gather_options_init(struct gather_options *o);
/* Total on any bytes. -EINVAL with "line N: what"; *o is then untouched. */
int gather_options_parse(struct gather_options *o, const char *text, size_t len,
			 struct err *err);
/* The file must be owner's and not be writable by others. A file that is not there is
 * no failure: the defaults. On failure the defaults hold. */
int gather_options_read(struct gather_options *o, const char *path, uid_t owner,
			struct err *err);

#endif
