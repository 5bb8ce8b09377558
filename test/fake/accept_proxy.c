/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A proxy that replaces the Accept header of each request: Prometheus 2.42 cannot be
 * told to ask for the text format.
 *
 *	accept_proxy PORT ACCEPT
 *
 * Forwards to 127.0.0.1:PORT, one request per connection. Prints "ready PORT". */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

static struct sockaddr_in loopback(uint32_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Appends what comes until it ends, or until end (a string) is in it. */
static bool receive(int fd, struct buf *b, const char *end)
{
	for (;;) {
		char *at = buf_reserve(b, 65536);
		ssize_t n = at ? recv(fd, at, 65536, 0) : -1;
		if (n < 0)
			return false;
		if (n == 0)
			return !end;
		buf_commit(b, (size_t)n);
		if (end && strstr(b->data, end))
			return true;
	}
}

/* The request's head with our Accept, and without keeping the connection. */
static void rewrite(const struct buf *in, const char *accept, struct buf *out)
{
	const char *p = in->data, *end = p + in->len, *line;
	size_t len;

	while (scan_line(&p, end, &line, &len) && len > 1) {
		if (strncasecmp(line, "Accept:", 7) == 0 ||
		    strncasecmp(line, "Connection:", 11) == 0)
			continue;
		buf_put(out, line, len);
		buf_putc(out, '\n');
	}
	buf_printf(out, "Accept: %s\r\nConnection: close\r\n\r\n", accept);
}

static void forward(int client, uint32_t port, const char *accept)
{
	auto_buf struct buf in = BUF_INIT, request = BUF_INIT, answer = BUF_INIT;
	struct sockaddr_in sa = loopback(port);
	auto_close int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (server < 0 || !receive(client, &in, "\r\n\r\n") ||
	    connect(server, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return;
	rewrite(&in, accept, &request);
	if (fs_write_all(server, request.data, request.len) == 0 &&
	    receive(server, &answer, NULL) && answer.len)
		(void)!fs_write_all(client, answer.data, answer.len);
}

int main(int argc, char **argv)
{
	uint32_t port;
	struct sockaddr_in sa = loopback(0);
	socklen_t len = sizeof(sa);

	if (argc != 3 || parse_u32(argv[1], &port) < 0) {
		fprintf(stderr, "usage: accept_proxy PORT ACCEPT\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    listen(fd, 16) < 0 || getsockname(fd, (struct sockaddr *)&sa, &len) < 0) {
		fprintf(stderr, "accept_proxy: %s\n", strerror(errno));
		return 1;
	}
	printf("ready %u\n", ntohs(sa.sin_port));
	fflush(stdout);
	for (;;) {
		auto_close int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (client >= 0)
			forward(client, port, argv[2]);
	}
}
