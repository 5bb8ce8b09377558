/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SHIP_OPTIONS_H
#define CEEMS_LIB_SHIP_OPTIONS_H

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

#endif
