/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_DEBUGINFOD_OPTIONS_H
#define CEEMS_LIB_DEBUGINFOD_OPTIONS_H

#include <stdint.h>

/* Where debug files are fetched from: options of ceems-courier, which ceemsd also
 * accepts and passes on. Rows of an option table (lib/conf/conf.h); the includer
 * defines ROW and has these members: */
#define DEBUGINFOD_OPTION_MEMBERS                                                      \
	struct conf_list debuginfod_urls;                                              \
	char *debuginfod_folder, *debuginfod_ca_file;                                  \
	uint64_t debuginfod_max_bytes, debuginfod_max_file, debuginfod_timeout_ms

#define DEBUGINFOD_OPTION_ROWS                                                         \
	ROW("debuginfod.url", CONF_LIST, debuginfod_urls, "",                          \
	    "Server for separate debug files of programs in profiles, by build id, "   \
	    "such as https://debuginfod:8002: it is told the build ids of users' "     \
	    "programs that have no symbols. May be repeated: they are asked in turn. " \
	    "None given: nobody is asked."),                                           \
		ROW("debuginfod.folder", CONF_STRING, debuginfod_folder,               \
		    "/var/cache/ceems/debug",                                          \
		    "Where debug files that were fetched are kept, of ceemsd's own "   \
		    "user, mode 0700."),                                               \
		ROW("debuginfod.max-bytes", CONF_BYTES, debuginfod_max_bytes, "1GiB",  \
		    "How much they may take; those not used for longest go first. A "  \
		    "twentieth of the file system stays free in any case."),           \
		ROW("debuginfod.max-file", CONF_BYTES, debuginfod_max_file, "256MiB",  \
		    "Longer ones are not fetched."),                                   \
		ROW("debuginfod.timeout", CONF_DURATION, debuginfod_timeout_ms, "90s", \
		    "How long one may take.", .min = 100, .max = 3600000),             \
		ROW("debuginfod.ca-file", CONF_STRING, debuginfod_ca_file, "",         \
		    "CA certificates (PEM) to verify debuginfod.url with, instead of " \
		    "the system's.")

#endif
