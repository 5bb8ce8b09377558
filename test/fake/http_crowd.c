/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many greedy HTTP clients: each sends standard input and then zeros, and keeps its
 * connection for as long as it may.
 *
 *	http_crowd [--count N] [--zeros BYTES] [--from N] [--spread 1] [--again MS] PORT
 *
 * --from: the address is 127.9.0.N, with --spread each client has the next one;
 * --again: connects again after a connection was closed, at most once in so many ms.
 * Prints "ready" when all of them have sent what is read at once, and runs until it is
 * killed. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "test/number_flags.h"

#define CROWD_MAX 4096
#define QUIET_MS 300  /* nothing more is taken: ready */
#define READY_MS 2000 /* or there is no end of it */
#define ROUND_MS 20

struct crowd {
	uint32_t port, count, zeros, from, spread, again;
	struct buf head;
};

struct client {
	int fd;
	size_t sent; /* of head and zeros */
};

static int parse_args(int argc, char **argv, struct crowd *c)
{
	const struct number_flag flags[] = {
		{"--count", &c->count},   {"--zeros", &c->zeros}, {"--from", &c->from},
		{"--spread", &c->spread}, {"--again", &c->again},
	};
	int rc = number_flags_read(argc, argv, flags, sizeof(flags) / sizeof(flags[0]),
				   &c->port);

	return rc == 0 && c->count > CROWD_MAX ? -EINVAL : rc;
}

static void open_client(const struct crowd *c, uint32_t number, struct client *k)
{
	const uint32_t net = 0x7f090000;
	struct sockaddr_in own = {.sin_family = AF_INET};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)c->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	auto_close int fd =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	own.sin_addr.s_addr =
		htonl(net + (c->from ? c->from : 1) + (c->spread ? number : 0));
	k->fd = -1;
	k->sent = 0;
	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0)
		return;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		return;
	k->fd = steal_fd(&fd);
}

/* Whether it could send something. */
static bool send_some(const struct crowd *c, struct client *k)
{
	static const char zeros[65536];
	bool moved = false;

	for (;;) {
		size_t left = c->head.len + c->zeros - k->sent;
		bool head = k->sent < c->head.len;
		const char *at = head ? c->head.data + k->sent : zeros;
		size_t n = head                   ? c->head.len - k->sent
			   : left > sizeof(zeros) ? sizeof(zeros)
						  : left;
		ssize_t sent = n ? send(k->fd, at, n, MSG_NOSIGNAL) : 0;
		if (sent <= 0)
			return moved;
		k->sent += (size_t)sent;
		moved = true;
	}
}

/* Whether anything moved. */
static bool serve_client(const struct crowd *c, uint32_t number, struct client *k,
			 short events)
{
	char dump[4096];

	if (k->fd >= 0 && events & POLLIN) {
		ssize_t n = recv(k->fd, dump, sizeof(dump), 0);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			events |= POLLERR;
	}
	if (k->fd >= 0 && events & (POLLERR | POLLHUP)) {
		close(k->fd);
		k->fd = -1;
		if (c->again)
			open_client(c, number, k);
		return false;
	}
	return k->fd >= 0 && events & POLLOUT && send_some(c, k);
}

static void run_crowd(const struct crowd *c, struct client *clients, struct pollfd *fds)
{
	uint32_t quiet_ms = 0;
	uint64_t began_ns = clock_boottime_ns();
	bool ready = false;

	for (;;) {
		bool moved = false;
		for (uint32_t i = 0; i < c->count; i++) {
			const struct client *k = &clients[i];
			bool more = k->sent < c->head.len + c->zeros;
			fds[i] = (struct pollfd){
				.fd = k->fd,
				.events = (short)(POLLIN | (more ? POLLOUT : 0))};
		}
		poll(fds, c->count, ROUND_MS);
		for (uint32_t i = 0; i < c->count; i++)
			moved |= serve_client(c, i, &clients[i], fds[i].revents);
		usleep(1000 * (ready && c->again > ROUND_MS ? c->again : ROUND_MS / 4));
		quiet_ms = moved ? 0 : quiet_ms + ROUND_MS;
		bool enough = clock_boottime_ns() - began_ns > READY_MS * NSEC_PER_MSEC;
		if (!ready && (enough || quiet_ms >= QUIET_MS)) {
			ready = true;
			printf("ready\n");
			fflush(stdout);
		}
	}
}

int main(int argc, char **argv)
{
	struct crowd c = {.count = 1, .head = BUF_INIT};
	struct rlimit l;

	if (parse_args(argc, argv, &c) < 0) {
		fprintf(stderr, "usage: see test/fake/http_crowd.c\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
	for (;;) {
		char *at = buf_reserve(&c.head, 65536);
		ssize_t n = at ? read(STDIN_FILENO, at, 65536) : 0;
		if (n <= 0)
			break;
		buf_commit(&c.head, (size_t)n);
	}
	struct client *clients = calloc(c.count, sizeof(*clients));
	struct pollfd *fds = calloc(c.count, sizeof(*fds));
	if (!clients || !fds)
		return 1;
	for (uint32_t i = 0; i < c.count; i++)
		open_client(&c, i, &clients[i]);
	run_crowd(&c, clients, fds);
}
