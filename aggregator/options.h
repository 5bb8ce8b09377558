/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_OPTIONS_H
#define CEEMS_AGGREGATOR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf.h"

/* The aggregator's options, by command line, --config.file or environment. */

struct options {
	char *config_file;
	bool check_config, check, migrate;
	int log_level, log_format;
	char *run_as_user;
	bool drop_privileges;

	struct conf_list listen_addresses;
	char *web_config_file, *route_prefix, *cors_origin;
	bool systemd_socket;
	uint64_t max_requests;    /* of a client in a minute, 0: no limit */
	uint64_t max_connections; /* requests at a time */
	uint64_t query_max_period_ms;

	char *import, *import_start, *import_cluster, *erase;
	char *people, *slurm_bindir;
	uint64_t people_refresh_ms;
	struct conf_list admins, operators;
	bool project_members;
	bool identity_munge;
	char *munge_socket, *certificate_suffix;
	int certificate; /* enum identity_certificate */
	struct conf_list front_ends, front_end_addresses, user_headers;
	char *token_keys, *token_ca_file;
	struct conf_list token_issuers, token_audiences;

	char *db_url; /* "": a private cluster in data_path */
	uint64_t db_threads;
	uint64_t db_timeout_ms;
	bool db_auto_migrate;
	char *data_path;

	bool recompute;
	char *from, *to;

	bool ingest_munge;
	char *ingest_munge_socket, *ingest_token_file;
	struct conf_list ingest_users, ingest_client_names, ingest_clusters;
	struct conf_list emissions_zones, emissions_pue;
	char *emissions_file; /* path or URL */
	char *emissions_rte_url, *emissions_emaps_url, *emissions_wt_url;
	char *emissions_emaps_token_file, *emissions_wt_password_file;
	char *emissions_wt_user, *emissions_wt_region;
	char *emissions_ca_file;
	uint64_t linker_grace_ms, linker_lost_ms, rollup_delay_ms;

	uint64_t retention_intervals_ms, retention_hours_ms;
	uint64_t partitions_ahead_ms;
};

extern const struct conf_opt options_table[];
extern const size_t options_count;

/* The level as syslog has it. */
int options_log_level(const struct options *o);

#endif
