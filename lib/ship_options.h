/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SHIP_OPTIONS_H
#define CEEMS_LIB_SHIP_OPTIONS_H

#include <stddef.h>

/* Where records are sent: options of ceems-courier, which ceemsd also accepts and
 * passes on. Rows of an option table (lib/conf/conf.h); the includer defines ROW and
 * has these members: */
#define SHIP_OPTION_MEMBERS                                                            \
	struct conf_list aggregator_urls;                                              \
	char *aggregator_token_file, *aggregator_cert_file, *aggregator_key_file;      \
	char *aggregator_ca_file, *aggregator_munge_socket;                            \
	uint64_t aggregator_timeout_ms

#define SHIP_OPTION_ROWS                                                               \
	ROW("aggregator.url", CONF_LIST, aggregator_urls, "",                          \
	    "Where records are sent, such as https://aggregator:9020; when it does "   \
	    "not answer, the next one. None given: they stay in the spool."),          \
		ROW("aggregator.token-file", CONF_STRING, aggregator_token_file, "",   \
		    "File with a bearer token for it. Neither this nor a certificate " \
		    "given: MUNGE."),                                                  \
		ROW("aggregator.cert-file", CONF_STRING, aggregator_cert_file, "",     \
		    "Client certificate (PEM) to present to it."),                     \
		ROW("aggregator.key-file", CONF_STRING, aggregator_key_file, "",       \
		    "Key of that certificate (PEM)."),                                 \
		ROW("aggregator.ca-file", CONF_STRING, aggregator_ca_file, "",         \
		    "CA certificates (PEM) to verify it with, instead of the "         \
		    "system's."),                                                      \
		ROW("aggregator.munge-socket", CONF_STRING, aggregator_munge_socket,   \
		    "", "Socket of the MUNGE daemon, instead of its usual one."),      \
		ROW("aggregator.timeout", CONF_DURATION, aggregator_timeout_ms, "30s", \
		    "How long to wait for one of its answers.", .min = 100,            \
		    .max = 600000)

/* A profile store, for those that send to it. */
#define PROFILE_STORE_OPTION_MEMBERS                                                   \
	char *profiles_url, *profiles_tenant;                                          \
	char *profiles_token_file, *profiles_ca_file;                                  \
	int profiles_api /* enum profile_api, lib/http/profile_push.h */

/* url_help: of profiles.url */
#define PROFILE_STORE_OPTION_ROWS(url_help)                                            \
	ROW("profiles.url", CONF_STRING, profiles_url, "", url_help),                  \
		ROW("profiles.api", CONF_ENUM, profiles_api, "push",                   \
		    "How profiles.url is asked to take them: push (push.v1) or "       \
		    "ingest (the older /ingest).",                                     \
		    .choices = profile_api_names),                                     \
		ROW("profiles.tenant", CONF_STRING, profiles_tenant, "",               \
		    "Tenant of profiles.url (X-Scope-OrgID), where it has several."),  \
		ROW("profiles.token-file", CONF_STRING, profiles_token_file, "",       \
		    "File with a bearer token for profiles.url."),                     \
		ROW("profiles.ca-file", CONF_STRING, profiles_ca_file, "",             \
		    "CA certificates (PEM) to verify profiles.url with, instead of "   \
		    "the system's.")

/* Where finished profiles are sent, likewise. */
#define PROFILE_SHIP_OPTION_MEMBERS                                                    \
	PROFILE_STORE_OPTION_MEMBERS;                                                  \
	char *profiles_spool;                                                          \
	uint64_t profiles_max_age_ms

#define PROFILE_SHIP_OPTION_ROWS                                                       \
	ROW("profiles.spool", CONF_STRING, profiles_spool, "",                         \
	    "Folder of finished profiles, from which they are sent. Empty: there are " \
	    "none to send."),                                                          \
		PROFILE_STORE_OPTION_ROWS(                                             \
			"Pyroscope, such as http://pyroscope:4040, to send profiles "  \
			"to directly: only where users cannot reach it from the "      \
			"nodes. Empty: they go to aggregator.url, which checks and "   \
			"passes them on."),                                            \
		ROW("profiles.max-age", CONF_DURATION, profiles_max_age_ms, "1h",      \
		    "Profiles that began longer ago are dropped and counted, since "   \
		    "the store refuses them (limits.reject_older_than).",              \
		    .min = 1000, .max = 31536000000)

/* profiles.api: enum profile_api (lib/http/profile_push.h) */
static const char *const profile_api_names[] = {"push", "ingest", NULL};

#endif
