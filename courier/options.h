/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_OPTIONS_H
#define CEEMS_COURIER_OPTIONS_H

#include "lib/conf/conf.h"
#include "lib/debuginfod_options.h"
#include "lib/emission_options.h"
#include "lib/service_options.h"
#include "lib/ship_options.h"

/* The options of ceems-courier. Those shared with ceemsd have the same names there, and
 * ceemsd passes them on (daemon/courier_args.c); secrets come from files or the
 * environment only. */
struct options {
	LOG_OPTION_MEMBERS;
	SANDBOX_OPTION_MEMBERS;
	char *config_file;
	uint64_t link_fd; /* 0: none */
	bool check_config, once, print, flush;
	uint64_t flush_timeout_ms;

	bool collector_redfish;
	char *redfish_config_file;
	bool redfish_expand_env;
	uint64_t redfish_interval_ms;
	char *redfish_bmc_address; /* from IPMI; "": unknown */

	bool collector_emissions;
	struct conf_list emissions_providers; /* empty: all */
	struct conf_list emissions_zones;
	EMISSION_OPTION_MEMBERS;

	struct conf_list ship_spools;
	uint64_t ship_interval_ms;
	char *reports_spool; /* ceemsd's, for flush */
	SHIP_OPTION_MEMBERS;
	PROFILE_SHIP_OPTION_MEMBERS;
	DEBUGINFOD_OPTION_MEMBERS;
};

/* conf_load() for them; with --flush the file may be ceemsd's, whose other keys are
 * ignored. */
int courier_load(int argc, char *const argv[], void *dst, struct buf *out,
		 struct buf *warnings, struct err *err);

extern const struct conf_opt courier_options[];
extern const size_t courier_options_count;

#endif
