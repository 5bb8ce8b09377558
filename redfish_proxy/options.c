/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The peer's flags with its spellings and variables, and what every program here has.
 */
#include "redfish_proxy/options.h"

#include <syslog.h>

#define ROW CONF_ROW

static const char *const log_levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const log_formats[] = {"logfmt", "json", NULL};

const struct conf_opt options_table[] = {
	ROW("config.file", CONF_STRING, config_file, "",
	    "YAML file that says which node has which BMC, and how it is asked.",
	    .flags = CONF_ELSEWHERE, .env = "REDFISH_PROXY_CONFIG_FILE"),
	ROW("config.file.expand-env-vars", CONF_BOOL, expand, "false",
	    "Replace $NAME and ${NAME} in values of config.file by the environment's; "
	    "$$ is a $."),
	ROW("check-config", CONF_BOOL, check_config, "false",
	    "Read command line, config.file and web.config.file, say what is wrong "
	    "with "
	    "them, and exit."),
	ROW("log.level", CONF_ENUM, log_level, "info",
	    "Least severe messages to log: debug, info, warn or error.",
	    .choices = log_levels),
	ROW("log.format", CONF_ENUM, log_format, "logfmt",
	    "Log lines as logfmt or json.", .choices = log_formats),
	ROW("security.run-as-user", CONF_STRING, run_as_user, "",
	    "User (name or number) to become when started as root. Empty: ceems where "
	    "it exists, else nobody."),
	ROW("security.drop-privileges", CONF_BOOL, drop_privileges, "true",
	    "Give up root and every capability once started.", .flags = CONF_HIDDEN),
	ROW("runtime.gomaxprocs", CONF_STRING, gomaxprocs, "",
	    "Accepted, no effect: there is no Go runtime here."),
	ROW("web.listen-address", CONF_LIST, listen_addresses, ":5000",
	    "Address to serve on, as host:port or :port. May be given several times."),
	ROW("web.config.file", CONF_STRING, web_config_file, "",
	    "TLS, client certificates and basic authentication, in the format of "
	    "Prometheus' exporter toolkit.",
	    .env = "REDFISH_PROXY_WEB_CONFIG_FILE"),
	ROW("web.systemd-socket", CONF_BOOL, systemd_socket, "false",
	    "Serve on the sockets that systemd passes, not on web.listen-address."),
	ROW("web.max-requests", CONF_U64, max_requests, "512",
	    "Most requests for BMCs served at a time, 0 for no limit.", .max = 65536),
	ROW("web.debug-server", CONF_BOOL, debug_server, "false",
	    "Accepted, no effect: there is no pprof here."),
};
const size_t options_count = sizeof(options_table) / sizeof(options_table[0]);

int options_log_level(const struct options *o)
{
	static const int levels[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};
	return levels[o->log_level & 3];
}
