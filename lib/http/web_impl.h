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
	atomic_size_t bodies_bytes;
	size_t bodies_bytes_max;
};

/* Of one request: what its head says of it, and what came. */
struct web_body {
	bool chunked, announced, expected; /* 100-continue */
	uint64_t length;                   /* as announced */
	char *data;
	size_t len, room;
	size_t skipped;   /* read, not kept */
	unsigned refused; /* status, found out while it came */
};

/* One request, from its first line to the last byte of its answer. */
struct web_request {
	struct web *w;
	struct MHD_Connection *connection;
	const char *uri; /* as it came; the library cuts it up where a query begins */
	size_t uri_len;
	char *target;   /* a copy from before */
	bool seen;      /* its head has been looked at */
	bool complete;  /* all of its body is there */
	bool passed;    /* and was good, or it is to be refused: what comes is body */
	bool decided;   /* about its password */
	bool password;  /* it was asked for one */
	char user[256]; /* whose password was good */
	enum auth_verdict verdict;
	int path_rc; /* what target_path() said */
	const struct web_route *route;
	bool handled; /* one of its functions has been called */
	bool slept;   /* one of them has gone to sleep */
	enum web_method method;
	struct web_body body;
	/* an answer before the body came, that waits for the body's end */
	struct MHD_Response *held;
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
/* What its path allows, of enum web_method. */
unsigned web_methods(const struct web_request *r);
/* Queues the answer that was held back. */
enum MHD_Result web_answer_held(struct web_request *r);
/* web_answer_text(), and what on_request() is to return. */
enum MHD_Result web_refuse(struct web_request *r, unsigned status, const char *text);

#endif
