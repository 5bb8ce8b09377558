/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_TOOL_H
#define CEEMS_CLI_TOOL_TOOL_H

#include <stddef.h>

#include "lib/finding.h"

/* Commands of ceems_tool that take more than a few lines: argv[0] is the last word of
 * the command, the result is the exit status. */

#define TOOL_FAILED 2 /* the command failed */
#define TOOL_USAGE 3

/* "ceems_tool: what: text" and TOOL_USAGE */
int tool_usage_error(const char *what, const char *text);

/* A program of ours beside this one, or in the installation's folder for it. -ENOENT.
 */
int tool_find_program(const char *name, char *ret, size_t size);

/* Runs a program's own check of its file (NULL: its default files). */
void tool_check_program_config(const char *name, const char *file, struct findings *f);

/* Everything between a job and its joule on this host. */
int tool_doctor(int argc, char **argv);

/* Replaces the process by ceems-ringdump. */
int tool_ring(int argc, char **argv);

/* Configuration of CEEMS' programs, for ours. */
int tool_migrate_config(int argc, char **argv);
/* The units of a CEEMS API server's database. */
int tool_migrate_database(int argc, char **argv);

int tool_prometheus_rules(int argc, char **argv);
int tool_prometheus_relabel(int argc, char **argv);
int tool_prometheus_alerts(int argc, char **argv);
int tool_prometheus_scrape_config(int argc, char **argv);

int tool_gpu_release(int argc, char **argv);
int tool_gpu_resume(int argc, char **argv);

/* Configures a kind of host: drop-ins from a few questions. */
int tool_setup_node(int argc, char **argv);
int tool_setup_aggregator(int argc, char **argv);
int tool_setup_lb(int argc, char **argv);

int tool_create_web_config(int argc, char **argv);
int tool_check_web_config(int argc, char **argv);
int tool_check_config(int argc, char **argv);
int tool_check_health(int argc, char **argv);
int tool_check_api(int argc, char **argv);
int tool_check_lb(int argc, char **argv);

#endif
