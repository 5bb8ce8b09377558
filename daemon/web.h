/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_WEB_H
#define CEEMS_DAEMON_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/scrape.h"
#include "lib/buf.h"
#include "lib/err.h"

/* The HTTP side of the daemon: GET and HEAD on the telemetry path, /units, /health and
 * /, on libmicrohttpd's own threads. It never holds the daemon's lock itself. */

struct web;

struct web_params {
	const char *const *listen; /* ":9010", "127.0.0.1:9010", "[::1]:9010"; port 0:
				      any */
	size_t listen_count;
	bool systemd_socket;        /* --web.systemd-socket: LISTEN_FDS, listen is
				       ignored */
	const char *telemetry_path; /* --web.telemetry-path, "/metrics" */
	const char *config_file;    /* --web.config.file; NULL or "": plain HTTP */
	uint32_t max_requests;      /* --web.max-requests, 0: no limit */
	struct scrape *scrape;      /* borrowed; outlives the web */
	/* Appends the live units as JSON; takes the daemon's lock itself. NULL: /units
	 * is an empty list. */
	int (*units_json)(void *arg, struct buf *out);
	void *arg;
	/* Called once when ports and key files are open and no thread runs yet: the
	 * place to give up privileges, which are each thread's own. NULL: nothing to
	 * do. */
	int (*before_threads)(void *arg, struct err *err);
	/* Tests alone: how long a silent connection lives; 0: 10 s */
	unsigned idle_timeout_s;
};

/* Copies what it needs of params. Fails with a text that names the address, or file and
 * line of the web configuration. Call before threads and privileges matter: ports below
 * 1024 and root's key files are opened here. */
int web_start(const struct web_params *params, struct web **ret, struct err *err);

/* Answers what is under way, then ends all threads. Accepts NULL. */
void web_stop(struct web *w);

/* SIGHUP: reads the web configuration and certificates again. A broken one leaves the
 * old in force and is the error. */
int web_reload(struct web *w, struct err *err);

/* Port of the i-th listener, 0 when there is none. */
unsigned web_port(const struct web *w, size_t i);

/* Reads a web configuration for --check-config: 0 or the error web_start() would give.
 */
int web_check_config(const char *path, struct err *err);

#endif
