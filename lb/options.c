/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The peer's flags, in its spellings and with its variables, and the options that all
 * programs here have. */
#include "lb/options.h"

#include "lib/service_options.h"

#define ROW CONF_ROW

const struct conf_opt options_table[] = {
	ROW("config.file", CONF_STRING, config_file, "",
	    "YAML file with clusters, their servers, and who may read what.",
	    .flags = CONF_ELSEWHERE, .env = "CEEMS_LB_CONFIG_FILE"),
	ROW("config.file.expand-env-vars", CONF_BOOL, expand, "false",
	    "Replace $NAME and ${NAME} in values of config.file by the environment's; "
	    "$$ is a $."),
	ROW("check-config", CONF_BOOL, check_config, "false",
	    "Read command line, config.file and web.config.file, say what is wrong "
	    "with them and what has no effect, and exit."),
	LOG_OPTION_ROWS(0),
	USER_OPTION_ROWS,
	SANDBOX_OPTION_ROWS,
	FENCE_OPTION_ROWS,
	ROW("runtime.gomaxprocs", CONF_STRING, gomaxprocs, "",
	    "Accepted, no effect: there is no Go runtime here."),
	ROW("web.listen-address", CONF_LIST, listen_addresses,
	    "127.0.0.1:9030,127.0.0.1:9040",
	    "Address to serve on, as host:port or :port: the first is Prometheus', the "
	    "second Pyroscope's."),
	ROW("web.config.file", CONF_STRING, web_config_file, "",
	    "TLS, client certificates and basic authentication, in the format of "
	    "Prometheus' exporter toolkit.",
	    .env = "CEEMS_LB_WEB_CONFIG_FILE"),
	ROW("web.systemd-socket", CONF_BOOL, systemd_socket, "false",
	    "Serve on the sockets that systemd passes, in the same order, not on "
	    "web.listen-address."),
	ROW("web.threads", CONF_U64, threads, "0",
	    "Threads that serve; 0: one for each CPU, at most 16.", .max = 256),
	ROW("web.max-requests", CONF_U64, max_requests, "4096",
	    "Most requests served at a time.", .min = 1, .max = 65536),
	ROW("web.drain-timeout", CONF_DURATION, drain_ms, "20s",
	    "How long answers under way may take once the program is told to stop.",
	    .max = 3600000),
};
const size_t options_count = sizeof(options_table) / sizeof(options_table[0]);
