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
 * threads or on loops of the program's, for a table of routes, each of which says which
 * methods and how long a body it takes.
 *
 * A route's handler runs on a thread that serves all connections, so it must not wait.
 * Either it answers, or it sleeps: web_sleep() first, then the request is handed to a
 * thread of the program, which calls web_wake() once, and the handler is called again
 * with what that thread left in web_state(). */

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

/* A request is refused by its head where that suffices (400, 401, 405, 411, 413, 415,
 * 501, 503): before "100 Continue", and before any of its body is kept; a client that
 * sends a body of the allowed length all the same is read to its end before it is told,
 * or it would not hear it. A body that comes too slowly (30 s) ends the connection. */
struct web_route {
	/* As target_path() makes it of a request's target, compared whole; NULL: each
	 * path that no other route has */
	const char *path;
	bool open; /* asks for no password */
	/* Its handler asks for other proofs as well (MUNGE, tokens, certificates): a
	 * password is checked where one comes, web_password_user(), and not asked for
	 */
	bool own_proof;
	unsigned methods;      /* of enum web_method; 0: WEB_GET | WEB_HEAD */
	size_t body_bytes_max; /* 0: no body; of POST, PUT and PATCH alone */
	const char *body_type; /* the media type it must have; NULL: any */
	/* The head is there and the password was good, nothing of the body was kept
	 * yet: who may not send it is answered here. It may sleep as handle() may, and
	 * is called again then. Without an answer the request goes on. NULL: all may.
	 */
	void (*admit)(void *arg, struct web_request *r);
	/* Called when the body is complete. */
	void (*handle)(void *arg, struct web_request *r);
	/* The request is over, answered with status (0: the client went before); frees
	 * what is in web_state(). NULL: nothing to do. */
	void (*end)(void *arg, struct web_request *r, unsigned status);
};

struct web_params {
	const char *program;       /* in the password's realm; borrowed */
	const char *const *listen; /* ":9010", "127.0.0.1:9010", "[::1]:9010"; port 0:
				      any */
	size_t listen_count;
	bool systemd_socket;     /* LISTEN_FDS, listen is ignored */
	const char *config_file; /* --web.config.file; NULL or "": plain HTTP */
	/* Requests at a time that the program's handlers allow, 0: no limit; more
	 * connections than a few beyond that are not taken. */
	uint32_t max_requests;
	const struct web_route *routes; /* borrowed; outlive the web */
	size_t route_count;
	void *arg; /* for the functions of routes and those below */
	/* Refusals by web_answer_text() and the server's own are JSON as Prometheus
	 * answers errors, which Grafana shows; but those of open routes. */
	bool json_errors;
	/* All bodies that are held at a time; 0: 64 MiB. Beyond it: 503. */
	size_t bodies_bytes_max;
	/* Called once when ports and key files are open and no thread runs yet, signals
	 * blocked: the place to give up privileges, which are each thread's own, and to
	 * start the program's threads. NULL: nothing to do. */
	int (*before_threads)(void *arg, struct err *err);
	/* Called by web_stop() once requests have had time to end: wakes all that sleep
	 * still; from here on none may. NULL: nothing to do. */
	void (*before_stop)(void *arg);
	/* Whether front ends of the site's list connect from there: a quarter of
	 * connections and bodies is theirs. Called for each connection, on any thread,
	 * after before_threads. NULL: there are none, and no reserve. */
	bool (*is_front_end)(void *arg, const struct netaddr *peer);
	/* Tests alone: how long a silent connection lives; 0: 10 s */
	unsigned idle_timeout_s;
	/* Connections of one address for each loop; 0: as max_requests says */
	uint32_t max_connections;
	/* Loops (lib/loop.h) that serve instead of threads of the library, all of them
	 * on all addresses; each request stays with the loop that took its connection,
	 * and so do its handler's calls. They run when web_start() is over and end
	 * before web_stop(). SIGPIPE must be ignored. None: the library's threads. */
	struct loop *const *loops;
	size_t loop_count;
};

/* Copies what is not said to be borrowed. Fails with a text that names the address, or
 * file and line of the web configuration. Call before threads and privileges matter:
 * ports below 1024 and root's key files are opened here. */
int web_start(const struct web_params *params, struct web **ret, struct err *err);

/* Answers what is under way, then ends all threads. Accepts NULL. With loops: they run
 * no longer, web_quiesce() was called before they ended and no request sleeps. */
void web_stop(struct web *w);
/* Takes no new connection from now on; answers say that theirs ends with them. With
 * loops alone, any thread. */
void web_quiesce(struct web *w);
/* Requests under way, answers that are being sent included. Any thread. */
unsigned web_requests(const struct web *w);

/* SIGHUP: reads the web configuration and certificates again. A broken one leaves the
 * old in force and is the error. */
int web_reload(struct web *w, struct err *err);

/* ceems_web_*: who was turned away. Any thread. */
void web_metrics(struct web *w, struct prom *out);

/* Port of the i-th listener, 0 when there is none. */
unsigned web_port(const struct web *w, size_t i);
/* Whether it serves other hosts by plain HTTP: what comes and goes can be read on the
 * way. */
bool web_is_in_clear(const struct web *w);

/* Reads a web configuration for --check-config: 0 or the error web_start() would give.
 */
int web_check_config(const char *path, struct err *err);

/* Puts path and the files that this configuration names, one per line; "": none. */
void web_put_files(const char *path, struct buf *out);

/* For handlers. What is returned is borrowed until the request ends. */
struct web *web_of(const struct web_request *r); /* also while web_start() runs */
const char *web_path(const struct web_request *r);
enum web_method web_method(const struct web_request *r);
/* The body, "" when there is none; no NUL follows it. */
const void *web_body(const struct web_request *r, size_t *ret_len);
/* Gives its memory back before the request ends. */
void web_body_drop(struct web_request *r);
/* The first value of a request header, NULL: there is none. */
const char *web_header(struct web_request *r, const char *name);
/* How many headers have this name, in any case of letters. */
unsigned web_header_count(struct web_request *r, const char *name);
/* Both for several names, in one look at all that came. */
struct web_header_values {
	const char *name;  /* to be filled in */
	const char *first; /* NULL: there is none */
	unsigned count;
	size_t len; /* of name */
};
void web_headers(struct web_request *r, struct web_header_values *values, size_t count);
/* Which of web_params' addresses it came to. */
size_t web_listener(const struct web_request *r);
/* Which of web_params' loops serves it; 0 without loops. */
size_t web_loop(const struct web_request *r);
/* Its connection's descriptor, for poll(2) alone: while a request sleeps nobody else
 * looks whether its client is there still. */
int web_fd(const struct web_request *r);
/* From now on the request must be over within ms (60 s by itself). */
void web_deadline(struct web_request *r, uint64_t ms);
/* The target as it came, with its query. */
const char *web_target(const struct web_request *r);
/* The other end of the connection, NULL: unknown (a unix socket). */
const struct sockaddr *web_peer(struct web_request *r);
/* Our end of it: the address that the client came to. -EAFNOSUPPORT: a unix socket. */
int web_local(const struct web_request *r, struct netaddr *ret);
/* One number for all who could be the same client, for queues in which strangers wait
 * in turn (lib/turns.h): who was proved on its connection, else its address, as far as
 * client_prefix of the web configuration says. */
uint64_t web_client_key(struct web_request *r);
/* The same of the connection alone, whoever was proved. */
uint64_t web_client_network(struct web_request *r);
/* It is proved who asks, kind and name together: the connection and its bodies count as
 * theirs, no longer as of a client of whom nothing is known. */
void web_proved(struct web_request *r, const char *kind, const char *name);
/* A MUNGE credential of this request has been looked at, for web_metrics(): 0, -EACCES,
 * -EBUSY: it was not looked at, too many wait, -EHOSTDOWN. */
void web_count_munge(struct web_request *r, int rc);
/* The TLS session, NULL: plain HTTP. Its certificate has passed what client_auth_type
 * asks for, which may be nothing. */
gnutls_session_t web_tls(struct web_request *r);
/* Whether client_auth_type had a certificate, if there is one, verified. */
bool web_tls_verified(struct web_request *r);
/* The user of the web configuration whose password came and was good; NULL: none did.
 */
const char *web_password_user(struct web_request *r);
/* The handler's own pointer, NULL at first. */
void **web_state(struct web_request *r);

void web_sleep(struct web_request *r);
/* The same for what is expected within milliseconds, and woken by the request's own
 * loop alone: to go to sleep and to wake up costs three system calls, which a short nap
 * saves. A longer one becomes sleep. */
void web_nap(struct web_request *r);
/* From any thread, once for each web_sleep(); with loops, from the request's own also
 * when it does not sleep, which does nothing. */
void web_wake(struct web_request *r);

/* Adds a header to the answer, before web_answer*(). At most WEB_EXTRA_MAX; name and
 * value are static or live as long as the request. */
#define WEB_EXTRA_MAX 4
void web_add_header(struct web_request *r, const char *name, const char *value);

/* One of these, once. */
void web_answer(struct web_request *r, unsigned status, const char *type,
		const void *data, size_t len); /* copies */
void web_answer_text(struct web_request *r, unsigned status, const char *text);
/* Sends data as it is and calls release(arg) when it was sent, or could not be. */
void web_answer_shared(struct web_request *r, unsigned status, const char *type,
		       const void *data, size_t len, void (*release)(void *arg),
		       void *arg);

/* Sends what read() gives, called on the server's thread whenever the client can take
 * more: it puts 1 to max bytes into buf; 0: that was all; -EAGAIN: nothing is there
 * now, the request sleeps until web_wake(); any other error: the answer is broken, and
 * its connection is reset, so that what was sent of it never looks whole. length: of
 * all, or -1: not known. One buffer of memory, no more than WEB_STREAM_BYTES. */
#define WEB_STREAM_BYTES 16384
void web_answer_stream(struct web_request *r, unsigned status, const char *type,
		       int64_t length,
		       ssize_t (*read)(void *arg, void *buf, size_t max), void *arg);

#endif
