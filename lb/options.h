/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_OPTIONS_H
#define CEEMS_LB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/service_options.h"

/* The load balancer's command line; everything else is in --config.file (site.h). */

struct options {
	char *config_file;
	bool expand, check_config;
	LOG_OPTION_MEMBERS;
	USER_OPTION_MEMBERS;
	SANDBOX_OPTION_MEMBERS;
	FENCE_OPTION_MEMBERS;
	WEB_OPTION_MEMBERS;
	uint64_t threads, max_requests, drain_ms;
	char *gomaxprocs;
};

extern const struct conf_opt options_table[];
extern const size_t options_count;

#endif
