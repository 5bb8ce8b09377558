/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_ADMISSION_OPTIONS_H
#define CEEMS_CONTRIB_K8S_ADMISSION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/service_options.h"

struct options {
	char *config_file;
	bool check_config;
	LOG_OPTION_MEMBERS;
	USER_OPTION_MEMBERS;
	SANDBOX_OPTION_MEMBERS;
	WEB_OPTION_MEMBERS;
	uint64_t max_requests;
	bool debug_server;
	char *gomaxprocs;
	struct conf_list namers, controllers, claims_from;
	char *cluster, *spool;
	uint64_t spool_bytes;
};

extern const struct conf_opt admission_options[];
extern const size_t admission_options_count;

#endif
