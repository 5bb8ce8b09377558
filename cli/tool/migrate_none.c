/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces migrate_database.c where SQLite is missing. */
#include "cli/tool/tool.h"

int tool_migrate_database(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)tool_usage_error("built without SQLite", "");
	return TOOL_FAILED;
}
