/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request of the HTTP server as seen by handlers, and its answer. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/http/web_body.h"
#include "lib/http/web_impl.h"
#include "lib/siphash.h"

struct web_conn *web_conn_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

static bool add_response_header(struct MHD_Response *response, const char *name,
				const char *value)
{
	return MHD_add_response_header(response, name, value) == MHD_YES;
}

unsigned web_methods(const struct web_request *r)
{
	unsigned methods = r->route ? r->route->methods : 0;

	return methods ? methods : WEB_GET | WEB_HEAD;
}

/* A client that sends its body right away does not read before it has sent all of it,
 * and would find the connection reset: its body is read to the end, unless that is too
 * much. */
static bool hears_out(const struct web_request *r)
{
	const struct web_body *b = &r->body;

	return !r->passed && (b->chunked || b->length) && !b->expected && r->route &&
	       b->length <= r->route->body_bytes_max && r->route->body_bytes_max;
}

enum MHD_Result web_answer_held(struct web_request *r)
{
	r->result = MHD_queue_response(r->connection, r->status, r->held);
	MHD_destroy_response(r->held);
	r->held = NULL;
	return r->result;
}

/* Replaces an answer for which there was no memory: it needs a few hundred bytes. */
static struct MHD_Response *make_excuse(struct web_request *r, unsigned *status,
					const char **type)
{
	static char text[] = "out of memory\n";
	struct MHD_Response *response = MHD_create_response_from_buffer(
		sizeof(text) - 1, text, MHD_RESPMEM_PERSISTENT);

	if (response)
		(void)add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	r->extra_count = 0; /* they belonged to the other answer */
	*status = MHD_HTTP_SERVICE_UNAVAILABLE;
	*type = "text/plain; charset=utf-8";
	return response;
}

/* Takes the response's reference. MHD_NO closes the connection. */
static void queue_response(struct web_request *r, unsigned status, const char *type,
			   struct MHD_Response *response)
{
	struct web_settings *s = web_policy_get(r->w->policy);
	struct web_conn *conn = web_conn_of(r->connection);
	bool nosniff = true;

	if (!response)
		response = make_excuse(r, &status, &type);
	bool good = response != NULL;
	r->status = status;
	if (good)
		good = add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
					   type) &&
		       add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL,
					   "no-store");
	for (size_t i = 0; good && i < r->extra_count; i++)
		good = add_response_header(response, r->extra[i].name,
					   r->extra[i].value);
	for (size_t i = 0; good && i < s->config.header_count; i++) {
		const struct web_config_header *h = &s->config.headers[i];
		nosniff &= strcmp(h->name, "X-Content-Type-Options") != 0;
		good = add_response_header(response, h->name, h->value);
	}
	if (good && nosniff)
		good = add_response_header(response, "X-Content-Type-Options",
					   "nosniff");
	web_settings_unref(s);
	/* the library is less strict about chunks than others: do not read what follows
	 * one on the connection */
	if (good && (r->body.chunked || atomic_load(&r->w->closing)))
		good = add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
					   "close");
	if (status == MHD_HTTP_UNAUTHORIZED && conn)
		web_conn_prove(r->w->conns, conn, 0);
	if (good && hears_out(r)) {
		if (conn)
			web_conn_refused(r->w->conns, conn);
		r->passed = true;
		r->held = response;
		r->result = MHD_YES;
		return;
	}
	r->result = good ? MHD_queue_response(r->connection, status, response) : MHD_NO;
	if (response)
		MHD_destroy_response(response);
}

void web_answer(struct web_request *r, unsigned status, const char *type,
		const void *data, size_t len)
{
	queue_response(r, status, type,
		       MHD_create_response_from_buffer(len, (void *)(uintptr_t)data,
						       MHD_RESPMEM_MUST_COPY));
}

void web_answer_shared(struct web_request *r, unsigned status, const char *type,
		       const void *data, size_t len, void (*release)(void *arg),
		       void *arg)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer_with_free_callback_cls(
			len, (void *)(uintptr_t)data, release, arg);

	if (!response)
		release(arg);
	queue_response(r, status, type, response);
}

/* In the form of errors of Prometheus' HTTP API: its clients show the text. */
static void put_json_error(unsigned status, const char *text, struct buf *out)
{
	size_t len = strlen(text);
	const char *type = status == MHD_HTTP_UNAUTHORIZED          ? "unauthorized"
			   : status == MHD_HTTP_FORBIDDEN           ? "forbidden"
			   : status == MHD_HTTP_NOT_FOUND           ? "not_found"
			   : status == MHD_HTTP_SERVICE_UNAVAILABLE ? "unavailable"
			   : status >= 500                          ? "internal"
								    : "bad_data";

	if (len && text[len - 1] == '\n')
		len--;
	buf_printf(out, "{\"status\":\"error\",\"errorType\":\"%s\",\"error\":", type);
	buf_put_json(out, text, len);
	buf_puts(out, "}\n");
}

void web_answer_text(struct web_request *r, unsigned status, const char *text)
{
	auto_buf struct buf error = BUF_INIT;
	const char *body_type = "text/plain; charset=utf-8";

	if (status >= 400 && r->w->json_errors && !(r->route && r->route->open)) {
		put_json_error(status, text, &error);
		if (!buf_error(&error)) {
			text = error.data;
			body_type = "application/json";
		}
	}
	size_t len = strlen(text);
	struct MHD_Response *response = MHD_create_response_from_buffer(
		len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	char realm[96], allowed[64];

	if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED) {
		web_methods_text(web_methods(r), allowed, sizeof(allowed));
		(void)add_response_header(response, MHD_HTTP_HEADER_ALLOW, allowed);
	}
	if (response && status == MHD_HTTP_UNAUTHORIZED) {
		snprintf(realm, sizeof(realm), "Basic realm=\"%s\", charset=\"UTF-8\"",
			 r->w->program);
		(void)add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					  realm);
	}
	if (response && status == MHD_HTTP_SERVICE_UNAVAILABLE)
		(void)add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	/* the client may have sent more that we do not understand */
	if (response && status >= 400 && status < 500 && status != MHD_HTTP_NOT_FOUND &&
	    status != MHD_HTTP_UNAUTHORIZED)
		(void)add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
					  "close");
	queue_response(r, status, body_type, response);
}

enum MHD_Result web_refuse(struct web_request *r, unsigned status, const char *text)
{
	web_answer_text(r, status, text);
	return r->result;
}

/* Resets the connection, as if we had died: an end of file might be taken for the
 * answer's. connect(2) to AF_UNSPEC dissolves the association, which resets it. */
static void reset_connection(struct web_request *r)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	(void)connect(web_fd(r), &none, sizeof(none));
}

/* The library asks for more of the answer. */
static ssize_t read_answer_part(void *cls, uint64_t pos, char *buf, size_t max)
{
	struct web_request *r = cls;

	(void)pos;
	web_daemon_again(r->daemon);
	ssize_t n = r->read(r->read_arg, buf, max);
	if (n > 0)
		return n;
	if (n == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == -EAGAIN) {
		r->asleep = r->deep = true;
		MHD_suspend_connection(r->connection);
		return 0;
	}
	reset_connection(r);
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* Whether a body follows the answer's head (RFC 9112, 6.3). */
static bool has_body(const struct web_request *r, unsigned status)
{
	return r->method != WEB_HEAD && status >= 200 &&
	       status != MHD_HTTP_NO_CONTENT && status != MHD_HTTP_NOT_MODIFIED;
}

void web_answer_stream(struct web_request *r, unsigned status, const char *type,
		       int64_t length,
		       ssize_t (*read)(void *arg, void *buf, size_t max), void *arg)
{
	r->read = read;
	r->read_arg = arg;
	struct MHD_Response *response = MHD_create_response_from_callback(
		length < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)length, WEB_STREAM_BYTES,
		read_answer_part, r, NULL);
	/* the library sends the final chunk even of a body that it does not send, which
	 * the client takes for the next answer: such an answer is not chunked, and
	 * closes the connection */
	if (response && length < 0 && !has_body(r, status))
		(void)MHD_set_response_options(
			response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	queue_response(r, status, type, response);
}

struct web *web_of(const struct web_request *r)
{
	return r->w;
}

const char *web_path(const struct web_request *r)
{
	return r->path;
}

enum web_method web_method(const struct web_request *r)
{
	return r->method;
}

const void *web_body(const struct web_request *r, size_t *ret_len)
{
	*ret_len = r->body.len;
	return r->body.data ? r->body.data : "";
}

void web_body_drop(struct web_request *r)
{
	web_body_free(r);
}

size_t web_listener(const struct web_request *r)
{
	return r->daemon->listener;
}

size_t web_loop(const struct web_request *r)
{
	return r->w->loop_count ? (size_t)(r->daemon - r->w->daemons) / r->w->count : 0;
}

int web_fd(const struct web_request *r)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

int web_local(const struct web_request *r, struct netaddr *ret)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (getsockname(web_fd(r), (struct sockaddr *)&ss, &len) < 0)
		return -errno;
	return netaddr_from((struct sockaddr *)&ss, ret);
}

void web_deadline(struct web_request *r, uint64_t ms)
{
	struct web_conn *conn = web_conn_of(r->connection);

	if (conn)
		web_conn_deadline(r->w->conns, conn, ms);
}

const char *web_target(const struct web_request *r)
{
	return r->target;
}

const char *web_header(struct web_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

struct header_search {
	struct web_header_values *values;
	size_t count;
};

static enum MHD_Result search_header(void *cls, enum MHD_ValueKind kind,
				     const char *name, size_t name_len,
				     const char *value, size_t value_len)
{
	const struct header_search *s = cls;

	(void)kind;
	(void)value_len;
	for (size_t i = 0; i < s->count; i++) {
		struct web_header_values *v = &s->values[i];
		if (v->len != name_len || strcasecmp(v->name, name) != 0)
			continue;
		if (!v->count++)
			v->first = value ? value : "";
	}
	return MHD_YES;
}

void web_headers(struct web_request *r, struct web_header_values *values, size_t count)
{
	struct header_search s = {values, count};

	for (size_t i = 0; i < count; i++) {
		values[i].len = strlen(values[i].name);
		values[i].first = NULL;
		values[i].count = 0;
	}
	MHD_get_connection_values_n(r->connection, MHD_HEADER_KIND, search_header, &s);
}

unsigned web_header_count(struct web_request *r, const char *name)
{
	struct web_header_values v = {.name = name};

	web_headers(r, &v, 1);
	return v.count;
}

const struct sockaddr *web_peer(struct web_request *r)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info ? info->client_addr : NULL;
}

uint64_t web_client_key(struct web_request *r)
{
	const struct web_conn *conn = web_conn_of(r->connection);
	uint64_t who = conn ? web_conn_who(conn) : 0;

	/* the lowest bit keeps the two kinds apart: both are chosen freely */
	return who ? who | 1 : conn ? web_conn_from(conn)->client << 1 : 0;
}

uint64_t web_client_network(struct web_request *r)
{
	const struct web_conn *conn = web_conn_of(r->connection);

	return conn ? web_conn_from(conn)->client : 0;
}

void web_proved(struct web_request *r, const char *kind, const char *name)
{
	struct web_conn *conn = web_conn_of(r->connection);
	char text[300];

	if (!conn || !name)
		return;
	size_t kind_len = strnlen(kind, sizeof(text));
	size_t name_len = strnlen(name, sizeof(text) - kind_len);
	memcpy(text, kind, kind_len);
	memcpy(text + kind_len, name, name_len);
	/* not secret: whoever could choose names has proved them */
	static const uint64_t key[2] = {0x636f6e6e65637473, 0x2073657276657220};
	uint64_t who = siphash13(key, text, kind_len + name_len);
	web_conn_prove(r->w->conns, conn, who ? who : 1);
}

gnutls_session_t web_tls(struct web_request *r)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		r->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return info ? info->tls_session : NULL;
}

bool web_tls_verified(struct web_request *r)
{
	const struct web_settings *s = web_conn_data(web_conn_of(r->connection));

	return s->config.client_auth == CLIENT_VERIFY_IF_GIVEN ||
	       s->config.client_auth == CLIENT_REQUIRE_VERIFY;
}

const char *web_password_user(struct web_request *r)
{
	char password[1024];

	if (!r->password || r->verdict != AUTH_GOOD)
		return NULL;
	if (*r->user)
		return r->user;
	int rc = web_auth_decode(
		MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
					    MHD_HTTP_HEADER_AUTHORIZATION),
		r->user, sizeof(r->user), password, sizeof(password));
	explicit_bzero(password, sizeof(password));
	return rc < 0 ? NULL : r->user;
}

void **web_state(struct web_request *r)
{
	return &r->state;
}

void web_sleep(struct web_request *r)
{
	r->result = MHD_YES;
	r->slept = r->asleep = r->deep = true;
	MHD_suspend_connection(r->connection);
}

void web_wake(struct web_request *r)
{
	struct web_daemon *d = r->daemon;

	if (r->naps) {
		web_nap_end(r);
		d->ready = true;
		return;
	}
	/* the library would apply it to the next sleep */
	if (!r->asleep)
		return;
	r->asleep = false;
	/* from here on the request may end */
	MHD_resume_connection(r->connection);
	web_daemon_wake(d);
}

void web_add_header(struct web_request *r, const char *name, const char *value)
{
	if (r->extra_count == WEB_EXTRA_MAX)
		return;
	r->extra[r->extra_count].name = name;
	r->extra[r->extra_count++].value = value;
}
