/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The peer's flags, in its spellings, and ours. */
#include "contrib/k8s/admission/options.h"

#define ROW CONF_ROW

const struct conf_opt admission_options[] = {
	ROW("config.file", CONF_STRING, config_file, "",
	    "YAML file with options; the command line wins."),
	ROW("check-config", CONF_BOOL, check_config, "false",
	    "Read command line, config.file and web.config.file, say what is wrong "
	    "with them, and exit."),
	LOG_OPTION_ROWS(0),
	USER_OPTION_ROWS,
	SANDBOX_OPTION_ROWS,
	ROW("runtime.gomaxprocs", CONF_STRING, gomaxprocs, "",
	    "Accepted, no effect: there is no Go runtime here."),
	WEB_OPTION_ROWS(":9000", NULL, NULL),
	ROW("web.max-requests", CONF_U64, max_requests, "512",
	    "Most reviews at a time, 0 for no limit.", .max = 65536),
	ROW("web.debug-server", CONF_BOOL, debug_server, "false",
	    "Accepted, no effect: there is no pprof here."),
	ROW("admission.namer", CONF_LIST, namers, "",
	    "A service account that may name the owner of what it creates, as "
	    "JupyterHub's: NAMESPACE:ACCOUNT in its own namespace, "
	    "NAMESPACE:ACCOUNT@OTHER in that one, @* in all. What anybody else writes "
	    "is replaced. May be given several times."),
	ROW("admission.controller", CONF_LIST, controllers, "",
	    "Another account that creates pods for others by templates that are "
	    "reviewed, beside the controllers of Kubernetes: NAMESPACE:ACCOUNT. The "
	    "template's owner stays. May be given several times."),
	ROW("admission.claims-from", CONF_LIST, claims_from, "",
	    "Whose reviews are believed about who creates a pod: the API server, as "
	    "certificate:NAME, password:USER, an address or a range. None given: "
	    "nothing is told to the aggregator. May be given several times."),
	ROW("admission.cluster", CONF_STRING, cluster, "",
	    "The cluster's name in the aggregator: ceemsd's --cluster there."),
	ROW("admission.spool", CONF_STRING, spool, "",
	    "Folder from which ceems-courier sends what is told to the aggregator; "
	    "empty: nothing is."),
	ROW("admission.spool-size", CONF_BYTES, spool_bytes, "64MiB",
	    "Most bytes that wait there."),
};
const size_t admission_options_count =
	sizeof(admission_options) / sizeof(admission_options[0]);
