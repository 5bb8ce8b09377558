/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_IMPL_H
#define CEEMS_LIB_HTTP_WEB_IMPL_H

/* What the files of the web server share; for nobody else. */
#include <microhttpd.h>
#include <stdatomic.h>

#include "lib/http/web.h"
#include "lib/http/web_auth.h"
#include "lib/http/web_conn.h"
#include "lib/http/web_policy.h"

#define LISTENERS_MAX 16
#define PATH_BYTES_MAX 1024

struct listener {
	struct MHD_Daemon *mhd;
	unsigned port;
};

struct web {
	const char *program;
	uint32_t max_requests;
	const struct web_route *routes;
	size_t route_count;
	void *arg;
	void (*before_stop)(void *arg);
	uint64_t header_ms;
	struct web_policy *policy;
	struct web_auth *auth;
	struct web_conns *conns;
	struct listener listeners[LISTENERS_MAX];
	size_t count;
	atomic_uint requests; /* under way */
};

/* One request, from its first line to the last byte of its answer. */
struct web_request {
	struct web *w;
	struct MHD_Connection *connection;
	const char *uri; /* as it came; the library cuts it up where a query begins */
	size_t uri_len;
	char *target; /* a copy from before */
	bool seen;    /* its head has been looked at */
	bool decided; /* about its password */
	enum auth_verdict verdict;
	int path_rc; /* what target_path() said */
	const struct web_route *route;
	bool handled; /* the handler has been called */
	enum MHD_Result result;
	void *state; /* the handler's */
	struct {
		const char *name, *value;
	} extra[WEB_EXTRA_MAX];
	size_t extra_count;
	unsigned status;
	char path[PATH_BYTES_MAX];
};
/* ---- lib/http/web_request.c ------------------------------------------------------ */

struct web_conn *web_conn_of(struct MHD_Connection *connection);
/* web_answer_text(), and what on_request() is to return. */
enum MHD_Result web_refuse(struct web_request *r, unsigned status, const char *text);

#endif
