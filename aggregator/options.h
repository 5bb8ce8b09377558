/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_OPTIONS_H
#define CEEMS_AGGREGATOR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/emission_options.h"
#include "lib/service_options.h"
#include "lib/ship_options.h"

/* The aggregator's options, by command line, --config.file or environment. */

struct options {
	char *config_file;
	bool check_config, check, migrate;
	LOG_OPTION_MEMBERS;
	USER_OPTION_MEMBERS;
	SANDBOX_OPTION_MEMBERS;

	WEB_OPTION_MEMBERS;
	char *route_prefix, *cors_origin;
	bool debug_server, compression, disable_cap_awareness; /* no effect */
	uint64_t compression_level;                            /* none */
	char *gomaxprocs;                                      /* none */
	uint64_t max_requests;    /* per user and minute, 0: no limit */
	uint64_t max_connections; /* requests at a time */
	uint64_t query_max_period_ms;

	char *export, *import, *import_start, *import_cluster, *import_pue, *erase,
		*renumber, *settle;
	char *people, *slurm_bindir;
	uint64_t people_refresh_ms;
	struct conf_list admins, operators;
	char *grafana_url, *grafana_token_file, *grafana_ca_file;
	struct conf_list grafana_teams;
	uint64_t grafana_refresh_ms;
	bool project_members;
	bool identity_munge, front_end_roles;
	bool munge_unbound;
	struct conf_list metrics, munge_hosts;
	char *munge_socket, *certificate_suffix;
	int certificate; /* enum identity_certificate */
	struct conf_list front_ends, front_end_addresses, user_headers;
	char *token_keys, *token_ca_file;
	struct conf_list token_issuers, token_audiences;

	char *clusters_file;
	char *db_url; /* "": a private cluster in data_path */
	uint64_t db_threads;
	uint64_t db_timeout_ms;
	bool db_standby, db_auto_migrate;
	char *data_path;

	bool recompute;
	char *from, *to;

	bool ingest_munge;
	char *ingest_munge_socket, *ingest_token_file;
	struct conf_list ingest_users, ingest_jobs_from, ingest_claims_from,
		ingest_client_names, ingest_clusters;
	PROFILE_STORE_OPTION_MEMBERS;
	struct conf_list emissions_zones, emissions_pue;
	EMISSION_OPTION_MEMBERS;
	uint64_t linker_grace_ms, linker_lost_ms, rollup_delay_ms;

	uint64_t retention_intervals_ms, retention_hours_ms;
	uint64_t partitions_ahead_ms;
	char *retention_archive;
};

extern const struct conf_opt options_table[];
extern const size_t options_count;

#endif
