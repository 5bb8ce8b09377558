/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP server: reads requests, authenticates, and calls handlers. The library's
 * event loops never block: while other threads make an answer or check a password, the
 * connection sleeps. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/listen.h"
#include "lib/http/target.h"
#include "lib/http/web_body.h"
#include "lib/http/web_head.h"
#include "lib/http/web_impl.h"
#include "lib/netaddr.h"
#include "lib/signals.h"

#define HEADER_S 10     /* time for a request's head */
#define REQUEST_TIMES 6 /* the answer must have been taken after so many times that */
#define BODY_TIMES 3    /* the body must have arrived after so many times that */
#define CHUNK_PAUSE_S 2 /* between two parts of a chunked body */
#define BODIES_BYTES ((size_t)64 << 20)
#define STOP_MS 5000
#define SPARE_MAX 256
#define TOLD_MS 1000 /* for clients that are told that we end */

/* All of 127/8 is one host. */
static struct web_conn_from find_origin(const struct web_daemon *d,
					const struct web_settings *s,
					const struct sockaddr *sa)
{
	struct web_conn_from f = {.place = d->listener};
	struct web *w = d->w;
	struct netaddr a;

	if (netaddr_from(sa, &a) < 0)
		return f;
	f.client = netaddr_key(&a, s->config.client_prefix);
	f.net = netaddr_is_loopback(&a) ? 0 : f.client;
	f.front_end = w->is_front_end && w->is_front_end(w->arg, &a);
	return f;
}

enum MHD_Result web_on_accept(void *cls, const struct sockaddr *sa, socklen_t len)
{
	const struct web_daemon *d = cls;
	struct web_settings *s = web_policy_get(d->w->policy);
	const struct web_conn_from from = find_origin(d, s, sa);

	(void)len;
	web_settings_unref(s);
	return web_conns_admit(d->w->conns, &from) ? MHD_YES : MHD_NO;
}

/* A connection begins or ends. It keeps the configuration that it needs. */
void web_on_connection(void *cls, struct MHD_Connection *connection, void **context,
		       enum MHD_ConnectionNotificationCode code)
{
	struct web_daemon *d = cls;
	struct web *w = d->w;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		struct web_conn *conn = *context;
		if (!conn)
			return;
		web_settings_unref(web_conn_data(conn));
		web_conn_remove(w->conns, conn);
		*context = NULL;
		return;
	}
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (!info)
		return;
	int fd = info->connect_fd;
	web_policy_refresh(w->policy);
	struct web_settings *s = web_policy_get(w->policy);
	if (s->config.tls) {
		info = MHD_get_connection_info(connection,
					       MHD_CONNECTION_INFO_GNUTLS_SESSION);
		/* without our credentials the handshake fails, as it should */
		if (info)
			(void)!web_settings_apply(s, info->tls_session);
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct web_conn_from from =
		find_origin(d, s, info ? info->client_addr : NULL);
	*context = web_conn_add(w->conns, fd, w->header_ms, s, &from);
	if (!*context)
		web_settings_unref(s);
}

/* A request is larger than what malloc(3) serves quickly, so memory is reused. */
static struct web_request *request_new(struct web_daemon *d)
{
	struct web_request *r = d->spare;

	if (!r)
		return calloc(1, sizeof(*r));
	d->spare = r->next;
	d->spares--;
	memset(r, 0, offsetof(struct web_request, path));
	r->path[0] = '\0';
	return r;
}

static void request_free(struct web_daemon *d, struct web_request *r)
{
	if (!d->loop || d->spares >= SPARE_MAX) {
		free(r);
		return;
	}
	r->next = d->spare;
	d->spare = r;
	d->spares++;
}

/* The request line has arrived: only here the library shows it unmodified. */
void *web_on_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
	struct web_daemon *d = cls;
	struct web *w = d->w;
	struct web_request *r = request_new(d);
	struct web_conn *conn = web_conn_of(connection);

	if (!r)
		return NULL;
	atomic_fetch_add(&w->requests, 1);
	r->w = w;
	r->daemon = d;
	r->connection = connection;
	r->uri = uri;
	r->uri_len = uri ? strlen(uri) : 0;
	r->target = strdup(uri ? uri : "");
	if (conn)
		web_conn_deadline(w->conns, conn, w->header_ms);
	return r;
}

void web_on_completed(void *cls, struct MHD_Connection *connection, void **context,
		      enum MHD_RequestTerminationCode code)
{
	struct web_daemon *d = cls;
	struct web *w = d->w;
	struct web_request *r = *context;
	struct web_conn *conn = web_conn_of(connection);

	(void)code;
	if (!r)
		return;
	web_nap_end(r);
	if (r->deep)
		web_daemon_again(d);
	if (r->handled && r->route->end)
		r->route->end(w->arg, r, r->status);
	if (conn)
		web_conn_rest(w->conns, conn, KEEP_TIMES * w->header_ms);
	if (r->held)
		MHD_destroy_response(r->held);
	web_body_free(r);
	free(r->target);
	request_free(d, r);
	*context = NULL;
	atomic_fetch_sub(&w->requests, 1);
}

/* NULL: no route for this path. */
static const struct web_route *find_route(const struct web *w, const char *path)
{
	const struct web_route *other = NULL;

	for (size_t i = 0; i < w->route_count; i++) {
		if (!w->routes[i].path)
			other = &w->routes[i];
		else if (strcmp(w->routes[i].path, path) == 0)
			return &w->routes[i];
	}
	return other;
}

/* Whether the request continues; else r->result is the return value. */
static bool admit_request(struct web_request *r)
{
	if (!r->route || !r->route->admit)
		return true;
	r->handled = true;
	r->slept = false;
	r->status = 0;
	r->result = MHD_NO;
	r->route->admit(r->w->arg, r);
	return !r->slept && r->status == 0;
}

static enum MHD_Result serve_route(struct web_request *r)
{
	if (r->path_rc < 0)
		return web_refuse(r, MHD_HTTP_BAD_REQUEST, "bad request target\n");
	if (!r->route)
		return web_refuse(r, MHD_HTTP_NOT_FOUND, "404 page not found\n");
	if (r->body.refused)
		return web_refuse(r, r->body.refused,
				  r->body.refused == MHD_HTTP_CONTENT_TOO_LARGE
					  ? "body too long\n"
					  : "too many requests at a time\n");
	r->handled = true;
	r->result = MHD_NO;
	r->route->handle(r->w->arg, r);
	return r->result;
}

/* Runs on the thread that checks passwords. */
static void on_verdict(void *arg, enum auth_verdict verdict)
{
	struct web_request *r = arg;

	r->verdict = verdict;
	r->decided = true;
	web_wake(r);
}

/* On routes with proofs of their own, only what looks like a password is checked as
 * one. */
static bool asks_password(const struct web_request *r, const char *header)
{
	if (r->route && r->route->own_proof)
		return header && strncasecmp(header, "Basic ", 6) == 0;
	return !(r->route && r->route->open);
}

/* 0: continue. Else *ret_result is the return value: an answer was queued, or the
 * connection sleeps until the password has been checked. */
static int authenticate_request(struct web_request *r, enum MHD_Result *ret_result)
{
	struct web *w = r->w;
	struct auth_job *job = NULL;
	struct auth_known *known = web_conn_known(web_conn_of(r->connection));

	if (!r->decided) {
		web_policy_refresh(w->policy);
		struct web_settings *s = web_policy_get(w->policy);
		r->verdict = AUTH_GOOD;
		const char *header = MHD_lookup_connection_value(
			r->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
		if (s->config.user_count && asks_password(r, header)) {
			r->password = true;
			r->verdict = web_auth_check(w->auth, &s->config, header, known,
						    &job);
			if (r->verdict == AUTH_GOOD && known->until_ns)
				memcpy(r->user, known->user, sizeof(known->user));
		}
		web_settings_unref(s);
		r->decided = r->verdict != AUTH_PENDING;
	}
	if (!r->decided) {
		/* sleep first, since the wake-up may come at once */
		r->asleep = r->deep = true;
		MHD_suspend_connection(r->connection);
		if (web_auth_submit(w->auth, job, web_client_key(r), on_verdict, r) ==
		    0) {
			*ret_result = MHD_YES;
			return 1;
		}
		web_wake(r);
		web_count_check(w, WEB_CHECK_PASSWORD, -EBUSY);
		*ret_result = web_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE,
					 "too many passwords to check\n");
		return 1;
	}
	if (r->verdict == AUTH_GOOD) {
		if (r->password)
			web_proved(r, "password:", web_password_user(r));
		return 0;
	}
	bool came = web_header(r, MHD_HTTP_HEADER_AUTHORIZATION) != NULL;
	web_count_check(w, WEB_CHECK_PASSWORD, came ? -EACCES : 0);
	*ret_result = web_refuse(r, MHD_HTTP_UNAUTHORIZED,
				 came ? "wrong user or password (basic_auth_users of "
					"web.config.file)\n"
				      : "a password is needed (basic_auth_users of "
					"web.config.file)\n");
	return 1;
}

/* Checks the head. True: refused, or asleep; r->result is the return value. */
static bool stopped_by_head(struct web_request *r, const char *url, const char *method,
			    const char *version)
{
	const char *text;
	unsigned status;

	if (!r->seen) {
		r->seen = true;
		r->path_rc = target_path(url, r->path, sizeof(r->path));
		r->route = r->path_rc < 0 ? NULL : find_route(r->w, r->path);
		text = web_head_wrong(r, method, version);
		if (text) {
			web_refuse(r, MHD_HTTP_BAD_REQUEST, text);
			return true;
		}
		status = web_head_check(r, method, version, &text);
		if (status) {
			web_refuse(r, status, text);
			return true;
		}
	}
	if (authenticate_request(r, &r->result) || !admit_request(r))
		return true;
	/* now that it may be known whose it is */
	if (!r->body.length || web_body_fits(r))
		return false;
	web_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests at a time\n");
	return true;
}

/* A chunk extension that fills a request's memory makes the library (0.9.75) ignore its
 * socket, so that it may not notice the shutdown at the deadline, and busy whenever it
 * runs: it must check its own clock, and soon. */
static void limit_pause(struct web_request *r, unsigned seconds)
{
	if (r->body.chunked)
		MHD_set_connection_option(r->connection, MHD_CONNECTION_OPTION_TIMEOUT,
					  seconds);
}

enum MHD_Result web_on_request(void *cls, struct MHD_Connection *connection,
			       const char *url, const char *method, const char *version,
			       const char *upload_data, size_t *upload_size,
			       void **context)
{
	struct web_daemon *d = cls;
	struct web *w = d->w;
	struct web_request *r = *context;
	struct web_conn *conn = web_conn_of(connection);

	if (r && r->naps) {
		if (loop_now_ms(d->loop) < r->nap_ends_ms)
			return MHD_YES;
		web_nap_end(r);
		web_sleep(r);
		return MHD_YES;
	}
	/* out of memory */
	if (!r || !r->target || !conn)
		return MHD_NO;
	if (!r->seen)
		web_conn_begin(w->conns, conn, REQUEST_TIMES * w->header_ms);
	if (!r->passed) {
		bool stopped = stopped_by_head(r, url, method, version);
		if (stopped && !r->passed)
			return r->result;
		r->passed = true;
		if (r->body.chunked || r->body.length)
			web_conn_deadline(w->conns, conn, BODY_TIMES * w->header_ms);
		limit_pause(r, CHUNK_PAUSE_S);
		return MHD_YES;
	}
	if (*upload_size) {
		web_daemon_again(d);
		bool good = web_body_add(r, upload_data, *upload_size);
		*upload_size = 0;
		return good ? MHD_YES : MHD_NO;
	}
	if (!r->complete) {
		r->complete = true;
		/* since its beginning, unless it was waited for */
		if (r->deep || r->body.chunked || r->body.length)
			web_conn_deadline(w->conns, conn, REQUEST_TIMES * w->header_ms);
		limit_pause(r, (unsigned)(KEEP_TIMES * w->header_ms / 1000 + 1));
	}
	return r->held ? web_answer_held(r) : serve_route(r);
}

static int open_listeners(const struct web_params *p, int fds[LISTENERS_MAX],
			  struct err *err)
{
	if (p->systemd_socket)
		return listen_take_systemd(fds, LISTENERS_MAX, err);
	if (p->listen_count == 0 || p->listen_count > LISTENERS_MAX)
		return err_set(err, -EINVAL, "web.listen-address: 1 to %d of them",
			       LISTENERS_MAX);
	for (size_t i = 0; i < p->listen_count; i++) {
		fds[i] = listen_open(p->listen[i], err);
		if (fds[i] < 0)
			return fds[i];
	}
	return (int)p->listen_count;
}

static int start_all(struct web *w, const struct web_params *p, struct err *err)
{
	int fds[LISTENERS_MAX];

	for (size_t i = 0; i < LISTENERS_MAX; i++)
		fds[i] = -1;
	int rc = open_listeners(p, fds, err);
	int n = rc;
	/* signals belong to the main thread */
	sigset_t old;
	signals_block(&old);
	struct web_settings *s = web_policy_get(w->policy);
	bool tls = s->config.tls;
	web_settings_unref(s);
	for (int i = 0; i < n && !tls; i++)
		w->in_clear |= !listen_is_local(fds[i]);
	if (rc >= 0 && p->before_threads) {
		int dropped = p->before_threads(p->arg, err);
		rc = dropped < 0 ? dropped : rc;
	}
	if (rc >= 0)
		rc = web_conns_new(w->header_ms / 2, web_connections_most(w, p),
				   w->is_front_end != NULL, &w->conns, err);
	if (rc == 0)
		rc = web_daemons_start(w, fds, (size_t)n, tls, p, err);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	for (size_t i = 0; i < LISTENERS_MAX; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return rc < 0 ? rc : 0;
}

int web_start(const struct web_params *params, struct web **ret, struct err *err)
{
	struct web *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, -ENOMEM, "web: out of memory");
	w->max_requests = params->max_requests;
	w->max_connections = params->max_connections;
	w->bodies_bytes_max =
		params->bodies_bytes_max ? params->bodies_bytes_max : BODIES_BYTES;
	w->program = params->program;
	w->json_errors = params->json_errors;
	w->routes = params->routes;
	w->route_count = params->route_count;
	w->arg = params->arg;
	w->before_stop = params->before_stop;
	w->is_front_end = params->is_front_end;
	w->header_ms =
		1000ull * (params->idle_timeout_s ? params->idle_timeout_s : HEADER_S);
	pthread_mutex_init(&w->bodies_mutex, NULL);
	int rc = web_bodies_init(w, err);
	if (rc == 0)
		rc = web_policy_new(params->config_file, &w->policy, err);
	if (rc == 0)
		rc = web_auth_new(&w->auth, err);
	if (rc == 0)
		rc = start_all(w, params, err);
	if (rc < 0) {
		web_stop(w);
		return rc;
	}
	*ret = w;
	return 0;
}

static void wait_for_web_requests(struct web *w, int most_ms)
{
	struct timespec pause = {.tv_nsec = 10000000};

	for (int ms = 0; ms < most_ms && atomic_load(&w->requests); ms += 10)
		nanosleep(&pause, NULL);
}

void web_stop(struct web *w)
{
	if (!w)
		return;
	if (!w->loop_count)
		web_daemons_quiesce(w);
	/* wakes every connection that waits for a password; none does from here on */
	if (w->auth)
		web_auth_stop(w->auth);
	if (!w->loop_count)
		wait_for_web_requests(w, STOP_MS);
	if (w->before_stop)
		w->before_stop(w->arg);
	if (!w->loop_count)
		wait_for_web_requests(w, TOLD_MS);
	web_daemons_stop(w);
	web_conns_free(w->conns);
	web_auth_free(w->auth);
	web_policy_free(w->policy);
	pthread_mutex_destroy(&w->bodies_mutex);
	free(w->bodies);
	free(w);
}

unsigned web_requests(const struct web *w)
{
	return atomic_load(&w->requests);
}

int web_reload(struct web *w, struct err *err)
{
	return web_policy_reload(w->policy, err);
}

bool web_is_in_clear(const struct web *w)
{
	return w->in_clear;
}

unsigned web_port(const struct web *w, size_t i)
{
	return i < w->count ? w->ports[i] : 0;
}

int web_check_config(const char *path, struct err *err)
{
	struct web_policy *p;
	int rc = web_policy_new(path, &p, err);

	if (rc == 0)
		web_policy_free(p);
	return rc;
}

void web_put_files(const char *path, struct buf *out)
{
	struct web_config c = {0};

	if (!*path)
		return;
	buf_printf(out, "%s\n", path);
	if (web_config_load(path, &c, NULL) == 0)
		web_config_put_files(&c, out);
	web_config_done(&c);
}
