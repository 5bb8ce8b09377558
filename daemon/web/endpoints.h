/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_WEB_ENDPOINTS_H
#define CEEMS_DAEMON_WEB_ENDPOINTS_H

#include "daemon/web/scrape.h"
#include "lib/http/web.h"

/* What the daemon serves: GET and HEAD on the telemetry path, /units, /health and /. It
 * never holds the daemon's lock itself. */

struct endpoints;

struct endpoints_params {
	const char *const *listen; /* these five: struct web_params */
	size_t listen_count;
	bool systemd_socket;     /* --web.systemd-socket */
	const char *config_file; /* --web.config.file */
	unsigned idle_timeout_s;
	const char *telemetry_path; /* --web.telemetry-path, "/metrics" */
	uint32_t max_requests;      /* --web.max-requests, 0: no limit */
	struct scrape *scrape;      /* borrowed; outlives the pages */
	/* Appends the units as JSON; takes the daemon's lock itself. NULL: /units is an
	 * empty list. */
	int (*units_json)(void *arg, struct buf *out);
	/* Appends targets for Alloy as JSON, likewise, at targets_path. NULL: there is
	 * no such page. */
	int (*targets_json)(void *arg, struct buf *out);
	const char *targets_path; /* --web.targets-path */
	void *arg;
	/* As in struct web_params */
	int (*before_threads)(void *arg, struct err *err);
};

/* As web_start(). */
int endpoints_start(const struct endpoints_params *params, struct endpoints **ret,
		    struct err *err);
/* Finishes running requests, then ends all threads. Accepts NULL. */
void endpoints_stop(struct endpoints *p);

/* For web_reload() and web_port(). */
struct web *endpoints_web(struct endpoints *p);

#endif
