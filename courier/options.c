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
	ROW("check-config", CONF_BOOL, check_config, "false",
	    "Read the files that the collectors name, say what is wrong with them, and "
	    "exit. No server is asked."),
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
	ROW("collector.redfish.bmc-address", CONF_STRING, redfish_bmc_address, "",
	    "Address of the BMC where the file names no hostname.",
	    .flags = CONF_HIDDEN),

	ROW("collector.emissions", CONF_BOOL, collector_emissions, "false",
	    "Emission factors of electricity, in g/kWh."),
	ROW("collector.emissions.provider", CONF_LIST, emissions_providers, "",
	    "Providers to ask: rte, emaps, wt or file; none given: all for which "
	    "nothing is missing. owid and global are not asked for."),
	ROW("emissions.zone", CONF_LIST, emissions_zones, "",
	    "Zones to ask for; none given: all."),
	ROW("emissions.file", CONF_STRING, emissions_file, "",
	    "Emission factors of the site's own: a file or an http(s) URL with lines "
	    "of time, zone and g/kWh."),
	ROW("emissions.rte-url", CONF_STRING, emissions_rte_url,
	    "https://reseaux-energies-rte.opendatasoft.com/api/explore/v2.1",
	    "Where RTE's open data, or a mirror of it, is asked for."),
	ROW("emissions.emaps-url", CONF_STRING, emissions_emaps_url,
	    "https://api.electricitymaps.com/v3",
	    "Where Electricity Maps is asked, with the token of EMAPS_API_TOKEN."),
	ROW("emissions.emaps-token-file", CONF_STRING, emissions_emaps_token_file, "",
	    "File with the token, instead of EMAPS_API_TOKEN."),
	ROW("emissions.wt-url", CONF_STRING, emissions_wt_url,
	    "https://api.watttime.org",
	    "Where WattTime is asked, with the password of WT_PASSWORD."),
	ROW("emissions.wt-user", CONF_STRING, emissions_wt_user, "",
	    "User name at WattTime.", .env = "WT_USERNAME"),
	ROW("emissions.wt-password-file", CONF_STRING, emissions_wt_password_file, "",
	    "File with the password, instead of WT_PASSWORD."),
	ROW("emissions.wt-region", CONF_STRING, emissions_wt_region, "",
	    "Region to ask WattTime for, such as CAISO_NORTH.", .env = "WT_REGION"),
	ROW("emissions.ca-file", CONF_STRING, emissions_ca_file, "",
	    "Certificates (PEM) that those servers are verified with, instead of the "
	    "system's."),
};
const size_t courier_options_count =
	sizeof(courier_options) / sizeof(courier_options[0]);

int courier_log_level(const struct options *o)
{
	static const int levels[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};
	return levels[o->log_level & 3];
}
