/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The backend and the readers of test/bench/lb_client.c. They are no part of what is
 * measured, so each connection has a thread that blocks. */
#include "test/bench/lb_client_ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/parse.h"

#define BODY_BYTES (1u << 20)
#define SLOW_BYTES (64u << 10)
#define SLOW_US 2000

#define OK "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define INTERIM "HTTP/1.1 100 Continue\r\n\r\n"
#define TEN(text) text text text text text text text text text text
#define POISON "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\"POISON\""
#define LIE(what, must, closes, answer)                                                \
	{                                                                              \
		what, must, closes, answer, sizeof(answer) - 1                         \
	}

/* those of test/e2e/lb_hostile.sh that an HTTP client has to judge */
const struct lie lies[] = {
	LIE("a length and chunks", LIE_REFUSED, false,
	    OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
	       "5\r\nhello\r\n0\r\n\r\n"),
	LIE("two lengths", LIE_REFUSED, false,
	    OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
	LIE("a length below zero", LIE_REFUSED, false,
	    OK "Content-Length: -5\r\n\r\nhello"),
	LIE("a length that is none", LIE_REFUSED, false,
	    OK "Content-Length: five\r\n\r\nhello"),
	LIE("a length beyond 64 bits", LIE_REFUSED, false,
	    OK "Content-Length: 99999999999999999999999\r\n\r\nhello"),
	LIE("an unknown coding", LIE_REFUSED, false,
	    OK "Transfer-Encoding: xyz\r\n\r\nhello"),
	LIE("a NUL in its head", LIE_REFUSED, false,
	    OK "X: a\0b\r\nContent-Length: 2\r\n\r\n{}"),
	LIE("a folded line in its head", LIE_REFUSED, false,
	    OK "X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}"),
	LIE("a header without a colon", LIE_REFUSED, false,
	    OK "nothing\r\nContent-Length: 2\r\n\r\n{}"),
	LIE("a blank before a colon", LIE_REFUSED, false,
	    OK "Content-Length : 2\r\n\r\n{}"),
	LIE("no status", LIE_REFUSED, false, "hello\r\n\r\n"),
	LIE("another version", LIE_REFUSED, false,
	    "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
	LIE("a status of four digits", LIE_REFUSED, false,
	    "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\n{}"),
	LIE("a status of two", LIE_REFUSED, false,
	    "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\n{}"),
	LIE("another protocol", LIE_REFUSED, false,
	    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	    "Connection: Upgrade\r\n\r\n"),
	LIE("a hundred answers before the answer", LIE_REFUSED, false,
	    TEN(TEN(INTERIM)) OK "Content-Length: 2\r\n\r\n{}"),
	LIE("a body that 204 cannot have", LIE_WHOLE, false,
	    "HTTP/1.1 204 No Content\r\nContent-Length: 80\r\n\r\n" POISON),
	LIE("an answer behind the answer", LIE_PASSED, false,
	    OK "Content-Length: 2\r\n\r\n{}" POISON),
	LIE("an answer that is cut", LIE_CUT, true,
	    OK "Content-Length: 1000\r\n\r\nhello"),
	LIE("chunks that are cut", LIE_CUT, true,
	    OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"),
	LIE("chunks whose size is none", LIE_CUT, true,
	    OK "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n"),
	LIE("chunks beyond 64 bits", LIE_CUT, true,
	    OK "Transfer-Encoding: chunked\r\n\r\n"
	       "fffffffffffffffff5\r\nhello\r\n0\r\n\r\n"),
	LIE("a chunk below zero", LIE_CUT, true,
	    OK "Transfer-Encoding: chunked\r\n\r\n-1\r\nhello\r\n0\r\n\r\n"),
	LIE("chunks without line ends", LIE_CUT, true,
	    OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloxx0\r\n\r\n"),
	LIE("an answer of HTTP/1.0, to its end", LIE_PASSED, true,
	    "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}"),
	LIE("an answer that ends with the connection", LIE_PASSED, true, OK "\r\n{}"),
	LIE("no answer", LIE_REFUSED, true, ""),
	LIE("half a head", LIE_REFUSED, true, "HTTP/1.1 200 OK\r\nContent-Le"),
};
const size_t lie_count = sizeof(lies) / sizeof(lies[0]);

static char body[BODY_BYTES];

static bool send_bytes(int fd, const char *p, uint64_t len)
{
	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		p += n;
		len -= (uint64_t)n;
	}
	return true;
}

/* target: behind "GET /". Whether the connection stays. */
static bool answer_request(int fd, const char *target, size_t len)
{
	static const char lie[] = "lie/";
	char head[128];
	uint64_t n = 0;

	if (len > 4 && !memcmp(target, lie, 4)) {
		if (parse_u64_len(target + 4, len - 4, &n) < 0 || n >= lie_count)
			return false;
		return send_bytes(fd, lies[n].answer, lies[n].len) && !lies[n].closes;
	}
	if (parse_u64_len(target, len, &n) < 0)
		return false;
	int head_len = snprintf(head, sizeof(head), OK "Content-Length: %llu\r\n\r\n",
				(unsigned long long)n);
	if (send(fd, head, (size_t)head_len, MSG_NOSIGNAL | (n ? MSG_MORE : 0)) !=
	    head_len)
		return false;
	for (uint64_t part; n; n -= part) {
		part = n < BODY_BYTES ? n : BODY_BYTES;
		if (!send_bytes(fd, body, part))
			return false;
	}
	return true;
}

static void *serve_connection(void *arg)
{
	auto_close int fd = (int)(intptr_t)arg;
	char in[4096];
	size_t got = 0;

	while (got < sizeof(in)) {
		ssize_t n = recv(fd, in + got, sizeof(in) - got, 0);
		if (n <= 0)
			return NULL;
		got += (size_t)n;
		if (got < 5 || !memmem(in, got, "\r\n\r\n", 4))
			continue;
		const char *target = in + 5, *end = memchr(target, ' ', got - 5);
		if (!end || !answer_request(fd, target, (size_t)(end - target)))
			return NULL;
		got = 0; /* neither client sends a request before its answer is over */
	}
	return NULL;
}

static void start_thread(void *(*run)(void *), intptr_t arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)arg) != 0)
		_exit(1);
	pthread_detach(thread);
}

static void accept_connections(int listener)
{
	int one = 1;

	memset(body, 'x', sizeof(body));
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		start_thread(serve_connection, fd);
	}
}

pid_t start_backend(uint16_t *ret_port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    listen(fd, 1024) < 0 || getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	*ret_port = ntohs(sa.sin_port);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		accept_connections(fd);
	}
	return pid < 0 ? -errno : pid;
}

static bool slowly;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static size_t reading;

static void *read_to_end(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char part[SLOW_BYTES];

	while (read(fd, part, sizeof(part)) > 0) {
		if (slowly)
			usleep(SLOW_US);
	}
	pthread_mutex_lock(&mutex);
	reading--;
	pthread_cond_signal(&ended);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

pid_t start_readers(int (*pairs)[2], size_t count, bool slow)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		slowly = slow;
		reading = count;
		for (size_t i = 0; i < count; i++)
			close(pairs[i][0]);
		for (size_t i = 0; i < count; i++)
			start_thread(read_to_end, pairs[i][1]);
		pthread_mutex_lock(&mutex);
		while (reading)
			pthread_cond_wait(&ended, &mutex);
		_exit(0);
	}
	for (size_t i = 0; i < count; i++)
		close(pairs[i][1]);
	return pid < 0 ? -errno : pid;
}
