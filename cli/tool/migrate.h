/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_MIGRATE_H
#define CEEMS_CLI_TOOL_MIGRATE_H

#include "lib/buf.h"
#include "lib/conf/conf.h"
#include "lib/finding.h"

/* Parts of ceems_tool migrate config. */

#define MIGRATE_BYTES_MAX ((size_t)1 << 20) /* of a file of the peer's */

/* Lines of a configuration of ours with dotted keys, "name: value". */
struct migrated {
	struct conf_list lines;
	struct findings *f;
};

/* Adds name: values; several are a list, true and false without quotes. A value with
 * control characters is a finding and left out. -ENOMEM, -E2BIG. */
int migrated_add(struct migrated *m, const char *name, const struct conf_list *values,
		 struct err *err);
int migrated_add_one(struct migrated *m, const char *name, const char *value,
		     struct err *err);

/* Has the program check the lines as its configuration and comments out each that it
 * refuses, as findings. ret: what it accepts. -ENOENT: the program is not here. */
int migrated_settle(struct migrated *m, const char *program, struct buf *ret,
		    struct err *err);

/* The API server's file: what of it has a counterpart is added, the rest are findings.
 * path: for messages, and for clusters.file. -EINVAL with file and line: an unknown
 * key, or no YAML. */
int migrate_api_config(const char *path, const char *text, size_t len,
		       struct migrated *m, struct err *err);

#endif
