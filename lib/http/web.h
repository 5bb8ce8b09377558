/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_H
#define CEEMS_LIB_HTTP_WEB_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/netaddr.h"

/* An HTTP server with TLS, passwords, limits and deadlines, on libmicrohttpd's own
 * threads or on the program's event loops, for a table of routes with their methods and
 * body limits.
 *
 * A route's handler runs on a thread that serves all connections, so it must not block.
 * It either answers or suspends the request: it calls web_sleep() and hands the request
 * to a thread of the program, which calls web_wake() once; then the handler is called
 * again and finds that thread's result in web_state(). */

struct loop;
struct prom;
struct web;
struct web_request;

enum web_method {
	WEB_GET = 1,
	WEB_HEAD = 2,
	WEB_POST = 4,
	WEB_PUT = 8,
	WEB_PATCH = 16,
	WEB_DELETE = 32,
	WEB_OPTIONS = 64
};

/* Where the head suffices to refuse a request (400, 401, 405, 411, 413, 415, 501, 503),
 * that happens before "100 Continue" and before any of the body is kept. If a client
 * then sends a body of the allowed length anyway, it is read to its end before the
 * answer is sent, or the client would not see the answer. A body that takes longer than
 * 30 s ends the connection. */
struct web_route {
	/* Compared as a whole with target_path() of the request's target; NULL: every
	 * path that no other route has */
	const char *path;
	bool open; /* needs no password */
	/* The handler checks other proofs too (MUNGE, tokens, certificates): a password
	 * is verified if one is sent (web_password_user()) but not required */
	bool own_proof;
	unsigned methods;      /* enum web_method, or-ed; 0: WEB_GET | WEB_HEAD */
	size_t body_bytes_max; /* 0: no body; for POST, PUT and PATCH only */
	const char *body_type; /* the media type it must have; NULL: any */
	/* Called when head and password have been accepted and nothing of the body has
	 * been kept: the place to refuse those who may not send it. May sleep like
	 * handle() and is then called again. If it does not answer, the request goes
	 * on. NULL: everybody may. */
	void (*admit)(void *arg, struct web_request *r);
	/* Called when the body is complete. */
	void (*handle)(void *arg, struct web_request *r);
	/* The request is over; status is what was answered (0: the client left before).
	 * Frees what is in web_state(). NULL: nothing to do. */
	void (*end)(void *arg, struct web_request *r, unsigned status);
};

struct web_params {
	const char *program;       /* in the password's realm; borrowed */
	const char *const *listen; /* ":9010", "127.0.0.1:9010", "[::1]:9010"; port 0:
				      any */
	size_t listen_count;
	bool systemd_socket;     /* LISTEN_FDS, listen is ignored */
	const char *config_file; /* --web.config.file; NULL or "": plain HTTP */
	/* Requests at a time that the program's handlers allow, 0: no limit;
	 * connections beyond that and a few more are not accepted. */
	uint32_t max_requests;
	const struct web_route *routes; /* borrowed; outlive the web */
	size_t route_count;
	void *arg; /* for the functions of routes and those below */
	/* Errors of web_answer_text() and of the server itself are JSON in the form of
	 * Prometheus' errors, which Grafana shows; except on open routes. */
	bool json_errors;
	/* Limit for all bodies held at a time; 0: 64 MiB. Beyond it: 503. */
	size_t bodies_bytes_max;
	/* Called once when ports and key files are open, no thread runs yet and signals
	 * are blocked: the place to drop privileges, which are per thread, and to start
	 * the program's threads. NULL: nothing to do. */
	int (*before_threads)(void *arg, struct err *err);
	/* Called by web_stop() once requests have had time to end: wakes all that still
	 * sleep; none may sleep from here on. NULL: nothing to do. */
	void (*before_stop)(void *arg);
	/* Whether an address is a configured front end's; these have a quarter of
	 * connections and bodies in reserve. Called for each connection, on any thread,
	 * after before_threads. NULL: no front ends, no reserve. */
	bool (*is_front_end)(void *arg, const struct netaddr *peer);
	/* For tests: how long a silent connection lives; 0: 10 s */
	unsigned idle_timeout_s;
	/* Connections per address and loop; 0: derived from max_requests */
	uint32_t max_connections;
	/* Event loops (lib/loop.h) that serve instead of the library's threads, each of
	 * them on all addresses. A request, with its handler's calls, stays on the loop
	 * that accepted its connection. The loops start after web_start() and end
	 * before web_stop(). SIGPIPE must be ignored. None: the library's threads. */
	struct loop *const *loops;
	size_t loop_count;
};

/* Copies what is not marked as borrowed. Fails with a text that names the address, or
 * file and line of the web configuration. Call before threads are started and
 * privileges dropped: ports below 1024 and root's key files are opened here. */
int web_start(const struct web_params *params, struct web **ret, struct err *err);

/* Finishes running requests, then ends all threads. Accepts NULL. With loops: call it
 * after they ended, having called web_quiesce() before that, when no request sleeps. */
void web_stop(struct web *w);
/* Accepts no new connections; answers announce that their connection will be closed.
 * With loops only, any thread. */
void web_quiesce(struct web *w);
/* Requests under way, answers that are being sent included. Any thread. */
unsigned web_requests(const struct web *w);

/* SIGHUP: reads the web configuration and certificates again. If they are broken, the
 * old ones stay in force and the error is returned. */
int web_reload(struct web *w, struct err *err);

/* ceems_web_*: refused requests and connections. Any thread. */
void web_metrics(struct web *w, struct prom *out);

/* Port of the i-th listener, 0 when there is none. */
unsigned web_port(const struct web *w, size_t i);
/* Whether it serves other hosts by plain HTTP, which can be read on the network. */
bool web_is_in_clear(const struct web *w);

/* Reads a web configuration for --check-config: 0, or the error web_start() would
 * give. */
int web_check_config(const char *path, struct err *err);

/* Puts path and the files that this configuration names, one per line; "": none. */
void web_put_files(const char *path, struct buf *out);

/* For handlers. What is returned is borrowed until the request ends. */
struct web *web_of(const struct web_request *r); /* also while web_start() runs */
const char *web_path(const struct web_request *r);
enum web_method web_method(const struct web_request *r);
/* The body, "" if there is none; not NUL-terminated. */
const void *web_body(const struct web_request *r, size_t *ret_len);
/* Frees the body before the request ends. */
void web_body_drop(struct web_request *r);
/* The first value of a request header; NULL: not there. */
const char *web_header(struct web_request *r, const char *name);
/* How many headers have this name, ignoring case. */
unsigned web_header_count(struct web_request *r, const char *name);
/* Both for several names, in one pass over the headers. */
struct web_header_values {
	const char *name;  /* to be filled in */
	const char *first; /* NULL: there is none */
	unsigned count;
	size_t len; /* of name */
};
void web_headers(struct web_request *r, struct web_header_values *values, size_t count);
/* Index in web_params' addresses of the one the request came to. */
size_t web_listener(const struct web_request *r);
/* Index in web_params' loops of the one that serves it; 0 without loops. */
size_t web_loop(const struct web_request *r);
/* The connection's descriptor, for poll(2) only: while a request sleeps nobody else
 * checks whether its client is still there. */
int web_fd(const struct web_request *r);
/* From now the request must be over within ms (60 s by default). */
void web_deadline(struct web_request *r, uint64_t ms);
/* The target as it came, with its query. */
const char *web_target(const struct web_request *r);
/* The peer's address; NULL: unknown (a unix socket). */
const struct sockaddr *web_peer(struct web_request *r);
/* The local address of the connection. -EAFNOSUPPORT: a unix socket. */
int web_local(const struct web_request *r, struct netaddr *ret);
/* One key for everything that could be the same client, for fair queues (lib/turns.h):
 * whoever has been proved on the connection, else its address, by client_prefix of the
 * web configuration. */
uint64_t web_client_key(struct web_request *r);
/* The same by the address alone, whoever has been proved. */
uint64_t web_client_network(struct web_request *r);
/* Records who the caller proved to be, by kind and name: the connection and its bodies
 * are counted as theirs from now on, and not as an unknown client's. */
void web_proved(struct web_request *r, const char *kind, const char *name);
/* Counts a check of this request's MUNGE credential in web_metrics(): 0: good; -EACCES;
 * -EBUSY: not checked, too many are waiting; -EHOSTDOWN. */
void web_count_munge(struct web_request *r, int rc);
/* The TLS session, NULL: plain HTTP. Its certificate satisfies client_auth_type, which
 * may require nothing. */
gnutls_session_t web_tls(struct web_request *r);
/* Whether client_auth_type means that a certificate, if there is one, has been
 * verified. */
bool web_tls_verified(struct web_request *r);
/* The user of the web configuration whose password was sent and correct; NULL: none. */
const char *web_password_user(struct web_request *r);
/* The handler's own pointer, NULL at first. */
void **web_state(struct web_request *r);

void web_sleep(struct web_request *r);
/* The same for a short wait of milliseconds that the request's own loop ends:
 * suspending and resuming costs three system calls, which a nap saves. A longer one
 * turns into a sleep. */
void web_nap(struct web_request *r);
/* From any thread, once for each web_sleep(). With loops, the request's own loop may
 * also call it for a request that does not sleep, without effect. */
void web_wake(struct web_request *r);

/* Adds a header to the answer, before web_answer*(). At most WEB_EXTRA_MAX; name and
 * value are static or live as long as the request. */
#define WEB_EXTRA_MAX 4
void web_add_header(struct web_request *r, const char *name, const char *value);

/* Call exactly one of these, once. */
void web_answer(struct web_request *r, unsigned status, const char *type,
		const void *data, size_t len); /* copies */
void web_answer_text(struct web_request *r, unsigned status, const char *text);
/* Sends data without copying it, and calls release(arg) when it has been sent or could
 * not be. */
void web_answer_shared(struct web_request *r, unsigned status, const char *type,
		       const void *data, size_t len, void (*release)(void *arg),
		       void *arg);

/* Streams an answer. read() is called on the server's thread whenever the client can
 * take more: it puts 1 to max bytes into buf; 0: end; -EAGAIN: nothing yet, the request
 * sleeps until web_wake(); another error: the answer is broken and its connection is
 * reset, so that a partial answer never looks complete. length: in all, or -1: unknown.
 * Uses one buffer of WEB_STREAM_BYTES. */
#define WEB_STREAM_BYTES 65536
void web_answer_stream(struct web_request *r, unsigned status, const char *type,
		       int64_t length,
		       ssize_t (*read)(void *arg, void *buf, size_t max), void *arg);

#endif
