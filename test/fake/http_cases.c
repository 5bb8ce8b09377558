/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many rude HTTP clients at once, each with a connection of its own:
 *
 *	http_cases [--wait S] PORT < cases
 *
 * A case is a line: a name, a tab, and the bytes to send, in which \r \n \t \\ \0 and
 * \xHH mean what they do in C. Prints a line for each, in the given order: the name, a
 * tab, the status codes that came back and how it ended, such as "200 400 closed", or
 * "open" if nothing more came for S seconds (2). All bytes are sent at once. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/parse.h"

#define AT_ONCE 64u
#define CASES_MAX 4096u

struct one {
	char *name, *bytes;
	size_t len, sent;
	int fd;
	struct buf out;
	uint64_t last_ns;
	const char *how; /* NULL: still going on */
};

static int hex_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* In place; the new length */
static size_t unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (*p != '\\' || !p[1]) {
			*to++ = *p;
			continue;
		}
		p++;
		if (*p == 'x' && hex_of(p[1]) >= 0 && hex_of(p[2]) >= 0) {
			*to++ = (char)(hex_of(p[1]) * 16 + hex_of(p[2]));
			p += 2;
			continue;
		}
		*to++ = *p == 'r'   ? '\r'
			: *p == 'n' ? '\n'
			: *p == 't' ? '\t'
			: *p == '0' ? '\0'
				    : *p;
	}
	return (size_t)(to - text);
}

static size_t read_cases(char *text, struct one *cases)
{
	size_t n = 0;

	for (char *save = NULL, *line = strtok_r(text, "\n", &save);
	     line && n < CASES_MAX; line = strtok_r(NULL, "\n", &save)) {
		char *tab = strchr(line, '\t');

		if (!tab)
			continue;
		*tab = '\0';
		cases[n] = (struct one){.name = line, .bytes = tab + 1, .fd = -1};
		cases[n].len = unescape(tab + 1);
		n++;
	}
	return n;
}

static void begin(struct one *c, uint32_t port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	c->last_ns = clock_boottime_ns();
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		c->how = "unconnected";
	else
		fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

static void step(struct one *c, short events)
{
	if (events & POLLOUT && c->sent < c->len) {
		ssize_t n =
			send(c->fd, c->bytes + c->sent, c->len - c->sent, MSG_NOSIGNAL);

		if (n > 0)
			c->sent += (size_t)n;
		else if (errno != EAGAIN)
			c->sent = c->len; /* what came back still counts */
		c->last_ns = clock_boottime_ns();
	}
	if (!(events & (POLLIN | POLLHUP | POLLERR)))
		return;
	char *at = buf_reserve(&c->out, 65536);
	ssize_t n = at ? recv(c->fd, at, 65536, 0) : 0;

	if (n > 0) {
		buf_commit(&c->out, (size_t)n);
		c->last_ns = clock_boottime_ns();
	} else if (n == 0 || errno != EAGAIN) {
		c->how = "closed";
	}
}

static void end(struct one *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void print(const struct one *c)
{
	static const char mark[] = "HTTP/1.1 ";
	const char *p = c->out.data, *last = p + c->out.len;

	printf("%s\t", c->name);
	while (p && (p = memmem(p, (size_t)(last - p), mark, sizeof(mark) - 1))) {
		p += sizeof(mark) - 1;
		printf("%.3s ", p);
	}
	printf("%s\n", c->how);
}

/* One round over those that are open: at most AT_ONCE of them */
static void turn(struct one **open, size_t n, uint64_t wait_ns)
{
	struct pollfd p[AT_ONCE];

	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){
			.fd = open[i]->fd,
			.events =
				(short)(POLLIN |
					(open[i]->sent < open[i]->len ? POLLOUT : 0))};
	if (poll(p, n, 50) < 0)
		return;
	uint64_t now_ns = clock_boottime_ns();
	for (size_t i = 0; i < n; i++) {
		if (p[i].revents)
			step(open[i], p[i].revents);
		else if (now_ns - open[i]->last_ns > wait_ns)
			open[i]->how = "open";
	}
}

static void run(struct one *cases, size_t count, uint32_t port, uint64_t wait_ns)
{
	struct one *open[AT_ONCE];
	size_t n = 0, next = 0;

	while (n || next < count) {
		while (n < AT_ONCE && next < count) {
			begin(&cases[next], port);
			open[n++] = &cases[next++];
		}
		turn(open, n, wait_ns);
		for (size_t i = n; i-- > 0;) {
			if (!open[i]->how)
				continue;
			end(open[i]);
			open[i] = open[--n];
		}
	}
}

int main(int argc, char **argv)
{
	auto_buf struct buf in = BUF_INIT;
	uint32_t port = 0, wait_s = 2;
	bool wait = argc == 4 && !strcmp(argv[1], "--wait") &&
		    parse_u32(argv[2], &wait_s) == 0;

	if (argc != (wait ? 4 : 2) || parse_u32(argv[argc - 1], &port) < 0) {
		fprintf(stderr, "usage: see test/fake/http_cases.c\n");
		return 2;
	}
	for (;;) {
		char *at = buf_reserve(&in, 65536);
		ssize_t got = at ? read(STDIN_FILENO, at, 65536) : 0;

		if (got <= 0)
			break;
		buf_commit(&in, (size_t)got);
	}
	auto_free struct one *cases = calloc(CASES_MAX, sizeof(*cases));

	if (!cases || !in.data)
		return 1;
	size_t count = read_cases(in.data, cases);

	run(cases, count, port, wait_s * NSEC_PER_SEC);
	for (size_t i = 0; i < count; i++) {
		print(&cases[i]);
		buf_done(&cases[i].out);
	}
	return 0;
}
