/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table of options, see lib/conf.h. */
#include "courier/options.h"

#include <syslog.h>

#define ROW(name_, kind_, member_, def_, ...)                                          \
	{                                                                              \
		.name = name_, .kind = kind_,                                          \
		.off = offsetof(struct options, member_), .def = def_,                 \
		.help = __VA_ARGS__                                                    \
	}

static const char *const log_levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const log_formats[] = {"logfmt", "json", NULL};

const struct conf_opt courier_options[] = {
	ROW("log.level", CONF_ENUM, log_level, "info",
	    "Least severe messages to log: debug, info, warn or error.",
	    .choices = log_levels),
	ROW("log.format", CONF_ENUM, log_format, "logfmt",
	    "Log lines as logfmt or json.", .choices = log_formats),
	ROW("link.fd", CONF_U64, link_fd, "0",
	    "The socket to ceemsd, which starts ceems-courier with it.",
	    .flags = CONF_HIDDEN, .max = 1023),
	ROW("once", CONF_BOOL, once, "false",
	    "Look at every server once, then exit: with status 1 if one failed."),
	ROW("print", CONF_BOOL, print, "false",
	    "Write what is learnt to standard output."),

	ROW("collector.redfish", CONF_BOOL, collector_redfish, "false",
	    "Power of the node from its BMC, by Redfish."),
	ROW("collector.redfish.config.file", CONF_STRING, redfish_config_file, "",
	    "YAML file that says where the BMC is and who asks.",
	    .env = "CEEMS_EXPORTER_REDFISH_COLL_CONFIG_FILE"),
	ROW("collector.redfish.config.file.expand-env-vars", CONF_BOOL,
	    redfish_expand_env, "false",
	    "Replace ${NAME} in that file by the variable of the environment."),
	ROW("collector.redfish.interval", CONF_DURATION, redfish_interval_ms, "5s",
	    "How often the BMC is asked.", .min = 100, .max = 60000),
};
const size_t courier_options_count =
	sizeof(courier_options) / sizeof(courier_options[0]);

int courier_log_level(const struct options *o)
{
	static const int levels[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};
	return levels[o->log_level & 3];
}
