/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The peer's flags, in its spellings and with its variables, and the options that all
 * programs here have. */
#include "redfish_proxy/options.h"

#include "lib/service_options.h"

#define ROW CONF_ROW

const struct conf_opt options_table[] = {
	ROW("config.file", CONF_STRING, config_file, "",
	    "YAML file that says which node has which BMC, and how the BMCs are asked.",
	    .flags = CONF_ELSEWHERE, .env = "REDFISH_PROXY_CONFIG_FILE"),
	ROW("config.file.expand-env-vars", CONF_BOOL, expand, "false",
	    "Replace $NAME and ${NAME} in values of config.file by the environment's; "
	    "$$ is a $."),
	ROW("check-config", CONF_BOOL, check_config, "false",
	    "Read command line, config.file and web.config.file, say what is wrong "
	    "with "
	    "them, and exit."),
	LOG_OPTION_ROWS(0),
	USER_OPTION_ROWS,
	SANDBOX_OPTION_ROWS,
	FENCE_OPTION_ROWS,
	ROW("runtime.gomaxprocs", CONF_STRING, gomaxprocs, "",
	    "Accepted, no effect: there is no Go runtime here."),
	WEB_OPTION_ROWS(":5000", NULL, "REDFISH_PROXY_WEB_CONFIG_FILE"),
	ROW("web.max-requests", CONF_U64, max_requests, "512",
	    "Most requests for BMCs served at a time, 0 for no limit.", .max = 65536),
	ROW("web.debug-server", CONF_BOOL, debug_server, "false",
	    "Accepted, no effect: there is no pprof here."),
};
const size_t options_count = sizeof(options_table) / sizeof(options_table[0]);
