/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_OPTIONS_H
#define CEEMS_REDFISH_PROXY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/service_options.h"

/* The proxy's command line; everything else is in --config.file (config.h). */

struct options {
	char *config_file;
	bool expand, check_config;
	LOG_OPTION_MEMBERS;
	USER_OPTION_MEMBERS;
	SANDBOX_OPTION_MEMBERS;
	FENCE_OPTION_MEMBERS;
	WEB_OPTION_MEMBERS;
	bool debug_server;
	uint64_t max_requests;
	char *gomaxprocs;
};

extern const struct conf_opt options_table[];
extern const size_t options_count;

#endif
