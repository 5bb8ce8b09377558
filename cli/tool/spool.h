/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_SPOOL_H
#define CEEMS_CLI_TOOL_SPOOL_H

/* ceems_tool spool [--stats] FOLDER: prints the records that are not acknowledged yet,
 * and changes nothing. 0; 2: it cannot be read; 3: wrong usage. */
int run_spool(int argc, char **argv);

#endif
