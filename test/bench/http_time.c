/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times GETs on kept connections as a Prometheus sends them (its Accept, gzip), one
 * target after the other in each round, so that all meet the same machine.
 *
 *	http_time [-w GROUP] ROUNDS PORT PATH [PORT PATH]...
 *
 * -w: sends SIGUSR1 to the process group before each round, so that its tasks run.
 * All on 127.0.0.1. Prints a line per target: median and 99th percentile in us, bytes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define TARGETS_MAX 8
#define BODY_MAX (64u << 20)
#define WAKE_US 5000 /* for the tasks to run and sleep again */

struct target {
	const char *path;
	uint32_t port;
	int fd;
	uint64_t *us;
	size_t bytes;
};

static char *body;

static int dial(uint32_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		perror("connect");
		exit(1);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* Whether the answer in body[0..len) is whole: by its length, or by its last chunk. */
static bool whole(size_t len)
{
	const char *end = memmem(body, len, "\r\n\r\n", 4);
	if (!end)
		return false;
	const char *p = strcasestr(body, "\r\ncontent-length:");
	if (p && p < end) {
		const char *digits = p + strlen("\r\ncontent-length:");
		uint64_t n;
		while (*digits == ' ')
			digits++;
		if (scan_u64(&digits, end, &n) < 0)
			return false;
		return len >= (size_t)(end + 4 - body) + n;
	}
	return len >= 5 && memcmp(body + len - 5, "0\r\n\r\n", 5) == 0;
}

static uint64_t get(struct target *t)
{
	char request[512];
	size_t len = 0;
	int n = snprintf(
		request, sizeof(request),
		"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
		"Accept: application/openmetrics-text;version=1.0.0,"
		"application/openmetrics-text;version=0.0.1;q=0.75,"
		"text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n"
		"Accept-Encoding: gzip\r\nUser-Agent: Prometheus/2.42.0\r\n\r\n",
		t->path);
	uint64_t from = clock_read_ns(CLOCK_MONOTONIC);

	if (n < 0 || fs_write_all(t->fd, request, (size_t)n) < 0)
		exit(1);
	do {
		ssize_t got = read(t->fd, body + len, BODY_MAX - len);
		if (got <= 0) {
			fprintf(stderr, "port %u: answer cut\n", t->port);
			exit(1);
		}
		len += (size_t)got;
		body[len] = '\0';
	} while (!whole(len));
	uint64_t took = clock_read_ns(CLOCK_MONOTONIC) - from;
	if (strncmp(body, "HTTP/1.1 200", 12) != 0) {
		fprintf(stderr, "port %u: %.40s\n", t->port, body);
		exit(1);
	}
	t->bytes = len;
	return took / 1000;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void wake(pid_t group)
{
	if (!group)
		return;
	if (kill(-group, SIGUSR1) < 0) {
		perror("kill");
		exit(1);
	}
	usleep(WAKE_US);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: http_time [-w GROUP] ROUNDS PORT PATH [PORT PATH]...\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct target targets[TARGETS_MAX] = {0};
	uint32_t rounds, group = 0;

	if (argc > 2 && strcmp(argv[1], "-w") == 0) {
		if (parse_u32(argv[2], &group) < 0 || group < 2)
			return usage();
		argc -= 2;
		argv += 2;
	}
	int count = (argc - 2) / 2;
	body = malloc(BODY_MAX + 1);
	if (argc < 4 || count > TARGETS_MAX || parse_u32(argv[1], &rounds) < 0 ||
	    !rounds || !body)
		return usage();
	for (int i = 0; i < count; i++) {
		struct target *t = &targets[i];
		t->path = argv[3 + 2 * i];
		t->us = calloc(rounds, sizeof(*t->us));
		if (!t->us || parse_u32(argv[2 + 2 * i], &t->port) < 0)
			return 2;
		t->fd = dial(t->port);
		get(t); /* the first one warms up */
	}
	for (uint32_t r = 0; r < rounds; r++) {
		wake((pid_t)group);
		for (int i = 0; i < count; i++)
			targets[i].us[r] = get(&targets[i]);
	}
	for (int i = 0; i < count; i++) {
		struct target *t = &targets[i];
		qsort(t->us, rounds, sizeof(*t->us), by_value);
		printf("%ju %ju %zu\n", (uintmax_t)t->us[rounds / 2],
		       (uintmax_t)t->us[rounds - 1 - rounds / 100], t->bytes);
		close(t->fd);
		free(t->us);
	}
	free(body);
	return 0;
}
