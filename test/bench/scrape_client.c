/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scrapes several servers in turn as Prometheus 2.42 does: kept connections, its
 *headers, gzip. In turn, so that all of them meet the same machine.
 *
 *	scrape_client ROUNDS NAME=PORT...
 *
 * One line per server: NAME p50_us p99_us bytes. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define SERVERS_MAX 8
#define WARM_UP 20

static const char request[] =
	"GET /metrics HTTP/1.1\r\n"
	"Host: localhost\r\n"
	"User-Agent: Prometheus/2.42.0\r\n"
	"Accept: "
	"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
	"version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n"
	"Accept-Encoding: gzip\r\n"
	"X-Prometheus-Scrape-Timeout-Seconds: 10\r\n\r\n";

struct server {
	char name[32];
	int fd;
	uint64_t *ns;
	size_t bytes;
};

static int connect_to(uint32_t port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return steal_fd(&fd);
}

/* Whether b holds a whole answer: by Content-Length, or by the last chunk. */
static bool whole(const struct buf *b)
{
	const char *body = b->len ? strstr(b->data, "\r\n\r\n") : NULL;
	const char *length =
		b->len ? strcasestr(b->data, "\r\ncontent-length: ") : NULL;
	uint64_t n;

	if (!body)
		return false;
	body += 4;
	if (length && length < body) {
		length += strlen("\r\ncontent-length: ");
		return scan_u64(&length, body, &n) == 0 &&
		       (size_t)(b->data + b->len - body) >= n;
	}
	return b->len >= 5 && memcmp(b->data + b->len - 5, "0\r\n\r\n", 5) == 0;
}

static int scrape(struct server *s, struct buf *b)
{
	buf_reset(b);
	if (fs_write_all(s->fd, request, sizeof(request) - 1) < 0)
		return -EPIPE;
	while (!whole(b)) {
		char *at = buf_reserve(b, 65536);
		ssize_t n = at ? recv(s->fd, at, 65536, 0) : -1;
		if (n <= 0)
			return -EPIPE;
		buf_commit(b, (size_t)n);
	}
	s->bytes = b->len;
	return strncmp(b->data, "HTTP/1.1 200 ", 13) == 0 ? 0 : -EPROTO;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int parse_server(const char *arg, uint32_t rounds, struct server *s)
{
	const char *eq = strchr(arg, '=');
	uint32_t port;

	if (!eq || (size_t)(eq - arg) >= sizeof(s->name) ||
	    parse_u32(eq + 1, &port) < 0)
		return -EINVAL;
	memcpy(s->name, arg, (size_t)(eq - arg));
	s->ns = calloc(rounds, sizeof(*s->ns));
	s->fd = s->ns ? connect_to(port) : -ENOMEM;
	return s->fd < 0 ? s->fd : 0;
}

int main(int argc, char **argv)
{
	struct server servers[SERVERS_MAX] = {{{0}, 0, NULL, 0}};
	uint32_t rounds;
	auto_buf struct buf b = BUF_INIT;
	int n = argc - 2;

	if (n < 1 || n > SERVERS_MAX || parse_u32(argv[1], &rounds) < 0 || !rounds) {
		fprintf(stderr, "usage: scrape_client ROUNDS NAME=PORT...\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		int rc = parse_server(argv[i + 2], rounds, &servers[i]);
		if (rc < 0) {
			fprintf(stderr, "%s: %s\n", argv[i + 2], strerror(-rc));
			return 1;
		}
	}
	for (uint32_t r = 0; r < rounds + WARM_UP; r++) {
		for (int i = 0; i < n; i++) {
			uint64_t start = clock_read_ns(CLOCK_MONOTONIC);
			int rc = scrape(&servers[i], &b);
			uint64_t took = clock_read_ns(CLOCK_MONOTONIC) - start;
			if (rc < 0) {
				fprintf(stderr, "%s: %s\n", servers[i].name,
					strerror(-rc));
				return 1;
			}
			if (r >= WARM_UP)
				servers[i].ns[r - WARM_UP] = took;
		}
	}
	for (int i = 0; i < n; i++) {
		struct server *s = &servers[i];
		qsort(s->ns, rounds, sizeof(*s->ns), by_value);
		printf("%s %.1f %.1f %zu\n", s->name, (double)s->ns[rounds / 2] / 1e3,
		       (double)s->ns[(size_t)rounds * 99 / 100] / 1e3, s->bytes);
		close(s->fd);
		free(s->ns);
	}
	return 0;
}
