/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/k8s/grpc_unix.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/parse.h"

#define READ_BYTES 65536u
#define READS_MAX 16u /* at a time: others wait for us, too */
#define HEAD_BYTES 5u /* of a message: compressed or not, its length */
#define WINDOW_BYTES (1 << 20)

struct grpc_unix {
	struct loop_watch watch; /* first */
	struct loop *loop;
	struct grpc_call call;
	nghttp2_session *session;
	int fd;
	uint32_t events;
	int32_t stream;
	bool request_sent, over;
	unsigned http_status;
	int status;  /* grpc-status; -1: not known yet */
	int failure; /* of the body: negative errno */
	struct grpc_body body;
};

/* ---- messages -------------------------------------------------------------------- */

void grpc_body_done(struct grpc_body *b)
{
	free(b->data);
	*b = (struct grpc_body){0};
}

static int begin_message(struct grpc_body *b, const struct grpc_call *call)
{
	size_t want = (size_t)b->head[1] << 24 | (size_t)b->head[2] << 16 |
		      (size_t)b->head[3] << 8 | b->head[4];

	if (b->head[0])
		return -EPROTO;
	if (want > call->message_max)
		return -EFBIG;
	b->data = malloc(want ? want : 1);
	b->want = want;
	b->len = 0;
	return b->data ? 0 : -ENOMEM;
}

static int end_message(struct grpc_body *b, const struct grpc_call *call)
{
	bool more = call->message(call->arg, b->data, b->len);

	grpc_body_done(b);
	return more ? 0 : -ECANCELED;
}

int grpc_body_take(struct grpc_body *b, const struct grpc_call *call,
		   const unsigned char *data, size_t len)
{
	int rc = 0;

	while (rc == 0 && (len || (b->data && b->len == b->want))) {
		size_t room = b->data ? b->want - b->len : HEAD_BYTES - b->head_len;
		size_t n = len < room ? len : room;
		memcpy(b->data ? b->data + b->len : b->head + b->head_len, data, n);
		data += n;
		len -= n;
		if (!b->data) {
			b->head_len += n;
			if (b->head_len == HEAD_BYTES)
				rc = begin_message(b, call);
		} else {
			b->len += n;
			if (b->len == b->want)
				rc = end_message(b, call);
		}
	}
	return rc;
}

/* ---- nghttp2 asks ---------------------------------------------------------------- */

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *buf,
			    size_t len, uint32_t *flags, nghttp2_data_source *source,
			    void *arg)
{
	(void)session;
	(void)stream;
	(void)arg;
	struct grpc_unix *g = source->ptr;
	if (len < HEAD_BYTES)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	memset(buf, 0, HEAD_BYTES); /* an empty message */
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	g->request_sent = true;
	return HEAD_BYTES;
}

static int take_data(nghttp2_session *session, uint8_t flags, int32_t stream,
		     const uint8_t *data, size_t len, void *arg)
{
	struct grpc_unix *g = arg;

	(void)session;
	(void)flags;
	if (stream != g->stream || g->http_status != 200)
		return 0;
	g->failure = grpc_body_take(&g->body, &g->call, data, len);
	return g->failure < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static bool is_header(const uint8_t *name, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(name, want, len) == 0;
}

static int take_head_line(nghttp2_session *session, const nghttp2_frame *frame,
			  const uint8_t *name, size_t name_len, const uint8_t *value,
			  size_t len, uint8_t flags, void *arg)
{
	struct grpc_unix *g = arg;
	uint64_t number;

	(void)session;
	(void)flags;
	if (frame->hd.stream_id != g->stream ||
	    parse_u64_len((const char *)value, len, &number) < 0 || number > 999)
		return 0;
	if (is_header(name, name_len, ":status"))
		g->http_status = (unsigned)number;
	else if (is_header(name, name_len, "grpc-status"))
		g->status = (int)number;
	return 0;
}

static int take_stream_end(nghttp2_session *session, int32_t stream, uint32_t code,
			   void *arg)
{
	struct grpc_unix *g = arg;

	(void)session;
	(void)code;
	g->over |= stream == g->stream;
	return 0;
}

static int begin_session(struct grpc_unix *g)
{
	nghttp2_session_callbacks *cb;
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES},
	};

	if (nghttp2_session_callbacks_new(&cb) != 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, take_data);
	nghttp2_session_callbacks_set_on_header_callback(cb, take_head_line);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, take_stream_end);
	int rc = nghttp2_session_client_new(&g->session, cb, g);
	nghttp2_session_callbacks_del(cb);
	if (rc != 0 ||
	    nghttp2_submit_settings(g->session, NGHTTP2_FLAG_NONE, settings, 2) != 0 ||
	    nghttp2_session_set_local_window_size(g->session, NGHTTP2_FLAG_NONE, 0,
						  WINDOW_BYTES) != 0)
		return -ENOMEM;
	return 0;
}

#define LINE(name_, value_, len_)                                                      \
	{                                                                              \
		(uint8_t *)(name_), (uint8_t *)(value_), sizeof(name_) - 1, len_,      \
			NGHTTP2_NV_FLAG_NONE                                           \
	}

static int submit_call(struct grpc_unix *g)
{
	const char *method = g->call.method;
	const nghttp2_data_provider body = {.source.ptr = g,
					    .read_callback = read_request};
	const nghttp2_nv lines[] = {
		LINE(":method", "POST", 4),
		LINE(":scheme", "http", 4),
		LINE(":path", method, strlen(method)),
		LINE(":authority", "localhost", 9),
		LINE("content-type", "application/grpc", 16),
		LINE("te", "trailers", 8),
		LINE("user-agent", "ceems/" CEEMS_VERSION, 6 + strlen(CEEMS_VERSION)),
	};

	g->stream = nghttp2_submit_request(g->session, NULL, lines, 7, &body, NULL);
	return g->stream < 0 ? -ENOMEM : 0;
}

/* ---- the socket ------------------------------------------------------------------ */

/* The call is over: nothing may be done with g after it. */
static void end_grpc_call(struct grpc_unix *g, int failure, const char *what)
{
	struct grpc_call call = g->call;
	struct err err = {""};
	int status = g->status;

	if (failure < 0)
		status = err_set(&err, failure, "%s: %s: %s", call.socket, call.method,
				 what ? what : strerror(-failure));
	else if (g->http_status != 200 || status < 0)
		status = err_set(&err, -EPROTO, "%s: %s: no answer of gRPC",
				 call.socket, call.method);
	grpc_unix_free(g);
	call.end(call.arg, status, &err);
}

static int send_bytes(struct grpc_unix *g)
{
	for (unsigned i = 0; i < READS_MAX; i++) {
		const uint8_t *data;
		ssize_t len = nghttp2_session_mem_send(g->session, &data);
		if (len < 0)
			return -EPROTO;
		if (len == 0)
			return 0;
		/* a few hundred bytes in all: they fit, or nobody reads */
		ssize_t n = send(g->fd, data, (size_t)len, MSG_NOSIGNAL);
		if (n != len)
			return n < 0 ? -errno : -EAGAIN;
	}
	return 0;
}

/* 1: there may be more; 0: not now. */
static int read_bytes(struct grpc_unix *g)
{
	static unsigned char data[READ_BYTES]; /* of the one thread */
	ssize_t n = recv(g->fd, data, sizeof(data), 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	ssize_t used = nghttp2_session_mem_recv(g->session, data, (size_t)n);
	if (used < 0)
		return g->failure < 0 ? g->failure : -EPROTO;
	return n == sizeof(data);
}

static void take_ready(struct loop_watch *w, uint32_t events)
{
	struct grpc_unix *g = (void *)w;
	int rc = 1;

	(void)events;
	for (unsigned i = 0; i < READS_MAX && rc == 1 && !g->over; i++)
		rc = read_bytes(g);
	if (rc >= 0)
		rc = send_bytes(g) < 0 ? -ECONNRESET : 0;
	/* what came is not HTTP/2: nghttp2 has said goodbye */
	if (rc == 0 && !g->over && !nghttp2_session_want_read(g->session) &&
	    !nghttp2_session_want_write(g->session))
		rc = -EPROTO;
	if (g->over)
		end_grpc_call(g, 0, NULL);
	else if (rc < 0)
		end_grpc_call(g, rc, NULL);
}

static int connect_socket(const char *path, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	auto_close int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_set(err, -errno, "a socket: %s", strerror(errno));
	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", path);
	memcpy(a.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return steal_fd(&fd);
}

int grpc_unix_start(struct loop *l, const struct grpc_call *call,
		    struct grpc_unix **ret, struct err *err)
{
	int fd = connect_socket(call->socket, err);

	if (fd < 0)
		return fd;
	struct grpc_unix *g = calloc(1, sizeof(*g));
	if (!g) {
		close(fd);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*g = (struct grpc_unix){
		.loop = l, .call = *call, .fd = fd, .status = -1, .stream = -1};
	g->watch.ready = take_ready;
	int rc = begin_session(g);
	if (rc == 0)
		rc = submit_call(g);
	if (rc == 0)
		rc = send_bytes(g);
	if (rc == 0)
		rc = loop_watch(l, fd, EPOLLIN, &g->watch);
	if (rc < 0) {
		close(fd);
		nghttp2_session_del(g->session);
		free(g);
		return err_set(err, rc, "%s: %s", call->socket, strerror(-rc));
	}
	*ret = g;
	return 0;
}

void grpc_unix_free(struct grpc_unix *g)
{
	if (!g)
		return;
	loop_forget(g->loop, g->fd, &g->watch);
	close(g->fd);
	nghttp2_session_del(g->session);
	grpc_body_done(&g->body);
	free(g);
}
