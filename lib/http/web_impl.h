/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_IMPL_H
#define CEEMS_LIB_HTTP_WEB_IMPL_H

/* Shared by the files of the web server only. */
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/http/web.h"
#include "lib/http/web_auth.h"
#include "lib/http/web_budget.h"
#include "lib/http/web_conn.h"
#include "lib/http/web_policy.h"
#include "lib/loop.h"

#define LISTENERS_MAX WEB_PLACES_MAX
#define PATH_BYTES_MAX 1024
#define KEEP_TIMES 12 /* header_ms, that a connection may be idle between requests */

enum web_check { WEB_CHECK_PASSWORD, WEB_CHECK_MUNGE, WEB_CHECKS };
enum web_check_reason {
	WEB_CHECK_WRONG,
	WEB_CHECK_BUSY,
	WEB_CHECK_NO_ANSWER,
	WEB_CHECK_REASONS
};

/* One address, served by one loop or by the library's threads. */
struct web_daemon {
	struct web *w;
	struct MHD_Daemon *mhd;
	size_t listener;
	struct loop *loop; /* NULL: threads of the library */
	struct loop_watch watch;
	struct loop_task task;
	bool ready; /* it has something to do */
	bool tls;
	bool again;    /* web_daemon_again() */
	unsigned naps; /* waiting requests that are not suspended */
	unsigned runs; /* consecutive runs in which nothing was done */
	bool stuck;    /* after many such runs: nothing will be done */
	/* memory of finished requests, for reuse; with a loop only */
	struct web_request *spare;
	unsigned spares;
	bool quiet; /* accepts no new connections */
	uint64_t ran_ms;
};

/* Notes that the library may have more to do. For a loop only, on its own thread:
 * several threads of the library share one daemon. */
static inline void web_daemon_again(struct web_daemon *d)
{
	if (d->loop)
		d->again = true;
}

/* The daemons of one loop. */
struct web_loop {
	struct loop_hook hook;
	struct web *w;
	struct loop *loop;
	struct web_daemon *daemons[LISTENERS_MAX];
	size_t count;
};

struct web {
	const char *program;
	uint32_t max_requests;
	bool json_errors;
	const struct web_route *routes;
	size_t route_count;
	void *arg;
	void (*before_stop)(void *arg);
	bool (*is_front_end)(void *arg, const struct netaddr *peer);
	uint64_t header_ms;
	struct web_policy *policy;
	struct web_auth *auth;
	struct web_conns *conns;
	unsigned ports[LISTENERS_MAX];
	size_t count; /* of addresses */
	bool in_clear;
	struct web_daemon *daemons;
	size_t daemon_count;
	struct web_loop *loops;
	size_t loop_count;
	uint32_t max_connections;
	size_t connections_most; /* of each address */
	atomic_bool closing;
	atomic_uint requests; /* under way */
	size_t bodies_bytes_max;
	pthread_mutex_t bodies_mutex;
	struct web_budget *bodies; /* bytes held, by client or proved user */
	/* in all, without proof, and of these from no front end */
	size_t bodies_bytes, bodies_unproved, bodies_strangers;
	uint64_t bodies_refused;
	atomic_uint_fast64_t checks[WEB_CHECKS][WEB_CHECK_REASONS]; /* refused */
};

/* A request's body: what its head announces, and what has arrived. */
struct web_body {
	bool chunked, announced, expected; /* 100-continue */
	uint64_t length;                   /* as announced */
	char *data;
	size_t len, room;
	uint64_t holder;  /* web_budget key that is charged */
	bool unproved;    /* the holder is only a client */
	bool stranger;    /* and not from a front end's address */
	size_t skipped;   /* bytes read but not kept */
	unsigned refused; /* status found while it arrived */
};

/* One request, from its first line to the last byte of its answer. */
struct web_request {
	struct web_request *next; /* among the spare ones */
	struct web *w;
	struct web_daemon *daemon;
	struct MHD_Connection *connection;
	const char *uri; /* as it came; the library cuts it at the query */
	size_t uri_len;
	char *target;   /* a copy made before that */
	bool seen;      /* its head has been looked at */
	bool complete;  /* the whole body has arrived */
	bool passed;    /* checks are done or it is refused: what comes is body */
	bool decided;   /* password check done */
	bool password;  /* a password is required */
	char user[256]; /* whose password was good */
	enum auth_verdict verdict;
	int path_rc; /* result of target_path() */
	const struct web_route *route;
	bool handled; /* a handler has been called */
	bool slept;   /* a handler has called web_sleep() */
	bool asleep;  /* and web_wake() has not come */
	bool deep;    /* was suspended at least once */
	bool naps;
	uint64_t nap_ends_ms;
	enum web_method method;
	struct web_body body;
	/* an answer that waits for the body's end */
	struct MHD_Response *held;
	enum MHD_Result result;
	void *state; /* the handler's */
	struct {
		const char *name, *value;
	} extra[WEB_EXTRA_MAX];
	size_t extra_count;
	unsigned status;
	ssize_t (*read)(void *arg, void *buf, size_t max); /* of a streamed answer */
	void *read_arg;
	char path[PATH_BYTES_MAX];
};

/* ---- lib/http/web.c -------------------------------------------------------------- */

void web_on_connection(void *cls, struct MHD_Connection *connection, void **context,
		       enum MHD_ConnectionNotificationCode code);
enum MHD_Result web_on_accept(void *cls, const struct sockaddr *sa, socklen_t len);
void *web_on_uri(void *cls, const char *uri, struct MHD_Connection *connection);
void web_on_completed(void *cls, struct MHD_Connection *connection, void **context,
		      enum MHD_RequestTerminationCode code);
enum MHD_Result web_on_request(void *cls, struct MHD_Connection *connection,
			       const char *url, const char *method, const char *version,
			       const char *upload_data, size_t *upload_size,
			       void **context);

/* ---- lib/http/web_metrics.c ------------------------------------------------------ */

/* rc: 0; -EACCES: wrong; -EBUSY: too many wait; others: no answer. */
void web_count_check(struct web *w, enum web_check check, int rc);

/* ---- lib/http/web_daemon.c ------------------------------------------------------- */

/* Limit per address. */
size_t web_connections_most(const struct web *w, const struct web_params *p);
/* Serves the listening sockets fds[count], taking ownership. */
int web_daemons_start(struct web *w, int *fds, size_t count, bool tls,
		      const struct web_params *p, struct err *err);
void web_daemons_quiesce(struct web *w); /* without loops */
void web_daemons_stop(struct web *w);
/* Ends the request's nap, if it has one. */
void web_nap_end(struct web_request *r);
/* A connection of d was resumed: makes d look at it. Any thread. */
void web_daemon_wake(struct web_daemon *d);

/* ---- lib/http/web_request.c ------------------------------------------------------ */

struct web_conn *web_conn_of(struct MHD_Connection *connection);
/* Methods that its path allows, of enum web_method. */
unsigned web_methods(const struct web_request *r);
/* Queues the answer that was held back. */
enum MHD_Result web_answer_held(struct web_request *r);
/* web_answer_text(), and what on_request() is to return. */
enum MHD_Result web_refuse(struct web_request *r, unsigned status, const char *text);

#endif
