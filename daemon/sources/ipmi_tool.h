/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_IPMI_TOOL_H
#define CEEMS_DAEMON_SOURCES_IPMI_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/env.h"
#include "daemon/sources/capmc.h"
#include "daemon/sources/ipmi_dcmi.h"
#include "lib/err.h"

/* A command that asks the BMC, for when its device cannot be opened. */

#define IPMI_TOOL_WORDS 32u
/* Some tools read the BMC's whole inventory first. */
#define IPMI_TOOL_DEADLINE_MS 15000u

struct ipmi_tool {
	char text[1024];                       /* the words, separated by NULs */
	const char *argv[IPMI_TOOL_WORDS + 1]; /* into text; the first is a path */
	bool is_capmc;
	uint64_t nid; /* of this node, capmc only */
};

/* A command line in the configuration: words separated by blanks, the first an absolute
 * path. A known tool without arguments gets the right ones. -EINVAL: malformed, or
 * capmc for the whole system's power. */
int ipmi_tool_set(const char *line, const struct env *env, struct ipmi_tool *ret,
		  struct err *err);

/* Finds the known tools in the folders, in the order to try them; folders NULL: the
 * usual ones. Returns how many, at most IPMI_TOOLS. */
#define IPMI_TOOLS 4u
size_t ipmi_tool_find(const char *const folders[], const struct env *env,
		      struct ipmi_tool ret[IPMI_TOOLS]);

/* Runs it. Sets *ret_energy for capmc, else *ret_power. Errors: those of exec_run(),
 * ipmi_cmd.h and capmc.h; -EIO: the tool reported a failure. Blocks for at most the
 * deadline. */
int ipmi_tool_run(const struct ipmi_tool *t, uint32_t deadline_ms,
		  struct ipmi_power *ret_power, struct capmc_energy *ret_energy,
		  struct err *err);

#endif
