/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_PROXY_H
#define CEEMS_REDFISH_PROXY_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/conf/conf.h"
#include "lib/err.h"
#include "lib/http/web.h"
#include "lib/privileges.h"

/* From a request to its answer: identify, decide (access.h), cache, BMC. */

struct proxy;

struct proxy_params {
	const char *config_file; /* borrowed, also for reloads */
	bool expand;
	uint32_t max_requests;               /* for BMCs at a time, 0: no limit */
	const struct privileges *privileges; /* borrowed; NULL: stays who it is */
	bool filter_calls, fence_files;      /* with privileges: service.h */
	const char *web_config_file;         /* to be read beside config_file; "" */
	const struct conf_list *folders;     /* the same */
};

/* Reads the configuration. */
int proxy_new(const struct proxy_params *params, struct proxy **ret, struct err *err);
/* For struct web_params, with the proxy as arg. The first gives up privileges and
 * starts the threads, the second answers all that waits; what is asked from there on is
 * refused. */
int proxy_before_threads(void *proxy, struct err *err);
void proxy_before_stop(void *proxy);
/* Signs out of the BMCs. No request may be under way. Accepts NULL. */
void proxy_free(struct proxy *p);

/* The same. */
const struct web_route *proxy_routes(size_t *ret_count);

/* Reads the configuration again; what is wrong leaves the old one in force. Requests
 * under way end with the one that they began with. For the thread of proxy_tick(). */
int proxy_reload(struct proxy *p, struct err *err);

/* Whether files outside of the folders that it began with cannot be read. */
bool proxy_is_fenced(const struct proxy *p);

/* Now and then: forgets what is old. */
void proxy_tick(struct proxy *p);

/* For --check-config: the error that proxy_new() would give. */
int proxy_check(const char *config_file, bool expand, struct err *err);

#endif
