/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An HTTP client without manners: sends its standard input as it is, whatever it holds,
 * and prints the status codes that came back and how it ended.
 *
 *	http_rude [--slow MS] [--wait S] [--deaf S] [--from N] [--fin 1] PORT < bytes
 *
 * --slow: one byte every MS; --deaf: takes no answer for S seconds; --wait: gives up
 * after S (10); --from: its address is 127.0.0.N; --fin: closes its sending side with
 * the last byte, in one segment. Prints for example "200 200 closed", "closed" or
 * "408 open". Exit status 0 unless it cannot connect. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/parse.h"

struct rude {
	uint32_t port, slow_ms, wait_s, deaf_s, from, fin;
};

static void sleep_ms(uint32_t ms)
{
	struct timespec ts = {.tv_sec = ms / 1000,
			      .tv_nsec = (long)(ms % 1000) * 1000000};
	nanosleep(&ts, NULL);
}

static int parse_args(int argc, char **argv, struct rude *r)
{
	*r = (struct rude){.wait_s = 10};
	int i = 1;
	for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
		uint32_t *to = strcmp(argv[i], "--slow") == 0   ? &r->slow_ms
			       : strcmp(argv[i], "--wait") == 0 ? &r->wait_s
			       : strcmp(argv[i], "--deaf") == 0 ? &r->deaf_s
			       : strcmp(argv[i], "--from") == 0 ? &r->from
			       : strcmp(argv[i], "--fin") == 0  ? &r->fin
								: NULL;
		if (!to || parse_u32(argv[i + 1], to) < 0)
			return -EINVAL;
	}
	return i + 1 == argc ? parse_u32(argv[i], &r->port) : -EINVAL;
}

static int connect_to(uint32_t port, uint32_t from)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int small = 4096;
	if (fd < 0)
		return -errno;
	/* what is not taken shall soon fill the server's side */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	struct sockaddr_in own = {.sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(0x7f000000 | from)};
	if (from && bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	return steal_fd(&fd);
}

static bool send_all(int fd, const struct rude *r, const struct buf *in)
{
	size_t step = r->slow_ms ? 1 : in->len;
	for (size_t at = 0; at < in->len;) {
		size_t n = in->len - at < step ? in->len - at : step;
		ssize_t sent = send(fd, in->data + at, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		at += (size_t)sent;
		if (r->slow_ms && at < in->len) {
			struct pollfd p = {.fd = fd, .events = POLLRDHUP};
			if (poll(&p, 1, (int)r->slow_ms) > 0)
				return false;
		}
	}
	return true;
}

/* Prints each status code of the answers in out. */
static void print_codes(const struct buf *out)
{
	const char *p = out->data, *end = p + out->len;
	static const char mark[] = "HTTP/1.1 ";
	while (p && (p = memmem(p, (size_t)(end - p), mark, sizeof(mark) - 1))) {
		p += sizeof(mark) - 1;
		printf("%.3s ", p);
	}
}

int main(int argc, char **argv)
{
	struct rude r;
	auto_buf struct buf in = BUF_INIT, out = BUF_INIT;
	if (parse_args(argc, argv, &r) < 0) {
		fprintf(stderr, "usage: see test/fake/http_rude.c\n");
		return 2;
	}
	for (;;) {
		char *at = buf_reserve(&in, 65536);
		ssize_t n = at ? read(STDIN_FILENO, at, 65536) : 0;
		if (n <= 0)
			break;
		buf_commit(&in, (size_t)n);
	}
	auto_close int fd = connect_to(r.port, r.from);
	if (fd < 0) {
		fprintf(stderr, "connect to port %u: %s\n", r.port, strerror(-fd));
		return 1;
	}
	const int fin = (int)r.fin;
	setsockopt(fd, IPPROTO_TCP, TCP_CORK, &fin, sizeof(fin));
	send_all(fd, &r, &in);
	if (r.fin)
		shutdown(fd, SHUT_WR);
	sleep_ms(r.deaf_s * 1000);
	const char *how = "open";
	uint64_t end_ns = clock_boottime_ns() + r.wait_s * NSEC_PER_SEC;
	while (clock_boottime_ns() < end_ns) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (poll(&p, 1, 100) <= 0)
			continue;
		char *at = buf_reserve(&out, 65536);
		ssize_t n = at ? recv(fd, at, 65536, 0) : 0;
		if (n <= 0) {
			how = "closed";
			break;
		}
		buf_commit(&out, (size_t)n);
	}
	if (out.data)
		print_codes(&out);
	printf("%s\n", how);
	return 0;
}
