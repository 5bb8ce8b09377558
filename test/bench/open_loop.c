/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An HTTP client that asks when it is time to ask, whatever became of what it asked
 * before: a server that stands still costs it each request that was due meanwhile.
 *
 *	open_loop --seconds S --rate N [--from N] PORT      N requests a second
 *	open_loop --seconds S --clients N [--from N] PORT   N that ask again at once
 *	open_loop --seconds S --clients N --once 1 PORT     until each was asked once
 *
 * Requests come by standard input, a NUL behind each, and are sent in turn on kept
 * connections, of which there are 16 at most in the first form: what is due waits for
 * one; --from: of 127.7.0.N. A connection that ends before a byte of the answer
 * is there is made anew, as browsers and Prometheus do. Prints "asked N good N per_s N
 * p50_us N p99_us N", good: 200, whole; times: since it was due. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "test/number_flags.h"

#define CONNS_MAX 1024u
#define POOL_MAX 16u
#define REQUESTS_MAX 65536u
#define HEAD_MAX 16384
#define LATE_NS (20 * NSEC_PER_SEC) /* so long is waited for the last answers */

struct conn {
	int fd; /* -1: there is none */
	bool busy, fresh;
	uint64_t due_ns;
	const char *request;
	size_t len, sent;
	char head[HEAD_MAX + 1];
	size_t got; /* of the head, until it is whole */
	bool in_body, chunked, closes, good;
	uint64_t left; /* of a body whose length is known */
	char tail[5];  /* the last bytes of one in chunks */
};

struct bench {
	uint32_t seconds, rate, clients, from, once, port;
	struct buf text;
	const char *requests[REQUESTS_MAX];
	size_t request_count, next;
	struct conn conns[CONNS_MAX];
	uint64_t *due; /* that wait for a connection */
	size_t due_count, due_first;
	uint64_t *took_ns;
	size_t asked, over, good, most;
};

static int parse_args(int argc, char **argv, struct bench *b)
{
	const struct number_flag flags[] = {{"--seconds", &b->seconds},
					    {"--rate", &b->rate},
					    {"--clients", &b->clients},
					    {"--from", &b->from},
					    {"--once", &b->once}};
	int rc = number_flags_read(argc, argv, flags, sizeof(flags) / sizeof(flags[0]),
				   &b->port);

	if (rc == 0 &&
	    (!b->seconds || !b->rate == !b->clients || b->clients > CONNS_MAX))
		rc = -EINVAL;
	return rc;
}

static int read_requests(struct bench *b)
{
	for (;;) {
		char *at = buf_reserve(&b->text, 65536);
		ssize_t n = at ? read(STDIN_FILENO, at, 65536) : 0;
		if (n <= 0)
			break;
		buf_commit(&b->text, (size_t)n);
	}
	for (size_t i = 0; i < b->text.len && b->request_count < REQUESTS_MAX;) {
		const char *r = b->text.data + i;
		b->requests[b->request_count++] = r;
		i += strlen(r) + 1;
	}
	return b->request_count ? 0 : -EINVAL;
}

static void open_conn(const struct bench *b, struct conn *c)
{
	struct sockaddr_in own = {.sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(0x7f070000 + b->from)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)b->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	auto_close int fd =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	c->fd = -1;
	c->fresh = true;
	if (fd < 0 || (b->from && bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0))
		return;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		return;
	c->fd = steal_fd(&fd);
}

static void close_conn(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void end_request(struct bench *b, struct conn *c, bool good)
{
	if (good && b->good < b->most)
		b->took_ns[b->good++] = clock_read_ns(CLOCK_MONOTONIC) - c->due_ns;
	b->over++;
	c->busy = false;
	if (!good || c->closes)
		close_conn(c);
	c->fresh = false;
}

/* The same request from its beginning. */
static void begin_request(struct conn *c)
{
	c->sent = c->got = 0;
	c->in_body = c->chunked = c->closes = c->good = false;
	c->left = 0;
	memset(c->tail, 0, sizeof(c->tail));
}

static void give_request(struct bench *b, struct conn *c, uint64_t due_ns)
{
	c->busy = true;
	c->due_ns = due_ns;
	c->request = b->requests[b->next++ % b->request_count];
	c->len = strlen(c->request);
	begin_request(c);
	if (c->fd < 0)
		open_conn(b, c);
	if (c->fd < 0)
		end_request(b, c, false);
}

/* Of the whole head. */
static void read_head(struct conn *c)
{
	const char *length = strcasestr(c->head, "\r\ncontent-length:");

	c->in_body = true;
	c->good = strncmp(c->head, "HTTP/1.1 200", 12) == 0;
	c->closes = strcasestr(c->head, "\r\nconnection: close") != NULL;
	c->chunked = strcasestr(c->head, "\r\ntransfer-encoding: chunked") != NULL;
	if (length)
		c->left = strtoull(length + 17, NULL, 10);
}

/* Whether the answer is whole. */
static bool take_body(struct conn *c, const char *data, size_t len)
{
	if (!c->chunked) {
		c->left -= len < c->left ? len : c->left;
		return c->left == 0;
	}
	for (size_t i = len > 5 ? len - 5 : 0; i < len; i++) {
		memmove(c->tail, c->tail + 1, 4);
		c->tail[4] = data[i];
	}
	return memcmp(c->tail, "0\r\n\r\n", 5) == 0;
}

static bool take_bytes(struct conn *c, const char *data, size_t len)
{
	if (c->in_body)
		return take_body(c, data, len);
	size_t n = len < HEAD_MAX - c->got ? len : HEAD_MAX - c->got;
	memcpy(c->head + c->got, data, n);
	c->got += n;
	c->head[c->got] = '\0';
	char *end = strstr(c->head, "\r\n\r\n");
	if (!end)
		return false;
	size_t more = c->got - (size_t)(end + 4 - c->head);
	end[2] = '\0';
	read_head(c);
	return take_body(c, end + 4, more);
}

static void serve_conn(struct bench *b, struct conn *c, short events)
{
	static char data[65536];

	if (events & POLLOUT && c->sent < c->len) {
		ssize_t n = send(c->fd, c->request + c->sent, c->len - c->sent,
				 MSG_NOSIGNAL);
		c->sent += n > 0 ? (size_t)n : 0;
	}
	if (!(events & (POLLIN | POLLERR | POLLHUP)))
		return;
	ssize_t n = recv(c->fd, data, sizeof(data), 0);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0) {
		if (take_bytes(c, data, (size_t)n))
			end_request(b, c, c->good);
		return;
	}
	bool again = !c->fresh && !c->got && !c->in_body;
	close_conn(c);
	if (again) {
		begin_request(c);
		open_conn(b, c);
	}
	if (c->fd < 0)
		end_request(b, c, false);
}

/* Those that are due to connections that are free, the one used last first. */
static void give_all(struct bench *b)
{
	for (size_t i = 0; i < POOL_MAX && b->due_first < b->due_count; i++) {
		if (!b->conns[i].busy)
			give_request(b, &b->conns[i], b->due[b->due_first++]);
	}
}

static void ask_clients(struct bench *b, uint64_t now_ns)
{
	for (size_t i = 0; i < b->clients; i++) {
		if (b->conns[i].busy || b->asked == b->most)
			continue;
		b->asked++;
		give_request(b, &b->conns[i], now_ns);
	}
}

static void look_at_conns(struct bench *b, int wait_ms)
{
	struct pollfd fds[CONNS_MAX];
	struct conn *conns[CONNS_MAX];
	nfds_t n = 0;

	for (size_t i = 0; i < CONNS_MAX; i++) {
		struct conn *c = &b->conns[i];
		if (!c->busy)
			continue;
		conns[n] = c;
		fds[n++] = (struct pollfd){
			.fd = c->fd,
			.events = (short)(POLLIN | (c->sent < c->len ? POLLOUT : 0))};
	}
	if (poll(fds, n, wait_ms) <= 0)
		return;
	for (nfds_t i = 0; i < n; i++) {
		if (fds[i].revents)
			serve_conn(b, conns[i], fds[i].revents);
	}
}

static void run_bench(struct bench *b)
{
	uint64_t began_ns = clock_read_ns(CLOCK_MONOTONIC);
	uint64_t end_ns = began_ns + b->seconds * NSEC_PER_SEC, now_ns = began_ns;

	while (now_ns < end_ns || (b->over < b->asked && now_ns < end_ns + LATE_NS)) {
		if (b->clients && now_ns < end_ns)
			ask_clients(b, now_ns);
		while (b->rate && b->asked < b->most) {
			uint64_t due_ns = began_ns + b->asked * NSEC_PER_SEC / b->rate;
			if (due_ns > now_ns || due_ns >= end_ns)
				break;
			b->due[b->due_count++] = due_ns;
			b->asked++;
		}
		give_all(b);
		look_at_conns(b, 1);
		now_ns = clock_read_ns(CLOCK_MONOTONIC);
		if (b->once && b->over == b->most)
			break;
	}
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print_result(struct bench *b)
{
	uint64_t p50 = 0, p99 = 0;

	qsort(b->took_ns, b->good, sizeof(*b->took_ns), compare_times);
	if (b->good) {
		p50 = b->took_ns[b->good / 2];
		p99 = b->took_ns[b->good * 99 / 100];
	}
	printf("asked %zu good %zu per_s %.1f p50_us %.1f p99_us %.1f\n", b->asked,
	       b->good, (double)b->good / b->seconds, (double)p50 / 1000,
	       (double)p99 / 1000);
}

int main(int argc, char **argv)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b || parse_args(argc, argv, b) < 0 || read_requests(b) < 0) {
		fprintf(stderr, "usage: see test/bench/open_loop.c\n");
		return 2;
	}
	for (size_t i = 0; i < CONNS_MAX; i++)
		b->conns[i].fd = -1;
	b->most = b->rate ? (size_t)b->rate * b->seconds : 4u << 20;
	if (b->once)
		b->most = b->request_count;
	b->took_ns = calloc(b->most, sizeof(*b->took_ns));
	b->due = b->rate ? calloc(b->most, sizeof(*b->due)) : NULL;
	if (!b->took_ns || (b->rate && !b->due))
		return 1;
	run_bench(b);
	print_result(b);
	return 0;
}
