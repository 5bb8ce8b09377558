/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table of options, see lib/conf/conf.h. */
#include "courier/options.h"

#include <string.h>

#include "lib/debuginfod_options.h"
#include "lib/emission_options.h"
#include "lib/service_options.h"
#include "lib/ship_options.h"

#define ROW CONF_ROW

const struct conf_opt courier_options[] = {
	LOG_OPTION_ROWS(0),
	SANDBOX_OPTION_ROWS,
	ROW("config.file", CONF_STRING, config_file, "",
	    "YAML file with options; the command line wins."),
	ROW("link.fd", CONF_U64, link_fd, "0",
	    "The socket to ceemsd, which starts ceems-courier with it.",
	    .flags = CONF_HIDDEN, .max = 1023),
	ROW("check-config", CONF_BOOL, check_config, "false",
	    "Read the files that the collectors name, say what is wrong with them, and "
	    "exit. No server is asked."),
	ROW("once", CONF_BOOL, once, "false",
	    "Ask every server once, then exit: with status 1 if one failed."),
	ROW("flush", CONF_BOOL, flush, "false",
	    "Send what ceemsd's spool holds, say how many records are left, and exit: "
	    "with status 1 if there are any. config.file may be ceemsd's."),
	ROW("flush.timeout", CONF_DURATION, flush_timeout_ms, "30s",
	    "How long that may take.", .min = 100, .max = 600000),
	ROW("print", CONF_BOOL, print, "false",
	    "Write what is learnt to standard output."),

	ROW("collector.redfish", CONF_BOOL, collector_redfish, "false",
	    "Power of the node from its BMC, by Redfish."),
	ROW("collector.redfish.config.file", CONF_STRING, redfish_config_file, "",
	    "YAML file with the BMC's address and the credentials for it.",
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
	EMISSION_OPTION_ROWS,

	ROW("ship.spool", CONF_LIST, ship_spools, "",
	    "Spool to send from; none given: that of ceemsd as its child, else "
	    "/var/spool/ceems/jobcomp."),
	ROW("ship.interval", CONF_DURATION, ship_interval_ms, "5m",
	    "Interval records wait for this node's moment in each such span, so that "
	    "not all nodes send at once; others go at once. ceemsd's "
	    "--reports.interval.",
	    .min = 100, .max = 86400000),
	ROW("reports.spool", CONF_STRING, reports_spool, "",
	    "With --flush: the spool, as ceemsd's configuration names it; empty: "
	    "/var/spool/ceems/ceemsd."),
	SHIP_OPTION_ROWS,
	PROFILE_SHIP_OPTION_ROWS,
	DEBUGINFOD_OPTION_ROWS,
};
const size_t courier_options_count =
	sizeof(courier_options) / sizeof(courier_options[0]);

int courier_load(int argc, char *const argv[], void *dst, struct buf *out,
		 struct buf *warnings, struct err *err)
{
	struct conf_opt table[sizeof(courier_options) / sizeof(courier_options[0])];

	memcpy(table, courier_options, sizeof(table));
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--flush") != 0)
			continue;
		for (size_t k = 0; k < courier_options_count; k++) {
			if (strcmp(table[k].name, "config.file") == 0)
				table[k].flags |= CONF_OTHERS;
		}
	}
	return conf_load(table, courier_options_count, "ceems-courier", argc, argv, dst,
			 out, warnings, err);
}
