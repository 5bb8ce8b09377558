/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_OPTIONS_H
#define CEEMS_REDFISH_PROXY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf.h"

/* The proxy's command line; what it does is in --config.file (config.h). */

struct options {
	char *config_file;
	bool expand, check_config;
	int log_level, log_format;
	char *run_as_user;
	bool drop_privileges;
	struct conf_list listen_addresses;
	char *web_config_file;
	bool systemd_socket, debug_server;
	uint64_t max_requests;
	char *gomaxprocs;
};

extern const struct conf_opt options_table[];
extern const size_t options_count;

/* The level as syslog has it. */
int options_log_level(const struct options *o);

#endif
