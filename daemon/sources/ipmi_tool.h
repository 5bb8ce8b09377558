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

/* A command that asks the BMC for us, where its device cannot be opened. */

#define IPMI_TOOL_WORDS 32u
/* A tool reads the BMC's whole inventory first, some of them. */
#define IPMI_TOOL_DEADLINE_MS 15000u

struct ipmi_tool {
	char text[1024];                       /* of the words, cut by NULs */
	const char *argv[IPMI_TOOL_WORDS + 1]; /* into text; the first is a path */
	bool is_capmc;
	uint64_t nid; /* of this node, capmc only */
};

/* A command line as an operator writes it: words with blanks between, the first an
 * absolute path. A tool that is known by its name gets its own arguments where none are
 * given. -EINVAL: not such a line, or capmc asked for the whole system's power. */
int ipmi_tool_set(const char *line, const struct env *env, struct ipmi_tool *ret,
		  struct err *err);

/* The known tools that are in the folders, in the order in which they are to be tried;
 * folders NULL: the usual ones. Returns how many, at most IPMI_TOOLS. */
#define IPMI_TOOLS 4u
size_t ipmi_tool_find(const char *const folders[], const struct env *env,
		      struct ipmi_tool ret[IPMI_TOOLS]);

/* Runs it. For capmc *ret_energy is set, else *ret_power. Errors: of exec_run(), -EIO
 * for a failure that the tool reports itself, and those of ipmi_cmd.h and capmc.h.
 * Blocks for at most the deadline. */
int ipmi_tool_run(const struct ipmi_tool *t, uint32_t deadline_ms,
		  struct ipmi_power *ret_power, struct capmc_energy *ret_energy,
		  struct err *err);

#endif
