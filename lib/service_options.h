/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SERVICE_OPTIONS_H
#define CEEMS_LIB_SERVICE_OPTIONS_H

#include "lib/conf/program.h"

/* Options that all daemons have. Rows of an option table (lib/conf/conf.h); the
 * includer defines ROW and has these members: */
#define LOG_OPTION_MEMBERS int log_level, log_format /* for program_log() */

/* flags_: CONF_RELOAD if SIGHUP applies them, else 0 */
#define LOG_OPTION_ROWS(flags_)                                                        \
	ROW("log.level", CONF_ENUM, log_level, "info",                                 \
	    "Least severe messages to log: debug, info, warn or error.",               \
	    .flags = (flags_), .choices = program_log_levels),                         \
		ROW("log.format", CONF_ENUM, log_format, "logfmt",                     \
		    "Log lines as logfmt or json.", .flags = (flags_),                 \
		    .choices = program_log_formats)

/* For privileges_choose(). */
#define USER_OPTION_MEMBERS                                                            \
	char *run_as_user;                                                             \
	bool drop_privileges

#define USER_OPTION_ROWS                                                               \
	ROW("security.run-as-user", CONF_STRING, run_as_user, "",                      \
	    "User (name or number) to become when started as root, once what needs "   \
	    "root is open. Empty: ceems where it exists, else nobody."),               \
		ROW("security.drop-privileges", CONF_BOOL, drop_privileges, "true",    \
		    "Give up root and every capability once started.",                 \
		    .flags = CONF_HIDDEN)

/* For service_filter_calls(). */
#define SANDBOX_OPTION_MEMBERS bool seccomp

#define SANDBOX_OPTION_ROWS                                                            \
	ROW("security.seccomp", CONF_BOOL, seccomp, "true",                            \
	    "Once started, have the kernel refuse system calls that need privileges "  \
	    "or are never used, to this program and to what it starts.")

/* For service_fence_files(). */
#define FENCE_OPTION_MEMBERS                                                           \
	bool landlock;                                                                 \
	struct conf_list landlock_read

#define FENCE_OPTION_ROWS                                                              \
	ROW("security.landlock", CONF_BOOL, landlock, "true",                          \
	    "Once started, have the kernel keep this program to reading the files of " \
	    "the system and of folders that its configuration names."),                \
		ROW("security.landlock-read", CONF_LIST, landlock_read, "",            \
		    "Another folder that it may read. May be given several times.")

/* For web_start(). */
#define WEB_OPTION_MEMBERS                                                             \
	struct conf_list listen_addresses;                                             \
	char *web_config_file;                                                         \
	bool systemd_socket

/* listen_: the default, ":9020"; the peer's own variables, or NULL */
#define WEB_OPTION_ROWS(listen_, listen_env_, config_env_)                             \
	ROW("web.listen-address", CONF_LIST, listen_addresses, listen_,                \
	    "Address to serve on, as host:port or :port. May be given several times.", \
	    .env = (listen_env_)),                                                     \
		ROW("web.config.file", CONF_STRING, web_config_file, "",               \
		    "TLS, client certificates and basic authentication, in the "       \
		    "format of Prometheus' exporter toolkit.",                         \
		    .env = (config_env_)),                                             \
		ROW("web.systemd-socket", CONF_BOOL, systemd_socket, "false",          \
		    "Serve on the sockets that systemd passes, not on "                \
		    "web.listen-address.")

#endif
