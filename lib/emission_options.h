/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_EMISSION_OPTIONS_H
#define CEEMS_LIB_EMISSION_OPTIONS_H

/* Where emission factors are fetched: options of ceems-courier, which ceemsd also
 * accepts and passes on. Rows of an option table (lib/conf/conf.h); the includer
 * defines ROW and has these members: */
#define EMISSION_OPTION_MEMBERS                                                        \
	char *emissions_file; /* path or URL */                                        \
	char *emissions_rte_url, *emissions_emaps_url, *emissions_wt_url;              \
	char *emissions_emaps_token_file, *emissions_wt_password_file;                 \
	char *emissions_wt_user, *emissions_wt_region;                                 \
	char *emissions_ca_file

/* The members of struct emissions_config that they fill, and the secrets of the
 * environment */
#define EMISSION_OPTION_CONFIG(o)                                                      \
	.rte_url = (o)->emissions_rte_url, .emaps_url = (o)->emissions_emaps_url,      \
	.wt_url = (o)->emissions_wt_url, .file = (o)->emissions_file,                  \
	.emaps_token = getenv("EMAPS_API_TOKEN"),                                      \
	.emaps_token_file = (o)->emissions_emaps_token_file,                           \
	.wt_user = (o)->emissions_wt_user, .wt_password = getenv("WT_PASSWORD"),       \
	.wt_password_file = (o)->emissions_wt_password_file,                           \
	.wt_region = (o)->emissions_wt_region

#define EMISSION_OPTION_ROWS                                                           \
	ROW("emissions.file", CONF_STRING, emissions_file, "",                         \
	    "Emission factors of the site's own: a file or an http(s) URL with lines " \
	    "of time, zone and g/kWh."),                                               \
		ROW("emissions.rte-url", CONF_STRING, emissions_rte_url,               \
		    "https://reseaux-energies-rte.opendatasoft.com/api/explore/v2.1",  \
		    "URL of RTE's open data, or of a mirror."),                        \
		ROW("emissions.emaps-url", CONF_STRING, emissions_emaps_url,           \
		    "https://api.electricitymaps.com/v3",                              \
		    "URL of Electricity Maps, used with the token of "                 \
		    "EMAPS_API_TOKEN."),                                               \
		ROW("emissions.emaps-token-file", CONF_STRING,                         \
		    emissions_emaps_token_file, "",                                    \
		    "File with the token, instead of EMAPS_API_TOKEN."),               \
		ROW("emissions.wt-url", CONF_STRING, emissions_wt_url,                 \
		    "https://api.watttime.org",                                        \
		    "URL of WattTime, used with the password of WT_PASSWORD."),        \
		ROW("emissions.wt-user", CONF_STRING, emissions_wt_user, "",           \
		    "User name at WattTime.", .env = "WT_USERNAME"),                   \
		ROW("emissions.wt-password-file", CONF_STRING,                         \
		    emissions_wt_password_file, "",                                    \
		    "File with the password, instead of WT_PASSWORD."),                \
		ROW("emissions.wt-region", CONF_STRING, emissions_wt_region, "",       \
		    "Region to ask WattTime for, such as CAISO_NORTH.",                \
		    .env = "WT_REGION"),                                               \
		ROW("emissions.ca-file", CONF_STRING, emissions_ca_file, "",           \
		    "Certificates (PEM) that those servers are verified with, "        \
		    "instead of the "                                                  \
		    "system's.")

#endif
