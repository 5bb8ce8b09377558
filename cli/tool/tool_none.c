/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces doctor*.c, tool_web.c and tool_servers.c if one of their libraries is
 * missing. */
#include "cli/tool/tool.h"

static int refuse_not_built(void)
{
	(void)tool_usage_error("built without libcurl, json-c, GnuTLS or libmicrohttpd",
			       "");
	return TOOL_FAILED;
}

int tool_create_web_config(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}

int tool_check_web_config(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}

int tool_check_health(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}

int tool_check_api(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}

int tool_check_lb(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}

int tool_doctor(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}

int tool_migrate_config(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}

int tool_setup_node(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}

int tool_setup_aggregator(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}

int tool_setup_lb(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse_not_built();
}
