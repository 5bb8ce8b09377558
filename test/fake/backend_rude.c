/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server behind the load balancer that notes down what it is asked and answers as it
 * is told to, mostly badly. On loopback:
 *
 *	backend_rude CONTROL RECORD
 *
 * prints "ready PORT" and runs until its standard input ends. CONTROL holds one of
 *	ok                  an answer like Prometheus'; its one metric has the request
 *	slow MS, drip MS    the same after MS, or one byte every MS
 *	more, later         the same, and after it, at once or 50 ms later, another
 *	                    whole answer that nobody asked for ("POISON"); with later,
 *	                    CONTROL.late gets a line when that is sent
 *	raw FILE            these bytes, and the connection stays open
 *	close FILE          these bytes, then the connection is closed
 *	once                ok to the first request of a connection, nothing to others
 *	endless, heads      a body, or header lines, without end
 *	hang, drop, reset   no answer at all
 *	sick                health checks fail too (else they never do)
 * and is read for each request. RECORD gets one line each: the connection's number, the
 * request line, headers and body, with "|" between them. What is not one request of
 * the stated length is noted as BAD, bytes after one as EXTRA. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

struct asked {
	int fd;
	unsigned connection;
	struct buf in; /* what was read; the request is its first .len bytes */
	size_t head, len;
	bool answered;
	const char *control;
	int record;
};

static void sleep_ms(uint32_t ms)
{
	struct timespec ts = {.tv_sec = ms / 1000,
			      .tv_nsec = (long)(ms % 1000) * 1000000};
	nanosleep(&ts, NULL);
}

/* Printable ASCII stays; the rest, and what separates fields, is %XX. */
static void put_plain(struct buf *out, const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < 0x20 || c > 0x7e || c == '|')
			buf_printf(out, "%%%02X", c);
		else
			buf_putc(out, (char)c);
	}
}

static void note(struct asked *a, const char *what, size_t body)
{
	auto_buf struct buf line = BUF_INIT;
	const char *p = a->in.data, *end = p + a->head;

	buf_printf(&line, "%u %s", a->connection, what);
	while (p < end) {
		const char *eol = memmem(p, (size_t)(end - p), "\r\n", 2);
		const char *to = eol ? eol : end;

		if (to > p) {
			put_plain(&line, p, (size_t)(to - p));
			buf_putc(&line, '|');
		}
		p = eol ? eol + 2 : end;
	}
	put_plain(&line, a->in.data + a->head, body);
	buf_putc(&line, '\n');
	(void)fs_write_all(a->record, line.data, line.len);
}

/* The body's length by the head; SIZE_MAX: it does not say one thing */
static size_t body_length(const char *head, size_t len)
{
	static const char name[] = "\r\ncontent-length: ";
	const char *end = head + len, *found = NULL;
	uint64_t n = 0;

	for (const char *p = head; p + sizeof(name) < end; p++) {
		if (!strncasecmp(p, "\r\ntransfer-encoding", 19))
			return SIZE_MAX;
		if (strncasecmp(p, name, sizeof(name) - 1) != 0)
			continue;
		if (found)
			return SIZE_MAX;
		found = p + sizeof(name) - 1;
		const char *eol = memmem(found, (size_t)(end - found), "\r\n", 2);
		if (!eol || parse_u64_len(found, (size_t)(eol - found), &n))
			return SIZE_MAX;
	}
	return n > (16u << 20) ? SIZE_MAX : (size_t)n;
}

/* The next request whole into a->in: false when the connection has ended. */
static bool read_request(struct asked *a)
{
	size_t rest = a->in.len - a->len;

	if (rest)
		memmove(a->in.data, a->in.data + a->len, rest);
	buf_truncate(&a->in, rest);
	a->head = a->len = 0;
	for (;;) {
		if (!a->head && a->in.len) {
			char *p = memmem(a->in.data, a->in.len, "\r\n\r\n", 4);

			if (p) {
				a->head = (size_t)(p - a->in.data) + 4;
				size_t body = body_length(a->in.data, a->head);

				if (body == SIZE_MAX) {
					note(a, "BAD ", a->in.len - a->head);
					return false;
				}
				a->len = a->head + body;
			}
		}
		if (a->head && a->in.len >= a->len)
			return true;
		char *at = buf_reserve(&a->in, 65536);
		ssize_t n = at ? recv(a->fd, at, 65536, 0) : 0;

		if (n <= 0) {
			if (a->in.len) {
				a->head = a->in.len;
				note(a, "BAD cut ", 0);
			}
			return false;
		}
		buf_commit(&a->in, (size_t)n);
	}
}

static void put_answer(struct buf *out, const char *body, size_t len)
{
	buf_printf(out,
		   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		   "Content-Length: %zu\r\n\r\n",
		   len);
	buf_put(out, body, len);
}

static void put_metric(struct buf *out, const char *asked, size_t len)
{
	auto_buf struct buf body = BUF_INIT;

	buf_puts(&body, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","
			"\"result\":[{\"metric\":{\"asked\":");
	buf_put_json(&body, asked, len);
	buf_puts(&body, "},\"value\":[1,\"1\"]}]}}");
	put_answer(out, body.data, body.len);
}

static bool send_slowly(int fd, const struct buf *b, uint32_t ms)
{
	for (size_t i = 0; i < b->len; i++) {
		if (send(fd, b->data + i, 1, MSG_NOSIGNAL) != 1)
			return false;
		sleep_ms(ms);
	}
	return true;
}

static bool send_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool send_endless(int fd, bool heads)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n",
			  line[] = "X-More: aaaaaaaa\r\n",
			  body[] = "Content-Type: application/json\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";
	auto_buf struct buf one = BUF_INIT;

	buf_puts(&one, "8000\r\n");
	for (unsigned i = 0; i < 0x8000; i++)
		buf_putc(&one, ' ');
	buf_puts(&one, "\r\n");
	if (!send_all(fd, head, sizeof(head) - 1) ||
	    (!heads && !send_all(fd, body, sizeof(body) - 1)))
		return false;
	for (uint64_t i = 0; i < 1u << 20; i++)
		if (heads ? !send_all(fd, line, sizeof(line) - 1)
			  : !send_all(fd, one.data, one.len))
			return false;
	return false;
}

/* Until the other side closes, or for so long */
static void wait_end(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLRDHUP};

	(void)poll(&p, 1, ms);
}

static bool send_file(struct asked *a, const char *path, bool close_it)
{
	auto_buf struct buf bytes = BUF_INIT;

	if (fs_read_buf_at(AT_FDCWD, path, 16 << 20, &bytes, NULL) < 0)
		return false;
	return send_all(a->fd, bytes.data, bytes.len) && !close_it;
}

/* Answers one request: whether the connection goes on. */
static bool answer(struct asked *a)
{
	static const char poison[] = "{\"status\":\"success\",\"data\":\"POISON\"}",
			  build[] = "{\"status\":\"success\",\"data\":"
				    "{\"version\":\"2.42.0\"}}";
	auto_buf struct buf out = BUF_INIT;
	char text[512] = "ok", word[16];
	bool health = memmem(a->in.data, a->head, " /-/", 4) ||
		      memmem(a->in.data, a->head, " /ready", 7) ||
		      memmem(a->in.data, a->head, "/status/buildinfo", 17);
	ssize_t n = fs_read_at(AT_FDCWD, a->control, text, sizeof(text), NULL);

	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
	size_t len = strcspn(text, " ");
	const char *arg = text[len] ? text + len + 1 : "";
	uint32_t ms = 0;

	(void)snprintf(word, sizeof(word), "%.*s", (int)len, text);
	if (parse_u32(arg, &ms) < 0)
		ms = 0;
	if (!strcmp(word, "sick"))
		return false;
	if (health) {
		put_answer(&out, build, sizeof(build) - 1);
		return send_all(a->fd, out.data, out.len);
	}
	note(a, "", a->len - a->head);
	if (a->in.len > a->len)
		note(a, "EXTRA ", a->in.len - a->head);
	put_metric(&out, a->in.data + a->head, a->len - a->head);
	if (!strcmp(word, "slow"))
		sleep_ms(ms);
	if (!strcmp(word, "drip"))
		return send_slowly(a->fd, &out, ms);
	if (!strcmp(word, "raw") || !strcmp(word, "close"))
		return send_file(a, arg, word[0] == 'c');
	if (!strcmp(word, "endless") || !strcmp(word, "heads"))
		return send_endless(a->fd, word[0] == 'h');
	if (!strcmp(word, "hang"))
		return wait_end(a->fd, 60000), false;
	if (!strcmp(word, "drop"))
		return false;
	if (!strcmp(word, "reset")) {
		struct linger hard = {.l_onoff = 1};

		setsockopt(a->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		return false;
	}
	if (!strcmp(word, "once") && a->answered)
		return false;
	a->answered = true;
	if (!strcmp(word, "more"))
		put_answer(&out, poison, sizeof(poison) - 1);
	if (!send_all(a->fd, out.data, out.len))
		return false;
	if (strcmp(word, "later") != 0)
		return true;
	sleep_ms(50);
	buf_reset(&out);
	put_answer(&out, poison, sizeof(poison) - 1);
	bool sent = send_all(a->fd, out.data, out.len);
	(void)snprintf(text, sizeof(text), "%s.late", a->control);
	auto_close int late =
		open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return late >= 0 && fs_write_all(late, "\n", 1) == 0 && sent;
}

static void serve(struct asked *a)
{
	while (read_request(a) && answer(a))
		;
	shutdown(a->fd, SHUT_WR);
	wait_end(a->fd, 100);
	buf_done(&a->in);
}

static int listen_any(uint16_t *ret_port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    listen(fd, 1024) < 0 || getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	*ret_port = ntohs(sa.sin_port);
	return steal_fd(&fd);
}

int main(int argc, char **argv)
{
	unsigned connections = 0;
	uint16_t port = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: see test/fake/backend_rude.c\n");
		return 2;
	}
	auto_close int record =
		open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	auto_close int listener = listen_any(&port);

	if (record < 0 || listener < 0)
		return 1;
	signal(SIGCHLD, SIG_IGN); /* children are nobody's business */
	printf("ready %u\n", port);
	fflush(stdout);
	for (;;) {
		struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				     {.fd = listener, .events = POLLIN}};

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (p[0].revents)
			return 0;
		auto_close int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		connections++;
		if (fork() == 0) {
			struct asked a = {.fd = fd,
					  .connection = connections,
					  .control = argv[1],
					  .record = record};

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(listener);
			serve(&a);
			_exit(0);
		}
	}
}
