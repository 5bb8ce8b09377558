/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_PROXY_H
#define CEEMS_REDFISH_PROXY_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/err.h"
#include "lib/http/web.h"
#include "lib/privileges.h"

/* Takes a request to its answer: identify, decide (access.h), cache, BMC. */

struct proxy;

struct proxy_params {
	const char *config_file; /* borrowed, also for reloads */
	bool expand;
	uint32_t max_requests;               /* concurrent, to BMCs; 0: no limit */
	const struct privileges *privileges; /* borrowed; NULL: do not change user */
	bool filter_calls, fence_files;      /* with privileges: see service.h */
	const char *web_config_file;         /* besides config_file; "" */
	const struct conf_list *folders;     /* the same */
};

/* Reads the configuration. */
int proxy_new(const struct proxy_params *params, struct proxy **ret, struct err *err);
/* For struct web_params, with the proxy as arg. The first drops privileges and starts
 * the threads; the second answers all waiting requests, and later ones are refused. */
int proxy_before_threads(void *proxy, struct err *err);
void proxy_before_stop(void *proxy);
/* Signs out of the BMCs. No request may be running. Accepts NULL. */
void proxy_free(struct proxy *p);

/* The same. */
const struct web_route *proxy_routes(size_t *ret_count);

/* Reads the configuration again; if it is wrong, the old one stays in force. Running
 * requests keep the one they started with. For the thread of proxy_tick(). */
int proxy_reload(struct proxy *p, struct err *err);

/* Whether it cannot read files outside of the folders named at start. */
bool proxy_is_fenced(const struct proxy *p);

/* Periodically: drops what has expired. */
void proxy_tick(struct proxy *p);

/* For --check-config: the error that proxy_new() would give. */
int proxy_check(const char *config_file, bool expand, struct err *err);

#endif
