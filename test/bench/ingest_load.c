/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many nodes that push reports to an aggregator, a connection for each push as
 *ceems-courier does it:
 *
 *	ingest_load PORT TOKEN-FILE start|interval NODES UNITS WINDOWS T0 [THREADS]
 *
 * start: the start reports of NODES x UNITS, in large pushes. interval: for each of
 *WINDOWS windows of 5 minutes from T0 one push of each node, with UNITS reports. Prints
 *reports and seconds, without what it takes to make them. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/records/batch.h"
#include "lib/records/report.h"
#include "lib/records/report_clock.h"

#define THREADS_MAX 64u
#define WINDOW_S 300u
#define START_NODES 100u /* in a push */
#define TRIES 200
#define BOOTED_S 1000u /* before T0 */
#define BOOT_ID "11111111-2222-3333-4444-555555555555"

struct load {
	uint16_t port;
	char token[128];
	bool starts;
	uint64_t nodes, units, windows, t0_s, threads;
	struct buf *bodies;
	size_t body_count;
	atomic_size_t next, failed, again;
};

static void die(const char *what)
{
	fprintf(stderr, "ingest_load: %s\n", what);
	exit(1);
}

static uint64_t number(const char *s)
{
	uint64_t v;

	if (parse_u64(s, &v) < 0)
		die(s);
	return v;
}

/* Numbers like those of a node: not all the same, or they would pack too well. */
static uint64_t some(uint64_t seed, uint64_t about)
{
	seed = (seed ^ 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
	return about / 2 + (seed >> 20) % about;
}

static void fill(const struct load *l, uint64_t node, uint64_t unit, uint64_t window,
		 struct report *r)
{
	uint64_t instance = node * 1000 + unit + 1, seed = instance * 7919 + window;

	report_init(r, l->starts ? REPORT_START : REPORT_INTERVAL, MANAGER_SLURM);
	r->instance = instance;
	snprintf(r->cluster, sizeof(r->cluster), "bench");
	snprintf(r->node, sizeof(r->node), "n%05u", (unsigned)node % 100000);
	snprintf(r->unit, sizeof(r->unit), "%llu", (unsigned long long)instance);
	snprintf(r->boot_id, sizeof(r->boot_id), BOOT_ID);
	r->uid = 1000 + (uint32_t)(instance % 500);
	r->gid = 1000;
	r->cpus = 8;
	r->memory_bytes = 16ull << 30;
	r->started_ns = l->t0_s * NSEC_PER_SEC;
	r->started_boottime_ns = BOOTED_S * NSEC_PER_SEC;
	if (l->starts)
		return;
	r->t0_ns = (l->t0_s + window * WINDOW_S) * NSEC_PER_SEC;
	r->t1_ns = r->t0_ns + WINDOW_S * NSEC_PER_SEC;
	r->observed_ns = r->t1_ns - r->t0_ns;
	r->use.known = REPORT_HAS_CPU | REPORT_HAS_MEMORY_AVERAGE |
		       REPORT_HAS_MEMORY_PEAK | REPORT_HAS_IO;
	r->use.cpu_user_ns = some(seed, 2000000000000ull);
	r->use.cpu_system_ns = some(seed + 1, 20000000000ull);
	r->use.memory_average_bytes = some(seed + 2, 8ull << 30);
	r->use.memory_peak_bytes = some(seed + 3, 12ull << 30);
	r->use.io_read_bytes = some(seed + 4, 1ull << 30);
	r->use.io_write_bytes = some(seed + 5, 1ull << 30);
	report_add_energy(r, REPORT_PACKAGE, "rapl", some(seed + 6, 9000000000ull));
	report_add_energy(r, REPORT_DRAM, "rapl", some(seed + 7, 900000000ull));
	report_add_energy(r, REPORT_HOST, "redfish", some(seed + 8, 20000000000ull));
	report_add_energy(r, REPORT_OTHER, "redfish", some(seed + 9, 9000000000ull));
}

/* The first record of each push of ceems-courier, by which reports are placed. */
static void put_clock(const struct load *l, uint64_t node, struct batch *b)
{
	unsigned char record[REPORT_CLOCK_BYTES_MAX];
	struct report_clock c = {.realtime_ns = clock_realtime_ns()};

	snprintf(c.node, sizeof(c.node), "n%05u", (unsigned)node % 100000);
	snprintf(c.boot_id, sizeof(c.boot_id), BOOT_ID);
	c.boottime_ns = c.realtime_ns - (l->t0_s - BOOTED_S) * NSEC_PER_SEC;
	int n = report_clock_encode(&c, record, sizeof(record));
	if (n < 0 || batch_add(b, record, (size_t)n) < 0)
		die("a clock does not fit");
}

static void make_body(const struct load *l, uint64_t first, uint64_t nodes,
		      uint64_t window, struct buf *ret)
{
	static struct report r;
	static unsigned char out[REPORT_BYTES_MAX];
	static struct batch b;

	batch_begin(&b, 0);
	put_clock(l, first, &b);
	for (uint64_t n = first; n < first + nodes && n < l->nodes; n++) {
		for (uint64_t u = 0; u < l->units; u++) {
			fill(l, n, u, window, &r);
			int len = report_encode(&r, out, sizeof(out));
			if (len < 0 || batch_add(&b, out, (size_t)len) < 0)
				die("a report does not fit");
		}
	}
	if (batch_pack(b.plain.data, b.plain.len, ret) < 0)
		die("a push does not fit");
}

static int post_once(const struct load *l, const struct buf *body)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(l->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char head[512], answer[1024];
	int one = 1, n;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	n = snprintf(head, sizeof(head),
		     "POST " BATCH_PATH " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
		     "%s\r\nContent-Type: " BATCH_TYPE
		     "\r\nContent-Encoding: " BATCH_ENCODING
		     "\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
		     l->token, body->len);
	if (send(fd, head, (size_t)n, MSG_NOSIGNAL | MSG_MORE) < 0 ||
	    send(fd, body->data, body->len, MSG_NOSIGNAL) != (ssize_t)body->len)
		return -1;
	ssize_t got = recv(fd, answer, sizeof(answer) - 1, 0);
	return got >= 12 && memcmp(answer + 9, "200", 3) == 0 ? 0 : -1;
}

static void *work(void *arg)
{
	struct load *l = arg;
	size_t i;

	while ((i = atomic_fetch_add(&l->next, 1)) < l->body_count) {
		int tries = 0;
		while (post_once(l, &l->bodies[i]) < 0 && ++tries < TRIES) {
			atomic_fetch_add(&l->again, 1);
			usleep(20000);
		}
		if (tries == TRIES)
			atomic_fetch_add(&l->failed, 1);
	}
	return NULL;
}

static uint64_t send_all(struct load *l)
{
	pthread_t threads[THREADS_MAX];
	uint64_t began = clock_read_ns(CLOCK_MONOTONIC);

	atomic_store(&l->next, 0);
	for (uint64_t i = 0; i < l->threads; i++) {
		if (pthread_create(&threads[i], NULL, work, l) != 0)
			die("no thread");
	}
	for (uint64_t i = 0; i < l->threads; i++)
		pthread_join(threads[i], NULL);
	return clock_read_ns(CLOCK_MONOTONIC) - began;
}

int main(int argc, char *argv[])
{
	struct load l = {.threads = 16};
	auto_buf struct buf token = BUF_INIT;
	uint64_t ns = 0;

	if (argc < 8)
		die("arguments");
	l.port = (uint16_t)number(argv[1]);
	if (fs_read_buf_at(AT_FDCWD, argv[2], sizeof(l.token) - 1, &token, NULL) < 0)
		die(argv[2]);
	snprintf(l.token, sizeof(l.token), "%.*s", (int)strcspn(token.data, "\n"),
		 token.data);
	l.starts = strcmp(argv[3], "start") == 0;
	l.nodes = number(argv[4]);
	l.units = number(argv[5]);
	l.windows = l.starts ? 1 : number(argv[6]);
	l.t0_s = number(argv[7]);
	if (argc > 8)
		l.threads = number(argv[8]);
	if (l.threads > THREADS_MAX)
		die("too many threads");
	uint64_t together = l.starts ? START_NODES : 1;
	l.body_count = (l.nodes + together - 1) / together;
	l.bodies = calloc(l.body_count, sizeof(*l.bodies));
	if (!l.bodies)
		die("out of memory");
	for (uint64_t w = 0; w < l.windows; w++) {
		for (size_t i = 0; i < l.body_count; i++) {
			buf_reset(&l.bodies[i]);
			make_body(&l, i * together, together, w, &l.bodies[i]);
		}
		ns += send_all(&l);
	}
	printf("%llu %.6f %zu %zu\n",
	       (unsigned long long)(l.nodes * l.units * l.windows), (double)ns / 1e9,
	       atomic_load(&l.again), atomic_load(&l.failed));
	return atomic_load(&l.failed) != 0;
}
