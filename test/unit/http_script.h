/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_HTTP_SCRIPT_H
#define CEEMS_TEST_HTTP_SCRIPT_H
/* The other side of an HTTP client: a loopback server whose every answer is bytes that
 * the test made up, so that it can be rude. One connection at a time. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/parse.h"
#include "test/unit/unit.h"

/* Puts the whole answer, status line and all, into out. false: hang up after it. */
typedef bool (*http_script_f)(void *arg, const char *request, struct buf *out);

struct http_script {
	int fd;
	char url[64]; /* http://127.0.0.1:PORT */
	http_script_f f;
	void *arg;
	pthread_t thread;
	atomic_bool stop;
	atomic_uint connections, requests;
};

static bool script_wait(struct http_script *s, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	while (!atomic_load(&s->stop)) {
		if (poll(&p, 1, 20) > 0)
			return true;
	}
	return false;
}

static size_t script_body_length(const char *head)
{
	const char *h = strcasestr(head, "\r\nContent-Length:");
	uint64_t n = 0;
	if (!h)
		return 0;
	h += strlen("\r\nContent-Length:");
	h += strspn(h, " ");
	return parse_u64_len(h, strspn(h, "0123456789"), &n) == 0 ? (size_t)n : 0;
}

static bool script_read(struct http_script *s, int fd, struct buf *in)
{
	for (;;) {
		const char *end = in->data ? strstr(in->data, "\r\n\r\n") : NULL;
		if (end && in->len >= (size_t)(end - in->data) + 4 +
					      script_body_length(in->data))
			return true;
		char data[4096];
		ssize_t n = script_wait(s, fd) ? read(fd, data, sizeof(data)) : 0;
		if (n <= 0)
			return false;
		buf_put(in, data, (size_t)n);
	}
}

static void script_serve(struct http_script *s, int fd)
{
	bool more = true;
	while (more) {
		auto_buf struct buf in = BUF_INIT, out = BUF_INIT;
		more = script_read(s, fd, &in);
		if (!more)
			break;
		atomic_fetch_add(&s->requests, 1);
		more = s->f(s->arg, in.data, &out);
		if (out.len &&
		    send(fd, out.data, out.len, MSG_NOSIGNAL) != (ssize_t)out.len)
			break;
	}
	close(fd);
}

static void *script_main(void *arg)
{
	struct http_script *s = arg;
	while (script_wait(s, s->fd)) {
		int fd = accept(s->fd, NULL, NULL);
		if (fd < 0)
			continue;
		atomic_fetch_add(&s->connections, 1);
		script_serve(s, fd);
	}
	return NULL;
}

static inline void http_script_start(struct http_script *s, http_script_f f, void *arg)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);
	memset(s, 0, sizeof(*s));
	s->f = f;
	s->arg = arg;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->fd >= 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s->fd, 16), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
	(void)snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u",
		       ntohs(a.sin_port));
	assert_int_equal(pthread_create(&s->thread, NULL, script_main, s), 0);
}

static inline void http_script_stop(struct http_script *s)
{
	atomic_store(&s->stop, true);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

/* An answer as servers give them */
static inline void http_script_put(struct buf *out, unsigned status,
				   const char *headers, const char *body)
{
	buf_printf(out, "HTTP/1.1 %u Text\r\n%sContent-Length: %zu\r\n\r\n%s", status,
		   headers, strlen(body), body);
}
#endif
