/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_MIGRATE_UNIT_H
#define CEEMS_CLI_TOOL_MIGRATE_UNIT_H

#include "lib/conf/conf.h"

/* A service file of systemd, as far as its command line goes: systemd.service(5),
 * "Command lines"; systemd.exec(5), Environment= and EnvironmentFile=. Specifiers (%i)
 * stay as they are. */

#define UNIT_BYTES_MAX (64u << 10)

struct unit_file {
	struct conf_list argv;        /* of its last ExecStart= */
	struct conf_list environment; /* NAME=VALUE */
	struct conf_list files;       /* EnvironmentFile=, without the '-' */
	char *exec;                   /* as written */
};

/* Reads more of a service file: itself, then its drop-ins in their order. An empty
 * ExecStart=, Environment= or EnvironmentFile= forgets those before it. -E2BIG: too
 * many words; -ENOMEM. */
int unit_read(struct unit_file *u, const char *text, size_t len, struct err *err);
/* Variables of a file that EnvironmentFile= names: NAME=VALUE lines, # comments. */
int unit_read_environment(struct unit_file *u, const char *text, size_t len,
			  struct err *err);
/* Cuts the command line into argv, with its variables in their places ($NAME as a word
 * of its own is several words, ${NAME} is text; one that is not set is nothing).
 * -EINVAL: no ExecStart=, or a quote without an end. */
int unit_expand(struct unit_file *u, struct err *err);
void unit_done(struct unit_file *u); /* accepts a zeroed one */

#endif
